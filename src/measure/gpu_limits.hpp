/// Copies against what links and memory can do. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/node_gpus.hpp"
#include "muster/probe.hpp"

namespace muster::gpu_copy {

/// `from host to device`, of a metric.
[[nodiscard]] std::string words_of(const std::string& metric);
/// The reading `<metric>.capable` with the same labels and peer; nullptr: none.
[[nodiscard]] const Reading* capable_of(const Observation& seen, const Reading& reading);

/// What one rank measured: too little of what the hardware can do.
void judge_limits(const CaseView& view, const RankPlace& place, const Observation& seen, const TestedGpus& named,
                  std::vector<Finding>& findings);

}  // namespace muster::gpu_copy
