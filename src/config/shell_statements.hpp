/// The statements of a shell script, with the words of each.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A word as it stands, and without its quotes.
struct ShellWord {
  std::size_t begin = 0;
  int number = 0;  ///< of its line, from 1
  std::string text;
};

struct ShellStatement {
  std::vector<ShellWord> words;  ///< without what follows a redirection
  std::size_t end = 0;           ///< before a redirection, or what ends it
  std::string joined_by;         ///< `&&`, `|`, `;`, `(`: what stands between it and the statement before
};

/// The value of a variable; nullopt: it stays as it stands.
using ValueOf = std::function<std::optional<std::string>(const std::string& name)>;

/// Stands for a dollar sign whose expansion is not known before the line runs; no printable text holds it.
inline constexpr char unknown_expansion = '\x01';

/// Splits `text` at `;`, `&`, `|`, parentheses and ends of lines, and the statements into words. Comments and
/// here-documents hold none. `value_of`: variables outside of single quotes that have a value get it; the dollar
/// sign or backtick of any other expansion outside of single quotes becomes `unknown`, unless that is 0.
[[nodiscard]] std::vector<ShellStatement> shell_statements(std::string_view text, ValueOf value_of = nullptr,
                                                           char unknown = 0);

}  // namespace muster
