/// From what was seen to a verdict. Pure: no clock, no disk, no network, no globals.
#pragma once

#include "model/plan.hpp"
#include "model/record.hpp"
#include "muster/report.hpp"

namespace muster {

class LikeItems;
struct PastValues;

/// Judges one repetition of one case.
///
/// Pass needs all of: every rank of `world` observed, no finding, and evidence (a bound applied and kept, or a
/// sentence of the probe's judge). Findings come causes first: of the frame (hang, node lost), of ranks
/// (prepare failed, run failed, silent), of the probe's judge, of bounds. `probe` must be the case's probe.
/// `like` has the readings of the other nodes where the case is about one of many (--per-node): its peers.
/// `past` has what earlier runs measured; nullptr: nothing is known of them.
[[nodiscard]] CaseResult evaluate(const Case& item, const ProbeSpec& probe, const CaseRecord& record,
                                  const World& world, const LikeItems* like = nullptr,
                                  const PastValues* past = nullptr);

/// One result from the repetitions of a case, in order. Repetitions that disagree are `fail` with
/// `intermittent 3/10`; details are those of the worst repetition (the first of them).
/// An empty list is not allowed.
[[nodiscard]] CaseResult combine_repetitions(std::vector<CaseResult> repetitions);

/// The result of a case that never ran: verdict and reason from `item.unable`.
[[nodiscard]] CaseResult evaluate_unable(const Case& item);

/// The head of a result without any verdict: names, parameters, shape.
[[nodiscard]] CaseResult describe(const Case& item);

}  // namespace muster
