#include "config/fields.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t longest_name = 64;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; });
}

const Entry* Fields::find(std::string_view key) {
  if (!is_in(key, known_)) known_.emplace_back(key);
  return table_.find(key);
}

const Entry* Fields::need(std::string_view key, std::string_view example) {
  const auto* entry = find(key);
  if (entry == nullptr) complain(header_, fmt::format("{} has no \"{}\"; write for example {}", parent_, key, example));
  return entry;
}

void Fields::refuse(const Entry& entry, const Node& value, std::string_view wanted) {
  std::string is{to_string(value.kind)};
  if (value.is_number() || value.kind == NodeKind::boolean) is = value.text;
  if (value.kind == NodeKind::text) is = fmt::format("\"{}\"", printable_line(value.text, 60));
  complain(value.at,
           fmt::format("\"{}\"{} must be {}, not {}", printable_line(entry.key, 60), in_parent(), wanted, is));
}

std::optional<std::string> Fields::text(std::string_view key) {
  const auto* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->value.kind == NodeKind::text && !entry->value.text.empty()) return entry->value.text;
  refuse(*entry, entry->value, "text");
  return std::nullopt;
}

std::optional<int> Fields::integer(std::string_view key, IntegerRange range) {
  const auto* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const auto& value = entry->value;
  if (value.kind == NodeKind::integer && value.number >= range.least && value.number <= range.most)
    return static_cast<int>(value.integer);
  refuse(*entry, value, fmt::format("a whole number from {} to {}", range.least, range.most));
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view key) {
  const auto* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->value.is_number() && std::isfinite(entry->value.number)) return entry->value.number;
  refuse(*entry, entry->value, "a number");
  return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view key) {
  const auto* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->value.kind == NodeKind::boolean) return entry->value.text == "true";
  refuse(*entry, entry->value, "true or false");
  return std::nullopt;
}

std::vector<std::string> Fields::texts(std::string_view key) {
  std::vector<std::string> items;
  const auto* entry = find(key);
  if (entry == nullptr) return items;
  if (entry->value.kind != NodeKind::array) {
    refuse(*entry, entry->value, "an array of texts");
    return items;
  }
  for (const auto& item : entry->value.items) {
    if (item.kind == NodeKind::text)
      items.push_back(item.text);
    else
      refuse(*entry, item, "an array of texts");
  }
  return items;
}

const Entry* Fields::table(std::string_view key) {
  const auto* entry = find(key);
  if (entry == nullptr || entry->value.kind == NodeKind::table) return entry;
  refuse(*entry, entry->value, "a table");
  return nullptr;
}

std::vector<const Node*> Fields::tables(std::string_view key, std::string_view written) {
  std::vector<const Node*> all;
  const auto* entry = find(key);
  if (entry == nullptr) return all;
  const auto wanted = fmt::format("an array of tables, written {}", written);
  if (entry->value.kind != NodeKind::array || entry->value.items.empty()) {
    const bool is_header = entry->value.kind == NodeKind::table;
    complain(is_header ? entry->at : entry->value.at, fmt::format("\"{}\"{} must be {}", key, in_parent(), wanted));
    return all;
  }
  for (const auto& item : entry->value.items) {
    if (item.kind == NodeKind::table)
      all.push_back(&item);
    else
      refuse(*entry, item, wanted);
  }
  return all;
}

void Fields::finish() {
  for (const auto& entry : table_.entries)
    if (!is_in(entry.key, known_))
      errors_.add_unknown(entry.at,
                          fmt::format("unknown key \"{}\"{}{}", printable_line(entry.key, 60), in_parent(),
                                      suggestion(entry.key, known_)),
                          header_);
}

}  // namespace muster
