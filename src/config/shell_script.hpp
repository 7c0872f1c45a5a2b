/// What a shell makes of a script, as far as `lint` needs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A `|` that connects two commands: not one in quotes, a here-document or a comment, of `||` or `>|`, between the
/// patterns of a `case` or an extended glob, in arithmetic or in `[[ ]]`.
[[nodiscard]] bool has_pipe(std::string_view script);

/// The script of `sh -c SCRIPT`, also behind other programs (`env`, `timeout 5`); empty: there is none, or the shell is
/// started with pipefail.
[[nodiscard]] std::string script_in(const std::vector<std::string>& argv);

}  // namespace muster
