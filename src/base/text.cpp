#include "base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <utility>

namespace muster {

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  for (std::size_t at = 0;;) {
    const auto end = text.find(separator, at);
    items.emplace_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return items;
    at = end + 1;
  }
}

std::string join(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += items[i];
  }
  return text;
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    all.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return all;
}

namespace {

/// Letters added, left out, changed, or swapped with their neighbour (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, last[j] + 1, row[j - 1] + 1});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

struct Decoded {
  std::uint32_t point = 0;
  int length = 0;  ///< bytes taken; 0: not valid UTF-8
};

/// One code point, strictly: no overlong form, no surrogate, nothing above U+10FFFF (RFC 3629).
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  if (first < 0x80) return {first, 1};
  const int length = first >= 0xf0 && first <= 0xf4  ? 4
                     : first >= 0xe0 && first < 0xf0 ? 3
                     : first >= 0xc2 && first < 0xe0 ? 2
                                                     : 0;
  if (length == 0 || text.size() < static_cast<std::size_t>(length)) return {};
  std::uint32_t point = first & (0x7fu >> length);
  for (int i = 1; i < length; ++i) {
    if ((byte(static_cast<std::size_t>(i)) & 0xc0) != 0x80) return {};
    point = point << 6 | (byte(static_cast<std::size_t>(i)) & 0x3f);
  }
  const bool is_overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  if (is_overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return {point, length};
}

/// Characters that would act on a terminal, turn the direction of text, or hide it instead of showing.
bool is_unseen(std::uint32_t point) {
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr Range marks[] = {{0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},   {0x180e, 0x180e},
                                    {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
                                    {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  if (point < 0x20) return point != '\n' && point != '\t';
  return (point & 0xfffe) == 0xfffe || std::any_of(std::begin(marks), std::end(marks), [&](const Range& range) {
           return point >= range.first && point <= range.last;
         });
}

std::string visible(std::uint32_t point) {
  return point < 0x100 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{{{:x}}}", point);
}

/// Whether all characters of `name` are in `text` in their order: `MBs` in `MB/s`.
bool is_abridged(std::string_view name, std::string_view text) {
  std::size_t found = 0;
  for (const char c : text)
    if (found < name.size() && c == name[found]) ++found;
  return found == name.size();
}

bool is_same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string closest(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  // Another case is the nearest, however many letters it changes: `gb/s`.
  for (const auto& candidate : candidates)
    if (is_same_but_for_case(name, candidate)) return candidate;
  for (const auto& candidate : candidates) {
    // A name far longer or shorter can't be near, and may be anything that was typed.
    if (candidate.size() + least < name.size() || name.size() + least < candidate.size()) continue;
    const auto distance = edit_distance(name, candidate);
    // Of two at the same distance the one from which something was left out: that is how units are misspelt.
    const bool is_nearer = distance < least || (distance == least && !best.empty() && is_abridged(name, candidate) &&
                                                !is_abridged(name, best));
    if (is_nearer) least = distance, best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string> candidates) {
  const auto near = closest(name, candidates);
  if (!near.empty()) return fmt::format("; did you mean \"{}\"?", near);
  if (candidates.empty()) return "";
  const auto shown = candidates.first(std::min<std::size_t>(candidates.size(), 12));
  return fmt::format("; known: {}{}", join(shown, ", "), shown.size() < candidates.size() ? ", ..." : "");
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  while (!text.empty()) {
    // Nearly all text is ASCII.
    const auto plain = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto [point, length] = decode(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
      continue;
    }
    if (is_unseen(point))
      out += visible(point);
    else
      out += text.substr(0, static_cast<std::size_t>(length));
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return out;
}

std::string printable_line(std::string_view text, std::size_t most) {
  auto line = printable(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  if (line.size() <= most) return line;
  const std::string_view dots = most < 3 ? "" : "...";
  auto end = most - dots.size();
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return line.substr(0, end).append(dots);
}

std::string tail(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto last = text.substr(text.size() - most);
  if (text[text.size() - most - 1] == '\n') return std::string(last);
  const auto start = last.find('\n');
  const bool has_line = start != std::string_view::npos && start + 1 < last.size();
  return std::string(has_line ? last.substr(start + 1) : last);
}

void append_replaced(std::string& out, std::string_view text, std::string_view special,
                     std::initializer_list<std::string_view> words) {
  for (const char letter : text)
    if (const std::size_t at = special.find(letter); at != special.npos)
      out += words.begin()[at];
    else
      out += letter;
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string human_list(std::span<const std::string> items, std::size_t most) {
  const auto shown = std::min(items.size(), most);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  if (shown < items.size()) text += fmt::format("{}{} more", shown > 0 ? " and " : "", items.size() - shown);
  return text;
}

std::string shell_quote(std::string_view argument) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!argument.empty() && argument.find_first_not_of(plain) == std::string_view::npos) return std::string(argument);
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string shell_line(std::span<const std::string> argv) {
  std::vector<std::string> quoted;
  for (const auto& argument : argv) quoted.push_back(shell_quote(argument));
  // A first word with = in it would be an assignment.
  if (!argv.empty() && argv[0].find('=') != std::string::npos && quoted[0] == argv[0]) quoted[0] = "'" + argv[0] + "'";
  return join(quoted, " ");
}

}  // namespace muster
