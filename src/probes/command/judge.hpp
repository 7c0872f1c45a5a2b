/// What the programs of all ranks amount to.
#pragma once

#include "muster/probe.hpp"

namespace muster::program {

[[nodiscard]] ProbeJudgement judge(const CaseView& view);

}  // namespace muster::program
