/// What the plugins of all nodes amount to.
#pragma once

#include "muster/probe.hpp"

namespace muster::network_plugin {

[[nodiscard]] ProbeJudgement judge(const CaseView& view);

}  // namespace muster::network_plugin
