/// Rates of products by a vendor's library against those of like GPUs, and against what the model can do. Pure.
#pragma once

#include <map>
#include <vector>

#include "measure/node_gpus.hpp"
#include "muster/probe.hpp"

namespace muster::gpu_compute {

/// `named`: GPUs of the ranks that multiplied, by rank.
void judge_rates(const CaseView& view, const std::map<int, gpu_copy::TestedGpus>& named,
                 std::vector<Finding>& findings);

}  // namespace muster::gpu_compute
