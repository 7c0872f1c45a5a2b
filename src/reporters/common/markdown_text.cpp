#include "reporters/common/markdown_text.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

namespace {

/// The longest run of backticks.
std::size_t longest_ticks(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char byte : text) {
    run = byte == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

std::string span(const std::string& text) {
  const std::string ticks(longest_ticks(text) + 1, '`');
  // A space at both ends is removed again by the renderer.
  const bool needs_space = text.front() == '`' || text.back() == '`' || (text.front() == ' ' && text.back() == ' ');
  return needs_space ? fmt::format("{0} {1} {0}", ticks, text) : ticks + text + ticks;
}

}  // namespace

std::string code(std::string_view text, std::size_t most) {
  const auto harmless = printable_line(text, most);
  return trim(harmless).empty() ? "-" : span(harmless);
}

std::string cell(std::string_view text, std::size_t most) {
  const auto harmless = printable_line(text, most);
  if (trim(harmless).empty()) return "-";
  if (harmless.find('|') == std::string::npos) return span(harmless);
  // By number, since an escaped bar may be read differently behind a backslash.
  std::string html = "<code>";
  for (const char byte : harmless) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x80 && std::isalnum(value) == 0 && byte != ' ')
      html += fmt::format("&#{};", value);
    else
      html += byte;
  }
  return html + "</code>";
}

std::string code_block(std::string_view text, std::string_view language) {
  const auto harmless = printable(text);
  const std::string fence(std::max<std::size_t>(3, longest_ticks(harmless) + 1), '`');
  return fmt::format("{0}{1}\n{2}{3}{0}\n", fence, language, harmless, harmless.ends_with('\n') ? "" : "\n");
}

}  // namespace muster
