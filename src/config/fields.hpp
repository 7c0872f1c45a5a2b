/// Reads a table key by key; what is missing, of the wrong kind or unknown becomes a complaint.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"
#include "muster/params.hpp"

namespace muster {

struct IntegerRange {
  double least;
  double most;
};

/// `parent` is what messages call the table: `[check.hello]`; empty for a whole file.
class Fields {
 public:
  Fields(const Node& table, Place header, std::string parent, DocumentErrors& errors)
      : table_(table), header_(header), parent_(std::move(parent)), errors_(errors) {}

  /// nullptr when there is no such key. From now on the key is known.
  [[nodiscard]] const Entry* find(std::string_view key);
  /// As find; an absent key is a complaint at the table's header, which ends in `; write for example <example>`.
  [[nodiscard]] const Entry* need(std::string_view key, std::string_view example);

  // Each: the value, or nullopt when the key is absent or (with a complaint) not what it should be.
  [[nodiscard]] std::optional<std::string> text(std::string_view key);
  [[nodiscard]] std::optional<int> integer(std::string_view key, IntegerRange range);
  [[nodiscard]] std::optional<double> number(std::string_view key);
  [[nodiscard]] std::optional<bool> boolean(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);
  /// A table, or nullptr.
  [[nodiscard]] const Entry* table(std::string_view key);
  /// The tables of an array of tables; `[[check.NAME.expect]]` is how a message would write it.
  [[nodiscard]] std::vector<const Node*> tables(std::string_view key, std::string_view written);

  /// To be called last: every key that was not read is unknown.
  void finish();

  void complain(Place at, std::string what) { errors_.add(at, std::move(what)); }
  /// `"key" of [check.hello] must be <wanted>, not <what it is>`.
  void refuse(const Entry& entry, const Node& value, std::string_view wanted);
  [[nodiscard]] std::string in_parent() const { return parent_.empty() ? "" : " in " + parent_; }
  [[nodiscard]] const std::string& parent() const { return parent_; }
  [[nodiscard]] Place header() const { return header_; }
  [[nodiscard]] DocumentErrors& errors() { return errors_; }

 private:
  const Node& table_;
  Place header_;
  std::string parent_;
  DocumentErrors& errors_;
  std::vector<std::string> known_;
};

/// Letters, digits, `_` and `-`, beginning with a letter; at most 64.
[[nodiscard]] bool is_name(std::string_view text);
inline constexpr std::string_view name_rule = "must be at most 64 letters, digits, _ and -, beginning with a letter";

}  // namespace muster
