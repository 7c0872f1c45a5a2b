// Hostile text in each field of a report in turn, in every format: what a node sent stays text.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>

#include "base/text.hpp"
#include "model/json.hpp"
#include "reporters/listed_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

using nlohmann::json;

/// A formula, escapes for terminals, HTML, marks that turn the direction of text, NUL, and bytes that are no UTF-8;
/// then the ends of what a format puts around a text, and length.
const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = {
      "=cmd|' /C calc'!A0\x1b[2J\x1b]0;t\x07<img src=x onerror=alert(1)>\r\nverdict: pass\x9b\xe2\x80\xae\xe2\x81\xa6" +
          std::string("\xe2\x80\x8f\xe2\x80\x8e\xd8\x9c\xe2\x80\x8b\xc2\x85") + '\0' + "\xff\xc3( \xed\xa0\x80",
      "\xff```\n# heading\n| a | b |\n]]>--><!--\"'`*_\\</pre></script><script>alert(1)</script>\u202e" +
          std::string(10'000, 'A')};
  return all;
}

/// `/cases/*/reason`: the same field of all that have it.
std::string pattern_of(const std::string& pointer) {
  std::string pattern;
  for (const auto& part : split(pointer, '/'))
    if (!part.empty()) pattern += '/' + (part.find_first_not_of("0123456789") == part.npos ? "*" : part);
  return pattern;
}

std::set<std::string> text_fields(const json& report) {
  std::set<std::string> patterns;
  const auto flat = report.flatten();
  for (const auto& [pointer, value] : flat.items())
    if (value.is_string()) patterns.insert(pattern_of(pointer));
  return patterns;
}

/// nullopt: a field of few words, which takes no other.
std::optional<RunReport> with(const json& report, const std::string& pattern, const std::string& text) {
  auto changed = report;
  const auto flat = report.flatten();
  for (const auto& [pointer, value] : flat.items())
    if (value.is_string() && pattern_of(pointer) == pattern) changed[json::json_pointer(pointer)] = text;
  auto read = run_report_from_json(changed);
  return read ? std::optional(std::move(*read)) : std::nullopt;
}

/// Bytes that act on a terminal, an editor or a mail program instead of being shown.
std::string acting(std::string_view text) {
  const auto shown = printable(text);
  for (std::size_t i = 0; i < std::min(text.size(), shown.size()); ++i)
    if (text[i] != shown[i]) return fmt::format("byte {}: {}", i, shown.substr(i > 40 ? i - 40 : 0, 120));
  return text.size() == shown.size() ? "" : "its end";
}

void expect_whole_xml(const std::string& out) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(out.data(), out.size());
  EXPECT_TRUE(parsed) << parsed.description();
}

/// Every field of RFC 4180 that is not a number begins like none of a spreadsheet's formulas.
void expect_no_formula(const std::string& out) {
  for (std::size_t at = 0; at < out.size();) {
    const bool is_quoted = out[at] == '"';
    const auto begin = out.find_first_not_of(" \t", at + (is_quoted ? 1 : 0));
    if (begin < out.size()) EXPECT_EQ(std::string("=+@").find(out[begin]), std::string::npos) << out.substr(at, 80);
    auto end = at;
    for (bool inside = false; end < out.size() && (inside || (out[end] != ',' && out[end] != '\n')); ++end)
      if (out[end] == '"') inside = !inside;
    at = end + 1;
  }
}

void expect_inert(const std::string& format, std::string out) {
  if (format == "csv") out.erase(std::remove(out.begin(), out.end(), '\r'), out.end());
  EXPECT_EQ(acting(out), "");
  for (const char* mark : {"\x1b", "\x07", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\x8f", "\xe2\x80\x8e", "\xd8\x9c",
                           "\xe2\x80\x8b", "\xc2\x85", "\xff"})
    EXPECT_EQ(out.find(mark), std::string::npos) << printable(mark);
  // In Markdown it may stand within code (markdown_test).
  if (format == "html" || format == "junit") {
    EXPECT_EQ(out.find("<img src=x"), std::string::npos);
    EXPECT_EQ(out.find("<script>alert"), std::string::npos);
  }
  if (format == "junit") expect_whole_xml(out);
  if (format == "json") EXPECT_TRUE(json::accept(out));
  if (format == "csv") expect_no_formula(out);
}

TEST(HostileField, IsInertInEveryFormat) {
  const auto report = to_json(sample::listed_report());
  const auto patterns = text_fields(report);
  EXPECT_GT(patterns.size(), 60U);
  std::size_t tried = 0;
  for (const auto& pattern : patterns)
    for (const auto& text : texts()) {
      const auto hostile = with(report, pattern, text);
      if (!hostile) continue;
      ++tried;
      for (const auto* reporter : all_reporters()) {
        SCOPED_TRACE(fmt::format("{} in {}", pattern, reporter->name));
        expect_inert(std::string(reporter->name), reported(reporter->name, *hostile));
      }
      if (::testing::Test::HasFailure()) return;
    }
  EXPECT_GT(tried, 100U);
}

}  // namespace
}  // namespace muster
