/// What `argv` of a check leaves to a shell, for `lint`.
#pragma once

#include <string>
#include <vector>

namespace muster {

/// A program of a pipe may fail unseen: a shell without pipefail runs one, also behind other programs (`env`,
/// `timeout 5`), on another node (ssh), in a shell of the script or in eval. Not where the script reads PIPESTATUS.
[[nodiscard]] bool loses_status(const std::vector<std::string>& argv);

/// The first word that only a shell would take for an operator, such as `|` or `>`; argv.size(): there is none.
/// Programs that have such arguments (`expr 1 | 2`, `cut -d |`, `find -exec ls {} ;`) are left alone.
[[nodiscard]] std::size_t find_operator(const std::vector<std::string>& argv);

/// The first argument that only a shell would replace, such as `$HOME/data` or `~/data`; argv.size(): there is none, or
/// a shell or a program of a like language is started.
[[nodiscard]] std::size_t find_expansion(const std::vector<std::string>& argv);

}  // namespace muster
