/// What to do about an agent that a launcher can't start on a node.
#pragma once

#include <string_view>

namespace muster {

/// MPIs use the same words where the file is missing and where it may not be executed.
inline constexpr std::string_view agent_remedy =
    "install muster, and the environment's wrapper, at the same path on all nodes, or on a shared file system; where "
    "it is there, see whether it may be executed: its rights, its architecture, the option noexec of its mount";

}  // namespace muster
