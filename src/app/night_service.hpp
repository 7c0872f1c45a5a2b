/// Who would take nodes out of service and put them back: found, and greeted before a run that may need him.
#pragma once

#include <string>

#include "app/options.hpp"
#include "base/loop.hpp"
#include "muster/scheduler.hpp"

namespace muster {

[[nodiscard]] bool wants_actions(const NightOptions& options);

/// A batch system whose program for that is on PATH; nullptr: there is none.
[[nodiscard]] const SchedulerSpec* find_service();

/// Whether anybody answers; takes a second at most, changes nothing, and is no word about who may do it. Fails with
/// kind `launch`: what was said instead.
[[nodiscard]] Result<void> greet(const SchedulerSpec& scheduler);

/// Of a program that did not do what it was asked: the one line that says most.
[[nodiscard]] std::string complaint_of(const Completed& done);

/// Says on standard error, before a run that has actions, that nobody answers who could do them. The run is worth
/// having all the same.
void warn_of_actions(const NightOptions& options);

}  // namespace muster
