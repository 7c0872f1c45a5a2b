/// Text in columns, for people. One column per character of UTF-8; no line ends in a space.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// For printable_line: identifiers, commands and sentences that are wrapped are never cut.
inline constexpr std::size_t uncut = std::size_t{1} << 30;

/// Columns that a line of printable text takes.
[[nodiscard]] std::size_t columns(std::string_view text);
/// `text` followed by spaces, `width` columns in all; longer text stays as it is.
[[nodiscard]] std::string pad(std::string_view text, std::size_t width);
/// Spaces, then `text`: for numbers.
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
/// At most `width` columns, ending in `...` when something is missing.
[[nodiscard]] std::string cut(std::string_view text, std::size_t width);
/// `text` broken between words so that lines fit in `width` columns, when the first line begins in column `indent`
/// and the others are indented by as much. A word that fits nowhere gets a line of its own and is not broken. Spaces
/// within a line stay as they are. No newline at the end.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace muster
