/// How what NVIDIA's library and driver report is judged: the parts of judges.cpp.
#pragma once

#include <vector>

#include "measure/node_devices.hpp"

namespace muster::visibility {

/// GPUs that NVML reported and that have no worse finding.
[[nodiscard]] std::vector<const Device*> reported_by_nvml(const NodeView& node);
/// The management library, where it was asked: absent, broken, other GPUs than the kernel's.
void judge_nvml(const NodeView& node, Findings& findings);
/// Each GPU according to that library; then GPUs of one model against each other.
void judge_nvml_health(const NodeView& node, Findings& findings);
void judge_siblings(const NodeView& node, Findings& findings);

}  // namespace muster::visibility
