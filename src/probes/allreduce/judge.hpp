/// The word on a case of allreduce. Pure.
#pragma once

#include "muster/probe.hpp"

namespace muster::allreduce {

[[nodiscard]] ProbeJudgement judge(const CaseView& view);

}  // namespace muster::allreduce
