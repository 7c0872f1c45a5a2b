/// How fast pairs of nodes exchange data, from the matrices beside reports.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "muster/report.hpp"
#include "stats/connected.hpp"

namespace muster {

/// Of the last report with a matrix of `bandwidth`, or else of `bidirectional`, in GB/s: that of the largest messages.
/// Several ranks of two nodes count as their median. Nothing was measured where no report has one.
[[nodiscard]] NodeConnections connections_of(std::span<const RunReport> reports, const std::vector<std::string>& nodes);

}  // namespace muster
