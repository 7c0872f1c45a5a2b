/// Which nodes a run goes to: --nodes, and the allocation around muster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/launcher.hpp"
#include "system/allocation.hpp"

namespace muster {

/// The nodes that `option` (--nodes; may be empty) means: a host list, or inside an allocation a count or `all`. Empty:
/// this machine. Fails with kind `usage`, also for nodes outside of the allocation where `launcher` can't reach them.
[[nodiscard]] Result<std::vector<std::string>> choose_nodes(const std::string& option, const LauncherSpec& launcher,
                                                            const std::optional<Allocation>& allocation);

}  // namespace muster
