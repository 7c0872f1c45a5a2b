/// The word on a case of p2p, from what its ranks observed. Pure.
#pragma once

#include "muster/probe.hpp"
#include "probes/p2p/schedule.hpp"
#include "stats/culprits.hpp"

namespace muster::p2p {

/// The schedule that all ranks of a case follow.
[[nodiscard]] Schedule schedule_of(const Params& params, int ranks);
/// Readings of one pair, and the time cap of each.
[[nodiscard]] int readings_per_pair(const Params& params);
[[nodiscard]] Budget budget_of(const Params& params, int ranks);

[[nodiscard]] DecodeSettings decode_settings(const Params& params);
/// 1.4826 MAD / median: the share of the standard deviation, when samples are normal.
[[nodiscard]] double spread_of(const Summary& summary);

[[nodiscard]] ProbeJudgement judge(const CaseView& view);

}  // namespace muster::p2p
