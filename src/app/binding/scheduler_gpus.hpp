/// GPUs of a cluster that no profile describes, as its batch system counts them. docs/submit.md
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/plan.hpp"
#include "muster/scheduler.hpp"
#include "system/allocation.hpp"

namespace muster {

/// What a job on such a cluster asks for.
struct GpuRequest {
  int per_node = 0;     ///< 0: nothing is asked for
  std::string note;     ///< what is asked for and why, or why not; empty: there are no GPUs, or the profile counts them
  std::string ranks{};  ///< how many ranks follow from it, to be added to the note where none were asked for
  int chosen = 0;       ///< GPUs per node by an option of the job itself; 0: there is none, or it counts something else
};

/// GPUs that each node of a job with these options has: those of `nodes`, or where none is named, of the nodes of the
/// partition that have any (the least). Asks the batch system, at most 20 s. Nothing where the profile of `system`,
/// with one partition, counts the GPUs or declares that jobs with such an option are refused.
[[nodiscard]] GpuRequest requested_gpus(const SchedulerSpec& scheduler, const SystemProfile& system,
                                        std::span<const JobOption> options, const std::vector<std::string>& nodes);

/// Whether the probe of the case measures GPUs and nothing else.
[[nodiscard]] bool is_about_gpus(const Case& item);

/// As above, or each of its ranks is one of a GPU's and no number of ranks is given for nodes without one.
[[nodiscard]] bool needs_gpus(const Case& item);

/// An error for each case that needs GPUs where the nodes of the job have some by the batch system, and the job asked
/// for none: its launches see none. Empty where the profile counts GPUs, and without such a case. Asks the batch
/// system, at most 40 s.
[[nodiscard]] std::optional<Finding> find_ungranted_gpus(const SystemProfile& system, const Allocation& job,
                                                         const Plan& plan);

}  // namespace muster
