#include "reporters/common/exposition.hpp"

#include <cctype>
#include <cmath>
#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

constexpr std::size_t most_name_bytes = 80;
constexpr std::size_t most_value_bytes = 200;  // of a label

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// In a value: backslash, quote and newline; printable_line has left no newline.
std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char byte : printable_line(value, most_value_bytes)) {
    if (byte == '\\' || byte == '"') text += '\\';
    text += byte;
  }
  return text + '"';
}

/// In a help text quotes stay as they are.
std::string help_text(std::string_view help) {
  std::string text;
  for (const char byte : printable_line(help)) {
    if (byte == '\\') text += '\\';
    text += byte;
  }
  return text;
}

std::string braced(const SeriesLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (value.empty()) continue;  // to Prometheus the same as no label
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, in_quotes(value));
  }
  return text.empty() ? text : "{" + text + "}";
}

}  // namespace

std::string snake_case(std::string_view name) {
  std::string text;
  char before = '_';
  for (const char byte : name) {
    if (text.size() >= most_name_bytes) break;
    const bool is_word = is_lower(byte) || is_upper(byte) || is_digit(byte);
    const bool begins_word = is_upper(byte) && (is_lower(before) || is_digit(before));
    if ((!is_word || begins_word) && !text.empty() && text.back() != '_') text += '_';
    if (is_word) text += static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
    before = byte;
  }
  while (!text.empty() && text.back() == '_') text.pop_back();
  return text.empty() ? "unnamed" : text;
}

BaseUnit base_unit(std::string_view unit) {
  struct Known {
    std::string_view unit;
    std::string_view name;
    double factor = 1;
  };
  static constexpr Known all[] = {
      {"s", "seconds"},   {"B", "bytes"},       {"B/s", "bytes_per_second"},         {"1", ""},
      {"cores", "cores"}, {"%", "ratio", 0.01}, {"FLOP/s", "flop_per_second"},       {"W", "watts"},
      {"Hz", "hertz"},    {"degC", "celsius"},  {"samples/s", "samples_per_second"},
  };
  for (const auto& known : all)
    if (const auto factor = unit_factor(unit, known.unit)) return {std::string(known.name), *factor * known.factor};
  return {unit.empty() ? std::string() : snake_case(unit), 1};
}

void Exposition::add(const std::string& family, const std::string& help, const SeriesLabels& labels, double value) {
  const auto [at, is_new] = index_.try_emplace(family, families_.size());
  if (is_new) families_.push_back({family, help, {}, {}});
  auto& known = families_[at->second];
  auto text = braced(labels);
  if (!std::isfinite(value) || known.series.size() >= most_series || !known.known.insert(text).second) {
    ++left_out_;
    return;
  }
  known.series.emplace_back(std::move(text), value);
}

void Exposition::write(std::ostream& out) const {
  for (const auto& family : families_) {
    if (family.series.empty()) continue;
    out << fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", family.name, help_text(family.help));
    for (const auto& [labels, value] : family.series) out << fmt::format("{}{} {:.15g}\n", family.name, labels, value);
  }
}

}  // namespace muster
