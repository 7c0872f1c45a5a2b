/// Waits until a launch is over; no deadline has to pass where a process that the launch needs is stopped.
#pragma once

#include <functional>

#include "run/diagnose.hpp"
#include "run/launch.hpp"

namespace muster {

/// Turns the loop until the launch is over or `must_stop`. While ranks start and after the last case, a launcher that
/// is stopped for three seconds ends the launch as if the deadline of its stage had passed. So do a stopped daemon and
/// a stopped rank on any node: all nodes are examined once in each of these stages, where it takes longer than usual,
/// and a second time before the launch is given up.
void await_launch(Loop& loop, Launch& launch, LaunchDiagnosis& diagnosis, const LaunchDiagnosis::Inspection& inspection,
                  const std::function<bool()>& must_stop);

}  // namespace muster
