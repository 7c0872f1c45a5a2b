/// The launch line of a batch script (`--launch @FILE`). Nothing of the script is executed. docs/launch-line.md
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/given_line.hpp"

namespace muster {

/// A command of a script that starts a launcher.
struct ScriptCommand {
  int number = 0;    ///< of its first line, from 1
  std::string text;  ///< as it stands, without what follows `|`, `>`, `&` or `;`
};

/// Whether a program of that name, without its folder, is a launcher.
using IsLauncher = std::function<bool(std::string_view name)>;

/// The commands of `script` that begin with a launcher, also behind assignments, `exec`, `time`, `if`, `then` and the
/// like. Comments and here-documents hold none.
[[nodiscard]] std::vector<ScriptCommand> launch_commands(std::string_view script, const IsLauncher& is_launcher);

/// The line of `command` up to its program, which is not started: torchrun, python, a shell, or the one word that names
/// a file below the current folder (`./train`). Fails with kind `usage` where none or several of them are there, and as
/// parse_given_line.
[[nodiscard]] Result<GivenLine> line_of_command(const ScriptCommand& command, const LineOrigin& origin);

/// The first command of a shell script that starts torchrun; nullopt: none.
[[nodiscard]] std::optional<ScriptCommand> torchrun_command(std::string_view script);

/// Whether a shell script uses its arguments, as a wrapper does that starts what follows it.
[[nodiscard]] bool uses_arguments(std::string_view script);

}  // namespace muster
