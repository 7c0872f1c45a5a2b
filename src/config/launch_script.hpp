/// The launch line of a batch script (`--launch @FILE`). Nothing of the script is executed. docs/launch-line.md
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/given_line.hpp"
#include "config/shell_statements.hpp"

namespace muster {

/// A command of a script that starts a launcher.
struct ScriptCommand {
  int number = 0;                                     ///< of its first line, from 1
  std::string text;                                   ///< as it stands, without what follows `|`, `>`, `&` or `;`
  std::size_t begin = 0;                              ///< of its first word in the script
  std::map<std::string, std::string> variables = {};  ///< that the script sets before
};

/// Whether a program of that name, without its folder, is a launcher.
using IsLauncher = std::function<bool(std::string_view name)>;

/// The commands of `script` that begin with a launcher, also behind assignments, `exec`, `time`, `if`, `then` and the
/// like, and those that `muster gate ... --` starts. Comments and here-documents hold none.
[[nodiscard]] std::vector<ScriptCommand> launch_commands(std::string_view script, const IsLauncher& is_launcher);

/// The line of `command` up to its program, which is not started: torchrun, python, a shell, or the one word that names
/// a file below the current folder (`./train`). Fails with kind `usage` where none or several of them are there, and as
/// parse_given_line.
[[nodiscard]] Result<GivenLine> line_of_command(const ScriptCommand& command, const LineOrigin& origin);

/// The first command of a shell script that starts torchrun; nullopt: none.
[[nodiscard]] std::optional<ScriptCommand> torchrun_command(std::string_view script);

/// The words of the one command that `text` is, without their quotes. `value_of`: variables outside of single quotes
/// that have a value get it; without it, and without a value, they stay as they stand (`unknown`: as shell_statements).
[[nodiscard]] Argv words_of_command(std::string_view text, const ValueOf& value_of = nullptr, char unknown = 0);

/// What commands of `script` in front of `begin` set that are assignments and nothing else, also behind `export`;
/// values as they stand.
[[nodiscard]] std::map<std::string, std::string> variables_before(std::string_view script, std::size_t begin);

/// The value that the shell of a batch script puts in for a variable outside of single quotes: from `variables`, which
/// it sets itself, else from muster's environment. SLURM_PROCID and the like are those of the script's own task.
[[nodiscard]] std::optional<std::string> batch_value(const std::string& name,
                                                     const std::map<std::string, std::string>& variables);

/// Whether a shell script starts its arguments, as a wrapper does: `$@`, `$*`, or a command that is `$1`. Other uses of
/// `$1` are values that a program takes.
[[nodiscard]] bool uses_arguments(std::string_view script);
/// As above, of the text of `bash -c`, whose first argument is `$0`.
[[nodiscard]] bool shell_text_uses_arguments(std::string_view text);

}  // namespace muster
