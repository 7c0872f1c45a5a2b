/// Parameters of probes: described as data, from which help, validation, defaults and docs are drawn.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "muster/result.hpp"

namespace muster {

/// A number of bytes. Text form: `8B`, `64KiB`, `1MiB`, `2GB` (GB is 10^9, GiB is 2^30).
struct Bytes {
  std::uint64_t count = 0;
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

/// A span of time in seconds. Text form: `500ms`, `60s`, `5m`, `2h`, `1m30s`.
struct Seconds {
  double value = 0;
  friend auto operator<=>(const Seconds&, const Seconds&) = default;
};

enum class ParamType { boolean, integer, real, text, bytes, duration, integer_list, real_list, text_list, bytes_list };

[[nodiscard]] constexpr bool is_list(ParamType type) {
  return type >= ParamType::integer_list;
}
/// The type of one item: `integer_list` -> `integer`; a scalar type is its own item type.
[[nodiscard]] ParamType item_type(ParamType type);
/// `integer`, `list of bytes`, ... as in help and error messages.
[[nodiscard]] std::string_view to_string(ParamType type);

using ParamScalar = std::variant<bool, std::int64_t, double, std::string, Bytes, Seconds>;

struct ParamSpec {
  std::string_view name;
  ParamType type = ParamType::text;
  std::optional<std::string_view> default_text;  ///< as one would type it; nullopt: the check must give it
  std::string_view help;
  std::string_view choices = {};     ///< `rotating|reused`: text must be one of these; empty: any
  std::optional<double> least = {};  ///< smallest number (bytes, seconds, integers, reals) accepted
  std::optional<double> most = {};   ///< largest
};

/// One value; a list type holds any number of items, a scalar type exactly one.
struct ParamValue {
  ParamType type = ParamType::text;
  std::vector<ParamScalar> items;
  friend bool operator==(const ParamValue&, const ParamValue&) = default;
};

/// Reads `text` as the type of `spec`; the items of a list are separated by commas, and a comma within a text of a
/// list is written `\,` (a backslash `\\`).
/// Fails with kind `usage` and a sentence with the expected form.
[[nodiscard]] Result<ParamValue> parse_param(const ParamSpec& spec, std::string_view text);
/// As above, from the items already separated (an array in a check file). A scalar type takes exactly one.
[[nodiscard]] Result<ParamValue> parse_param(const ParamSpec& spec, const std::vector<std::string>& items);
/// The text that `parse_param` reads back to the same value: `16MiB`, `8B,1MiB`, `60s`. (A list of one empty text reads
/// as the empty list: text does not distinguish them.)
[[nodiscard]] std::string to_string(const ParamValue& value);
[[nodiscard]] std::string to_string(const ParamScalar& value);

/// The parameters of one case: every parameter of the probe has a value here.
/// The getters assert that the parameter exists with that type; a probe asks only for what it declared.
class Params {
 public:
  void set(std::string name, ParamValue value) { values_[std::move(name)] = std::move(value); }
  [[nodiscard]] bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] Bytes bytes(std::string_view name) const;
  [[nodiscard]] Seconds duration(std::string_view name) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;
  [[nodiscard]] std::vector<double> reals(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] std::vector<Bytes> byte_list(std::string_view name) const;

  [[nodiscard]] const std::map<std::string, ParamValue, std::less<>>& values() const { return values_; }
  friend bool operator==(const Params&, const Params&) = default;

 private:
  std::map<std::string, ParamValue, std::less<>> values_;
};

}  // namespace muster
