/// What is kept of a report.
#pragma once

#include "model/past_run.hpp"
#include "muster/report.hpp"

namespace muster {

/// Pure. Readings of one item in one case and metric become one value: the median, with its MAD. Of a case that lists
/// its readings, items are nodes, devices and links; of a larger one, nodes. Figures of what the hardware could do and
/// curves (label `step`) are left out, and so is what has no value.
[[nodiscard]] PastRun remember(const RunReport& report);

}  // namespace muster
