/// What a shell does before it starts its program: assignments, and programs such as taskset around it. muster's agent
/// is started behind them in the program's place. docs/launch-line.md
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/given_line.hpp"
#include "config/shell_statements.hpp"

namespace muster {

/// With dollar signs in place of unknown_expansion.
[[nodiscard]] std::string with_dollars(std::string text);

struct ShellPrologue {
  std::vector<std::string> kept;     ///< statements as they stand, which set nothing but variables and limits
  std::string start;                 ///< in front of the program: `A=b exec taskset -c 9 `
  std::vector<std::string> dropped;  ///< statements before the program that muster does not carry out
  [[nodiscard]] bool is_empty() const { return kept.empty() && start == "exec "; }
};

/// The text of a file that a script reads (`source FILE`); nullopt: it can't be read.
using ReadScript = std::function<std::optional<std::string>(const std::string& file)>;

/// Of the text of `bash -c` or a script. Kept are assignments without command substitutions (but `$(hostname)` and the
/// like), also those of files that it reads with `source`, outside of conditions, loops and functions.
[[nodiscard]] ShellPrologue shell_prologue(std::string_view text, const ReadScript& read = nullptr);

/// `shell`: its program and options; `name` and `arguments`: $0 and $1... of `text`. Puts what `text` does before its
/// program at the end of `line.argv`, and the rest into `line.not_run`.
void keep_prologue(GivenLine& line, Argv shell, std::string_view text, const std::string& name, const Argv& arguments);

/// `$T a.py` with what the script set before: `T="torchrun --nnodes=2"`.
[[nodiscard]] std::string with_command_variables(std::string_view text);

}  // namespace muster
