/// The word on a case of p2p, from what its ranks observed. Pure.
#pragma once

#include "muster/probe.hpp"

namespace muster::p2p {

[[nodiscard]] ProbeJudgement judge(const CaseView& view);

/// Sockets where something faster is there, according to the ranks' facts `transport`: one finding for each way.
[[nodiscard]] std::vector<Finding> find_fallbacks(const CaseView& view);

}  // namespace muster::p2p
