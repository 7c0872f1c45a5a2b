/// Ranks whose readings are those of one device.
#pragma once

#include "evaluate/attendance.hpp"
#include "muster/verdict.hpp"

namespace muster {

/// Adds, to the ranks that a finding blames, their devices; the first of them to its sentence, too.
void name_device(Finding& finding, const Attendance& attendance);

}  // namespace muster
