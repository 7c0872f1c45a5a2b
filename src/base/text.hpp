/// Text: splitting, joining, suggestions, and making foreign text harmless.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

[[nodiscard]] std::string_view trim(std::string_view text);
/// `a,,b` -> a, "", b; the empty text -> no items.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string join(std::span<const std::string> items, std::string_view separator);
[[nodiscard]] std::vector<std::string_view> lines(std::string_view text);

/// The candidate nearest to `name` by edit distance, if it is near enough to be a likely misspelling; else "".
[[nodiscard]] std::string closest(std::string_view name, std::span<const std::string> candidates);
/// `; did you mean "x"?` when there is a close candidate, else `; known: a, b, c` (at most 12 named).
[[nodiscard]] std::string suggestion(std::string_view name, std::span<const std::string> candidates);

/// Valid UTF-8 without control characters, apart from newline and tab: invalid bytes become U+FFFD, an escape or
/// another control character becomes its visible form (`\x1b`). For every text that comes from outside
/// (programs, nodes, files) before it reaches a report. Idempotent.
[[nodiscard]] std::string printable(std::string_view text);
/// As printable, on one line: newline and tab become spaces, at most `most` bytes (cut at a character, `...` added).
[[nodiscard]] std::string printable_line(std::string_view text, std::size_t most = 400);
/// The last `most` bytes of `text`, from the start of a line where possible.
[[nodiscard]] std::string tail(std::string_view text, std::size_t most);

/// `nid001`, `nid001 and nid002`, `a, b and c`, at most `most` named, then `and 7 more`.
[[nodiscard]] std::string human_list(std::span<const std::string> items, std::size_t most = 8);
/// Appends `text`; each character of `special` is replaced by the word at the same index.
void append_replaced(std::string& out, std::string_view text, std::string_view special,
                     std::initializer_list<std::string_view> words);
/// `1 rank`, `7 ranks`.
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);
/// An argument as a POSIX shell would need it quoted; whole command lines joined by spaces. For people to paste;
/// muster itself never starts a shell.
[[nodiscard]] std::string shell_quote(std::string_view argument);
[[nodiscard]] std::string shell_line(std::span<const std::string> argv);

}  // namespace muster
