/// Which nodes a run goes to: --nodes, and the allocation around muster.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muster/launcher.hpp"
#include "muster/scheduler.hpp"
#include "system/allocation.hpp"

namespace muster {

/// The nodes that `option` (--nodes; may be empty) means: a host list, or inside an allocation a count, `all`, or
/// `idle` (its nodes that no step runs on: the batch system is asked). Empty: this machine. Fails with kind `usage`,
/// also for nodes outside of the allocation where `launcher` can't reach them.
[[nodiscard]] Result<std::vector<std::string>> choose_nodes(const std::string& option, const LauncherSpec& launcher,
                                                            const std::optional<Allocation>& allocation);

/// The nodes that a job shall get.
struct NodeRequest {
  int count = 1;
  std::vector<std::string> names;  ///< empty: any
  std::vector<std::string> notes;  ///< nodes that were left out, and why
  std::string none_idle;           ///< `idle` was asked for, and no node is: which states they have
};

/// As choose_nodes(), for a job with these options: `all` are those that jobs can get, `idle` those that nothing runs
/// on, which may be none (`none_idle`). Asks the batch system for both.
[[nodiscard]] Result<NodeRequest> requested_nodes(const std::string& option, const SchedulerSpec& scheduler,
                                                  std::span<const JobOption> options);

}  // namespace muster
