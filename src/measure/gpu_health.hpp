/// What became of GPUs while they were at work, from the facts of LoadWatch. Pure.
#pragma once

#include <vector>

#include "measure/node_gpus.hpp"
#include "muster/probe.hpp"

namespace muster::gpu_copy {

/// Findings about all GPUs that ranks watched: faults as `fail`, what is worth knowing as findings of verdict `pass`,
/// others at work on them as `unmeasured` where timing means something.
void judge_health(const CaseView& view, std::vector<Finding>& findings);
/// How many were watched; nothing where all are not well.
void add_health_evidence(const CaseView& view, ProbeJudgement& judgement);
/// Others compute on one of the rank's GPUs: its times mean nothing.
[[nodiscard]] bool is_shared_with_others(const Observation& seen);
/// All findings are such as go with a pass.
[[nodiscard]] bool is_well(const ProbeJudgement& judgement);

}  // namespace muster::gpu_copy
