/// Who would take nodes out of service and put them back: found, and greeted before a run that may need him.
#pragma once

#include <string>

#include "app/inputs/options.hpp"
#include "base/loop.hpp"
#include "muster/scheduler.hpp"

namespace muster {

[[nodiscard]] bool wants_actions(const ScheduledRunOptions& options);

/// A batch system whose program for that is on PATH; nullptr: there is none.
[[nodiscard]] const SchedulerSpec* find_service();

/// Whether the service answers; takes a second at most, changes nothing, and does not check permissions. Fails with
/// kind `launch`: the message instead.
[[nodiscard]] Result<void> greet(const SchedulerSpec& scheduler);

/// Of a program that failed: the most informative line.
[[nodiscard]] std::string complaint_of(const Completed& done);

/// Prints on standard error, before a run that has actions, that the service for them does not answer. The run is worth
/// having all the same.
void warn_of_actions(const ScheduledRunOptions& options);

}  // namespace muster
