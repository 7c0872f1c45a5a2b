#pragma once

#include <span>

#include "muster/probe.hpp"

namespace muster::training {

[[nodiscard]] ProbeJudgement judge(const CaseView& view);
/// Those of the probe, with their defaults.
[[nodiscard]] std::span<const ParamSpec> params();

}  // namespace muster::training
