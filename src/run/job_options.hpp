/// From -J and the profile to the options of a job, and from a plan to what it asks for. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/plan.hpp"
#include "muster/scheduler.hpp"

namespace muster {

struct JobChoice {
  std::vector<JobOption> options;  ///< the profile's, without those that -J chooses too, then those of -J
  Argv fills;                      ///< `image=/images/a.sif`: what the run inside needs for the environment's wrapper
};

/// `system` has one partition; `environment` may be empty. A `-J name=value` fills `{name}` in the profile's
/// scheduler_options and in the environment's wrapper, and is the option `--name=value` where no such word is. Fails
/// with kind `usage` for a placeholder that nothing fills, an invalid option, and one that the profile declares
/// the partition refuses: at the profile's file:line:column where it is to blame.
[[nodiscard]] Result<JobChoice> choose_job_options(const SchedulerSpec& scheduler, const SystemProfile& system,
                                                   const std::string& environment, const Argv& chosen);

/// Fills `{name}` in the wrapper of an environment from words `name=value`, which are taken out of `options`. What
/// nothing fills stays.
void fill_wrapper(Argv& wrapper, Argv& options);

/// What the plan can take at most when every case runs into its deadline, in whole minutes.
[[nodiscard]] Seconds time_needed(const Plan& plan);
/// The most ranks that a case wants on a node; 0: that depends on nodes that are not known yet.
[[nodiscard]] int tasks_per_node(const Plan& plan, bool is_node_known);

}  // namespace muster
