#include "config/prescan.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace muster {

namespace {

// The parser frees nested values by recursion: 32 open brackets with 32 key parts each stay far below any stack.
constexpr int most_brackets = 32;
constexpr int most_key_parts = 32;

/// Length of the UTF-8 character at the start of `text`; 0 when there is none (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool too_large = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

bool has_only_characters(std::string_view text, DocumentErrors& errors) {
  Place at;
  while (!text.empty()) {
    const auto length = character_length(text);
    if (length == 0) {
      errors.add(at, fmt::format("byte 0x{:02x} is not UTF-8; save the file as UTF-8",
                                 static_cast<std::uint8_t>(text.front())));
      return false;
    }
    if (text.front() == '\0') {
      errors.add(at, "NUL byte; this is not text file");
      return false;
    }
    at = text.front() == '\n' ? Place{at.line + 1, 1} : Place{at.line, at.column + 1};
    text.remove_prefix(length);
  }
  return true;
}

/// Walks over a document and counts open brackets and parts of dotted keys outside of strings and comments.
class Scan {
 public:
  Scan(std::string_view text, DocumentErrors& errors) : text_(text), errors_(errors) {}

  [[nodiscard]] bool is_sound() {
    while (at_ < text_.size())
      if (!step()) return false;
    return true;
  }

 private:
  void advance(std::size_t count = 1) {
    for (; count > 0 && at_ < text_.size(); --count, ++at_) {
      if (text_[at_] == '\n')
        place_ = {place_.line + 1, 1};
      else if ((static_cast<std::uint8_t>(text_[at_]) & 0xC0) != 0x80)
        ++place_.column;
    }
  }

  [[nodiscard]] bool step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      skip_string(c);
      return true;
    }
    if (c == '#') {
      advance(std::min(text_.find('\n', at_), text_.size()) - at_);
      return true;
    }
    count(c);
    if (brackets_ > most_brackets || parts_ > most_key_parts) {
      errors_.add(place_, fmt::format("nested too deeply: at most {} open brackets and {} parts in a key",
                                      most_brackets, most_key_parts));
      return false;
    }
    advance();
    return true;
  }

  void count(char c) {
    if (c == '[' || c == '{') ++brackets_;
    if ((c == ']' || c == '}') && brackets_ > 0) --brackets_;
    if (c == '.') ++parts_;
    if (c == ',' || c == '=' || c == '\n') parts_ = 0;
  }

  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool is_multi_line = text_.compare(at_, 3, three) == 0;
    advance(is_multi_line ? 3 : 1);
    while (at_ < text_.size()) {
      if (quote == '"' && text_[at_] == '\\') {
        advance(2);
      } else if (is_multi_line && text_.compare(at_, 3, three) == 0) {
        // Up to two quotes may stand right before the three that close.
        while (at_ < text_.size() && text_[at_] == quote) advance();
        return;
      } else if (!is_multi_line && (text_[at_] == quote || text_[at_] == '\n')) {
        return advance();
      } else {
        advance();
      }
    }
  }

  std::string_view text_;
  DocumentErrors& errors_;
  std::size_t at_ = 0;
  Place place_;
  int brackets_ = 0;
  int parts_ = 0;
};

}  // namespace

bool prescan_document(std::string_view toml, DocumentErrors& errors) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (toml.substr(0, byte_order_mark.size()) == byte_order_mark) toml.remove_prefix(byte_order_mark.size());
  if (toml.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    errors.add({}, "the file is empty");
    return false;
  }
  return has_only_characters(toml, errors) && Scan(toml, errors).is_sound();
}

}  // namespace muster
