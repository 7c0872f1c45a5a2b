/// The user's own launch line, as `--launch` and the key `launch` of a check have it. docs/launch-line.md
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/launcher.hpp"

namespace muster {

struct GivenLine {
  Environment env;  ///< assignments in front of the program
  Argv argv;        ///< up to the program, without `exec` and `time`; the agent follows the last word
  Argv left_out;    ///< the program and its arguments, which muster does not start: torchrun, Python, or a script's
  std::string torchrun =
      {};  ///< the command of `left_out`, or of a script that it names, that starts torchrun; empty: none
  std::string torchrun_options = {};  ///< of that command (config/torchrun_options.hpp)
  std::string not_run = {};  ///< what a shell in `left_out` does before its program and muster does not carry out
  std::size_t launcher = 0;  ///< where the launcher is in `argv`: behind `env`, `timeout` and the like
  friend bool operator==(const GivenLine&, const GivenLine&) = default;
};

/// What messages call a line, and whether its variables have their values already.
struct LineOrigin {
  std::string where = "--launch";   ///< in front of a message; `file:line:column` of a check
  bool must_have_variables = true;  ///< false: a variable that is not set is empty, as when files are only read
};

/// Splits `text` into words as a shell does, with quotes and variables; no command substitution. torchrun, and Python
/// with a script, are cut off into `left_out`. Fails with kind `usage` for more than a single command (`;`, `|`, `&`,
/// redirections, quotes that are not closed), for several programs (`:`), and where srun would not pass on variables.
[[nodiscard]] Result<GivenLine> parse_given_line(std::string_view text, const LineOrigin& origin = {});

/// Puts `program`, whose words may hold unknown_expansion (config/shell_statements.hpp), into `line.left_out`; what its
/// shell does before the program proper becomes a part of `line.argv`. Fails with kind `usage` for several programs.
[[nodiscard]] Result<void> take_program(GivenLine& line, Argv program, const LineOrigin& origin);

/// Where the program of a line begins, as far as it can be recognised; words.size(): not there. The first word is the
/// launcher.
[[nodiscard]] std::size_t program_begin(const Argv& words);

/// A program that starts the processes of a training by itself.
struct ProcessStarter {
  std::string_view name;  ///< `torchrun`, `accelerate`, `deepspeed`
  std::size_t end = 0;    ///< the first word behind it
};
/// The one that `words[at]` begins: `torchrun`, `accelerate launch`, `deepspeed`, or `python3 -u -m` with the module of
/// one of them.
[[nodiscard]] std::optional<ProcessStarter> starter_at(const Argv& words, std::size_t at);

/// The first word of such a program, or of `bash -c` with one of them in its text. words.size(): there is none, or
/// behind another program of Python's.
[[nodiscard]] std::size_t torchrun_begin(const Argv& words);

/// `program` as one would type it, where it starts one of them; else empty.
[[nodiscard]] std::string torchrun_in(const Argv& program);

/// The last part of a path.
[[nodiscard]] std::string base_name(std::string_view path);
/// `NAME=VALUE`, as in front of a command.
[[nodiscard]] bool is_assignment(std::string_view word);
/// By its name: python, python3, python3.11, conda-python-distributed; also as a path.
[[nodiscard]] bool is_python_name(std::string_view word);
/// Where the text is that the shell at `at` is given with `-c`; words.size(): it is given none.
[[nodiscard]] std::size_t shell_text(const Argv& words, std::size_t at);
/// By its name: bash, sh, dash, zsh, ksh; also as a path.
[[nodiscard]] bool is_shell_name(std::string_view word);

}  // namespace muster
