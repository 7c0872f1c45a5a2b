#include "config/placeholders.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::string_view filled_anywhere = "check";
constexpr std::string_view filled_alone = "python";

bool may_name_it(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

std::string in_lower_case(std::string text) {
  for (char& byte : text)
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  return text;
}

/// `is_path`: the word begins with it and goes on with a slash, as nothing else does.
std::string fault_of_name(const std::string& name, bool is_path, bool is_alone) {
  static const std::vector<std::string> known{std::string(filled_anywhere), std::string(filled_alone)};
  if (name == filled_anywhere || (name == filled_alone && is_alone)) return {};
  if (name == filled_alone) return "{python} is filled in only as a word of its own, as in argv = [\"{python}\", ...]";
  std::string near(closest(name, known));
  if (near.empty()) near = closest(in_lower_case(name), known);
  if (near.empty() && !is_path) return {};
  return fmt::format("unknown placeholder {{{}}}; {}", printable_line(name, 40),
                     near.empty() ? "known: {check}, {python}" : fmt::format("did you mean {{{}}}?", near));
}

void check_word(const Node& value, DocumentErrors& errors) {
  if (value.kind == NodeKind::array)
    for (const Node& item : value.items) check_word(item, errors);
  if (value.kind != NodeKind::text) return;
  if (const auto fault = placeholder_fault(value.text); !fault.empty()) errors.add(value.at, fault);
}

void check_table(const Node& table, DocumentErrors& errors) {
  if (table.kind != NodeKind::table) return;
  for (const char* key : {"argv", "arguments"})
    if (const auto* entry = table.find(key)) check_word(entry->value, errors);
  const auto* metrics = table.find("metric");
  if (metrics == nullptr) return;
  for (const Node& metric : metrics->value.items)
    if (const auto* file = metric.kind == NodeKind::table ? metric.find("file") : nullptr)
      check_word(file->value, errors);
}

}  // namespace

std::string placeholder_fault(std::string_view word) {
  for (std::size_t at = word.find('{'); at != word.npos; at = word.find('{', at + 1)) {
    // ${check} is a variable of a shell.
    if (at > 0 && word[at - 1] == '$') continue;
    const auto begin = word.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const auto end = std::find_if_not(begin, word.end(), may_name_it);
    if (end == word.end() || *end != '}' || end == begin) continue;
    const bool is_number = *begin >= '0' && *begin <= '9';
    const bool is_path = !is_number && at == 0 && end + 1 != word.end() && end[1] == '/';
    auto fault = fault_of_name(std::string(begin, end), is_path, at == 0 && end + 1 == word.end());
    if (!fault.empty()) return fault;
  }
  return {};
}

void check_placeholders_of_program(Fields& check_fields) {
  for (const char* key : {"params", "sweep"})
    if (const auto* table = check_fields.find(key)) check_table(table->value, check_fields.errors());
}

std::vector<std::string> words_in_braces(std::string_view text) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  std::vector<std::string> found;
  for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
    const std::size_t end = std::min(text.find_first_not_of(letters, at + 1), text.size());
    if (end < text.size() && text[end] == '}') found.emplace_back(text.substr(at + 1, end - at - 1));
  }
  return found;
}

}  // namespace muster
