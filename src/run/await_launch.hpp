/// Waits until a launch is over; no deadline has to pass where a process that the launch needs is stopped.
#pragma once

#include <functional>

#include "run/diagnose.hpp"
#include "run/launch.hpp"

namespace muster {

/// Turns the loop until the launch is over or `must_stop`. While ranks start and after the last case, a launcher that
/// is stopped for three seconds ends the launch. So does a stopped daemon or rank: in a launch of up to 256 nodes, all
/// are examined once in each of these stages, where it takes longer than usual, and a second time before the launch is
/// given up; a process counts that both looks found stopped, and a rank only if it did nothing in between. Processes
/// under a debugger do not count. Returns what the launch was given up for.
[[nodiscard]] StoppedProcesses await_launch(Loop& loop, Launch& launch, LaunchDiagnosis& diagnosis,
                                            const LaunchDiagnosis::Inspection& inspection,
                                            const std::function<bool()>& must_stop);

}  // namespace muster
