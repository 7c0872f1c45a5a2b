/// What a shell makes of a script, as far as `lint` needs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct ShellScript {
  /// A `|` that connects two commands: not one in quotes, a here-document or a comment, of `||` or `>|`, between the
  /// patterns of a `case` or an extended glob, in arithmetic or in `[[ ]]`.
  bool has_pipe = false;
  /// Words without their quotes, keywords before them and targets of redirections among them; variables as written.
  std::vector<std::vector<std::string>> commands;
};

[[nodiscard]] ShellScript read_script(std::string_view script);

}  // namespace muster
