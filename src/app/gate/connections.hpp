/// How fast pairs of nodes exchange data, from the matrices beside reports.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "muster/report.hpp"
#include "stats/connected.hpp"

namespace muster {

/// By matrices of `bandwidth`, or else of `bidirectional`, in GB/s: those of the largest messages. Of a pair in several
/// reports the best counts: what else uses a link or its processors slows it for a while. Several ranks of two nodes count as their median. Nothing
/// was measured where no report has such a matrix.
[[nodiscard]] NodeConnections connections_of(std::span<const RunReport> reports, const std::vector<std::string>& nodes);
/// Ids of the cases that they come from.
[[nodiscard]] std::vector<std::string> connection_cases(std::span<const RunReport> reports);

}  // namespace muster
