/// Facts of several fields. The fields of a kind are described once, and by that its text is written and read:
///
///   struct Watched { std::string address; double seconds = 0; };
///   template <class Io> void fields(Io& io, Watched& fact) {
///     io(fact.address);            // one word
///     io(fact.seconds, "{:.3f}");  // fields are separated by a space, or by text(...)
///   }
///   seen.facts.push_back(to_fact("watched", Watched{"0000:01:00.0", 2.5}));  // `0000:01:00.0 2.500`
///   for (const Watched& one : facts_of<Watched>(seen, "watched")) ...
///
/// People read the text as well, in reports. What other ranks sent is untrusted: words that were read are printable and
/// at most 400 bytes.
#pragma once

#include <concepts>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.hpp"
#include "muster/observation.hpp"

namespace muster {

class FactWriter {
 public:
  /// `form`: how a number is written. A word has no space.
  template <class Value>
  requires std::integral<Value> || std::floating_point<Value> || std::same_as<Value, std::string>
  void operator()(const Value& value, std::string_view form = "{}") {
    separate();
    text_ += fmt::format(fmt::runtime(form), value);
  }
  /// `3,5`; `-`: none.
  void operator()(const std::vector<int>& numbers);
  void hex(std::uint64_t number, std::string_view form = "{:x}") { (*this)(number, form); }
  void choice(bool flag, std::string_view if_true, std::string_view if_false);
  /// All that follows, spaces included: the last field, which may be empty.
  void rest(const std::string& words) {
    if (!words.empty()) (*this)(words);
  }
  /// What stands between two fields instead of a space, or after the last one.
  void text(std::string_view words);
  /// Whether there are more fields: the last ones may be missing.
  [[nodiscard]] static bool has_more() { return true; }

  [[nodiscard]] const std::string& written() const { return text_; }

 private:
  void separate();

  std::string text_;
  bool is_separated_ = true;
};

class FactReader {
 public:
  explicit FactReader(std::string_view text) : text_(text) {}

  template <class Number>
  requires std::integral<Number> || std::floating_point<Number>
  void operator()(Number& number, std::string_view = {}) {
    separate();
    take(take_number<Number>(text_), number);
  }
  void operator()(std::string& word);
  void operator()(std::vector<int>& numbers);
  void hex(std::uint64_t& number, std::string_view = {});
  void choice(bool& flag, std::string_view if_true, std::string_view if_false);
  void rest(std::string& words);
  void text(std::string_view words);
  [[nodiscard]] bool has_more() const { return !text_.empty(); }

  /// Whether all fields were there, and nothing else.
  [[nodiscard]] bool is_whole() const { return is_good_ && text_.empty(); }

 private:
  void separate();
  template <class Value>
  void take(std::optional<Value> found, Value& value) {
    is_good_ = is_good_ && found;
    if (is_good_) value = std::move(*found);
  }

  std::string_view text_;
  bool is_good_ = true;
  bool is_separated_ = true;
};

template <class Value>
[[nodiscard]] Fact to_fact(std::string_view key, Value value) {
  FactWriter writer;
  fields(writer, value);
  return {std::string(key), writer.written()};
}

/// nullopt: other text.
template <class Value>
[[nodiscard]] std::optional<Value> read_fact(std::string_view text) {
  Value value;
  FactReader reader(text);
  fields(reader, value);
  return reader.is_whole() ? std::optional(std::move(value)) : std::nullopt;
}

/// Of the first fact of that key; nullopt also where there is none.
template <class Value>
[[nodiscard]] std::optional<Value> first_fact(const Observation& seen, std::string_view key) {
  const std::string* text = seen.fact(key);
  return text == nullptr ? std::nullopt : read_fact<Value>(*text);
}

/// Of all facts of that key, those that can be read.
template <class Value>
[[nodiscard]] std::vector<Value> facts_of(const Observation& seen, std::string_view key) {
  std::vector<Value> all;
  for (const Fact& fact : seen.facts)
    if (fact.key == key)
      if (auto value = read_fact<Value>(fact.value)) all.push_back(std::move(*value));
  return all;
}

}  // namespace muster
