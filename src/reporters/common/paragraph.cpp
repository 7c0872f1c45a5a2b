#include "reporters/common/paragraph.hpp"

#include <algorithm>

namespace muster {

namespace {

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

/// Where the word that begins at `begin` ends. Short quoted text (`a b`) is one word: it is copied.
std::size_t end_of_word(std::string_view text, std::size_t begin) {
  constexpr std::size_t most_kept = 120;
  const auto end = std::min(text.find(' ', begin), text.size());
  const auto opened = text.find('`', begin);
  if (opened >= end) return end;
  const auto closed = text.find('`', opened + 1);
  if (closed == std::string_view::npos || closed < end || closed - begin > most_kept) return end;
  return std::min(text.find(' ', closed), text.size());
}

}  // namespace

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string pad(std::string_view text, std::size_t width) {
  const auto used = columns(text);
  std::string padded(text);
  if (used < width) padded.append(width - used, ' ');
  return padded;
}

std::string pad_left(std::string_view text, std::size_t width) {
  const auto used = columns(text);
  return (used < width ? std::string(width - used, ' ') : std::string()).append(text);
}

std::string cut(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  const std::size_t dots = std::min<std::size_t>(width, 3);
  std::size_t kept = width - dots;
  std::size_t end = 0;
  while (end < text.size() && (kept > 0 || !begins_character(text[end]))) {
    if (begins_character(text[end])) --kept;
    ++end;
  }
  while (end > 0 && text[end - 1] == ' ') --end;
  return std::string(text.substr(0, end)).append(dots, '.');
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  const std::size_t room = width > indent + 20 ? width - indent : 20;
  std::string wrapped;
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto begin = text.find_first_not_of(' ', at);
    if (begin == std::string_view::npos) break;
    const auto end = end_of_word(text, begin);
    const auto gap = begin - at;
    const auto word = columns(text.substr(begin, end - begin));
    if (used > 0 && used + gap + word > room) {
      wrapped.append("\n").append(indent, ' ');
      used = 0;
    } else {
      wrapped.append(gap, ' ');
      used += gap;
    }
    wrapped.append(text.substr(begin, end - begin));
    used += word;
    at = end;
  }
  return wrapped;
}

}  // namespace muster
