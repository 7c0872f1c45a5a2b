#include "config/profile_fields.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/pattern.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

bool has_balanced_braces(std::string_view text) {
  int open = 0;
  for (const char c : text) {
    open += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (open < 0) return false;
  }
  return open == 0;
}

}  // namespace

std::string read_name(Fields& fields, std::string_view example) {
  const auto* entry = fields.need("name", example);
  const auto name = entry == nullptr ? std::nullopt : fields.text("name");
  if (name && !is_name(*name))
    fields.complain(entry->value.at, fmt::format("the name \"{}\" {}", printable_line(*name, 60), name_rule));
  return name.value_or("");
}

std::string read_regex(Fields& fields, std::string_view key) {
  const auto* entry = fields.find(key);
  const auto text = fields.text(key);
  if (!text) return "";
  const auto pattern = Pattern::compile(*text);
  if (pattern) return *text;
  fields.complain(entry->value.at, fmt::format("\"{}\" is not a valid regular expression: {}",
                                               printable_line(*text, 60), pattern.error().what));
  return "";
}

std::string read_choice(Fields& fields, std::string_view key, const std::vector<std::string>& known) {
  const auto text = fields.text(key);
  if (!text || is_in(*text, known)) return text.value_or("");
  fields.complain(fields.find(key)->value.at,
                  fmt::format("unknown {} \"{}\"{}", key, printable_line(*text, 60), suggestion(*text, known)));
  return "";
}

Argv read_arguments(Fields& fields, std::string_view key) {
  const auto* entry = fields.find(key);
  if (entry != nullptr && entry->value.kind == NodeKind::array)
    for (const auto& item : entry->value.items) check_braces(item, fields.errors());
  return fields.texts(key);
}

void check_braces(const Node& value, DocumentErrors& errors) {
  if (value.kind == NodeKind::text && !has_balanced_braces(value.text))
    errors.add(value.at, fmt::format("the braces in \"{}\" are not balanced; a placeholder is written {{image}}",
                                     printable_line(value.text, 60)));
}

bool is_variable(std::string_view text) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

std::string read_variable_name(Fields& fields, std::string_view key, std::string_view example) {
  const auto* entry = fields.need(key, example);
  const auto name = entry == nullptr ? std::nullopt : fields.text(key);
  if (!name || is_variable(*name)) return name.value_or("");
  fields.complain(entry->value.at,
                  fmt::format("\"{}\" is not a name of an environment variable", printable_line(*name, 60)));
  return "";
}

}  // namespace muster
