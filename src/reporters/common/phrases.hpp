/// The words in which reports for people speak of a run. Every text returned is printable and on one line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "muster/report.hpp"

namespace muster {

/// `pass`, `skip`; what needs a look is in capitals, so that it is found without colours.
[[nodiscard]] std::string verdict_word(Verdict verdict);
/// Neither pass nor skip.
[[nodiscard]] bool needs_attention(Verdict verdict);
/// Verdicts in the order in which they concern a reader: fail, error, unmeasured, pass, skip.
[[nodiscard]] std::span<const Verdict> verdicts_by_urgency();
/// `3 fail, 1 pass`: those that occur, by urgency.
[[nodiscard]] std::string tally_phrase(const Tally& tally);

/// The id with the swept parameters of the case: `allreduce%77aa0b11 size=16MiB`.
[[nodiscard]] std::string title(const CaseResult& result);
/// As title, but without the node that a case is about with --per-node.
[[nodiscard]] std::string common_title(const CaseResult& result);
/// Titles, in order; those of one case on several nodes as one: `hello%3f2a9c1d on nid[003,017]`.
[[nodiscard]] std::vector<std::string> folded_titles(const std::vector<const CaseResult*>& results);
/// `97/100 passed`; empty when there was one repetition.
[[nodiscard]] std::string repetitions_passed(const CaseResult& result);
/// `busbw{size=16MiB,type=float}`
[[nodiscard]] std::string labelled(const std::string& metric, const Labels& where);
/// `11.9 GB/s`; `no value` when there are no samples.
[[nodiscard]] std::string value_phrase(const Summary& summary, const std::string& unit);
/// `median 11.9 GB/s of 8 readings, 9.81 to 12.4, worst on rank 5; 7 of 8 inside reference 12.5 GB/s -10 %`
[[nodiscard]] std::string metric_phrase(const MetricRow& row);
/// `9.81 GB/s on rank 5 of nid002 towards rank 1: reference 12.5 GB/s -10 %`
[[nodiscard]] std::string item_phrase(const Item& item);
/// `rank 5 on nid003`, `link nid001 - nid002`, `0000:c1:00.0 on nid003`
[[nodiscard]] std::string culprit_phrase(const Culprit& culprit);
[[nodiscard]] std::vector<std::string> culprit_phrases(const std::vector<Culprit>& culprits);
/// The numbers of a passing case: judged metrics, and `triad 24.04 GB/s (no bound)` for those of a program that no
/// bound is about.
[[nodiscard]] std::string numbers_phrase(const CaseResult& result);
/// A case in few words: who is at fault and why it is not a pass; for a pass its numbers, else its evidence, else any
/// metrics.
[[nodiscard]] std::string brief(const CaseResult& result);
/// A reason in rows: its parts between semicolons where there are several and they are long, else one row.
[[nodiscard]] std::vector<std::string> rows_of(std::string_view reason);
/// `2 nodes x 4 ranks`, `1 node x 1 rank`, `2 nodes, 7 ranks` where they don't divide.
[[nodiscard]] std::string shape_phrase(int nodes, int ranks);
/// `MUSTER_CHECKS=/opt/checks MUSTER_STARTUP_TIMEOUT=90s`: the variables MUSTER_* in force; empty: there are none.
[[nodiscard]] std::string variables_phrase(const RunReport& report);
/// What a variable means for the run, where that is reported even if all is well; else empty: other checks than
/// muster's own, places of other users.
[[nodiscard]] std::string remark_phrase(const Fact& variable);
/// `3.2 s`, `2:14`, `1:02:03`
[[nodiscard]] std::string time_phrase(double seconds);
/// `0:34`, `1:02:03`
[[nodiscard]] std::string clock_phrase(double seconds);

}  // namespace muster
