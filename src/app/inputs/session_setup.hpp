/// From what was prepared to a session; shared by run and gate.
#pragma once

#include <vector>

#include "app/inputs/options.hpp"
#include "app/inputs/prepare.hpp"
#include "muster/report.hpp"
#include "run/session.hpp"

namespace muster {

/// What is planned, for the head of a report; replaced by what happened.
[[nodiscard]] std::vector<LaunchRecord> planned_launches(const Prepared& prepared);
/// Agent, launcher, deadlines and folder, with MUSTER_STARTUP_TIMEOUT and MUSTER_WIRE_ADDRESS applied.
[[nodiscard]] SessionOptions session_options(const RunOptions& options, const Prepared& prepared,
                                             const RunReport& report);

}  // namespace muster
