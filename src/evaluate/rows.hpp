/// The tables of a result: metrics over the case, nodes with theirs, and every reading that is not a pass.
#pragma once

#include <vector>

#include "evaluate/expectations.hpp"
#include "muster/report.hpp"

namespace muster {

/// One row per metric and labels over all ranks.
[[nodiscard]] std::vector<MetricRow> metric_rows(const Readings& readings, const Expected& expected);
/// One row per node, with a row per metric that its ranks reported; what the bounds are stands in metric_rows only (a
/// large run has a hundred thousand of these). Their verdicts are still to be given.
[[nodiscard]] std::vector<NodeRow> node_rows(const Readings& readings, const RankMap& places);
/// Where each rank stood, by the facts that the probe's `reported_facts` names; nothing beyond most_listed_ranks.
[[nodiscard]] std::vector<RankRow> rank_rows(const CaseInput& input);
/// Every judged reading that is not a pass, with the outcome of each of its bounds.
[[nodiscard]] std::vector<Item> items_of(const Readings& readings, const Expected& expected, const RankMap& places);

/// Gives `rows` their verdicts: the worst of what was found on the node; without a finding `pass` where every rank
/// was measured and `has_evidence`, or all that was judged there passed.
void judge_nodes(std::vector<NodeRow>& rows, const CaseInput& input, const Expected& expected,
                 const CaseResult& result);

}  // namespace muster
