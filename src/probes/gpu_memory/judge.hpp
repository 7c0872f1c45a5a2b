/// Pure.
#pragma once

#include "muster/probe.hpp"

namespace muster::gpu_memory {

[[nodiscard]] ProbeJudgement judge(const CaseView& view);

}  // namespace muster::gpu_memory
