#include "model/json_stream.hpp"

#include <fmt/format.h>
#include <iterator>

namespace muster {

namespace {

/// Nothing to escape and nothing that printable would change.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

}  // namespace

void JsonText::string(std::string_view value) {
  text_ += '"';
  if (is_plain(value)) {
    text_ += value;
  } else {
    // Of control characters printable leaves newline and tab.
    for (const char byte : printable(value)) {
      if (byte == '\n')
        text_ += "\\n";
      else if (byte == '\t')
        text_ += "\\t";
      else if (byte == '"' || byte == '\\')
        text_.append(1, '\\').append(1, byte);
      else
        text_ += byte;
    }
  }
  text_ += '"';
}

void JsonText::number(double value) {
  if (!std::isfinite(value)) return word("null");
  const auto before = text_.size();
  fmt::format_to(std::back_inserter(text_), "{}", value);
  // A number that need not be whole shows it, for readers that distinguish the two.
  if (text_.find_first_of(".e", before) == std::string::npos) text_ += ".0";
}

void JsonText::number(std::int64_t value) {
  fmt::format_to(std::back_inserter(text_), "{}", value);
}

void JsonText::flush() {
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

}  // namespace muster
