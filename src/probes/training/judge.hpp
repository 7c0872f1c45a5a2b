#pragma once

#include "muster/probe.hpp"

namespace muster::training {

[[nodiscard]] ProbeJudgement judge(const CaseView& view);

}  // namespace muster::training
