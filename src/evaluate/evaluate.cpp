#include "evaluate/evaluate.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "evaluate/attendance.hpp"
#include "evaluate/expectations.hpp"
#include "evaluate/link_errors.hpp"
#include "evaluate/past_items.hpp"
#include "evaluate/possible.hpp"
#include "evaluate/rank_map.hpp"
#include "evaluate/readings.hpp"
#include "evaluate/rows.hpp"
#include "evaluate/verdict_rules.hpp"

namespace muster {

namespace {

constexpr std::size_t most_named_metrics = 4;

bool is_expected(const Case& item, const std::string& metric) {
  return std::any_of(item.expects.begin(), item.expects.end(),
                     [&](const Expectation& asked) { return asked.metric == metric; });
}

/// `lower = -0.1`
std::string_view tolerance_of(Better better) {
  if (better == Better::higher) return "lower = -0.1";
  if (better == Better::lower) return "upper = 0.1";
  return "lower = -0.1, upper = 0.1";
}

/// How to judge metrics that the check finds by patterns and that no expectation is about; empty: there are none. No
/// value is part of it, so that it is the same for all repetitions and nodes.
std::string note_without_bound(const Case& item) {
  if (!item.params.has("metric")) return {};
  std::vector<std::string> names;
  const DeclaredMetric* last = nullptr;
  for (const DeclaredMetric& metric : item.metrics) {
    if (is_expected(item, metric.name)) continue;
    names.push_back(metric.name);
    last = &metric;
  }
  if (last == nullptr) return {};
  return fmt::format(
      "{} {} no bound; to judge {}, add to the check `expect = [{{ metric = \"{}\", reference = {{ value = ..., {}, "
      "unit = \"{}\" }} }}]`",
      human_list(names, most_named_metrics), names.size() == 1 ? "has" : "have", names.size() == 1 ? "it" : last->name,
      last->name, tolerance_of(last->better), last->unit);
}

/// Of what one rank printed, so much is kept; of so many ranks, the culprits first.
constexpr std::size_t most_output_bytes = 4096;
constexpr std::size_t most_outputs = 64;

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// Probes of others are judged here, too: one that is broken must not take the other cases along.
Finding broken_judge(const ProbeSpec& probe, const std::string& thrown) {
  return {Verdict::error,
          fmt::format("the judge of probe {} threw an exception: {}", probe.name, thrown),
          {{CulpritKind::program, fmt::format("probe {}", probe.name), "", -1}},
          "report this to the author of the probe"};
}

void append_judgement(const CaseInput& input, CaseResult& result) {
  const bool is_enough =
      input.attendance.is_complete() || (input.probe.is_about_nodes && input.attendance.measured > 0);
  if (input.probe.judge == nullptr || !is_enough) return;
  try {
    auto judgement = input.probe.judge(
        {input.item.params, input.world.ranks, input.attendance.observed, input.item.node, input.world.timing_doubt});
    append(result.findings, std::move(judgement.findings));
    append(result.evidence, std::move(judgement.evidence));
  } catch (const std::exception& thrown) {
    result.findings.push_back(broken_judge(input.probe, printable_line(thrown.what())));
  } catch (...) {
    result.findings.push_back(broken_judge(input.probe, "an exception of an unknown type"));
  }
}

/// Ranks that printed something: the culprits, then from rank 0 up.
std::vector<int> speakers(const CaseInput& input, const CaseResult& result) {
  const auto& observed = input.attendance.observed;
  std::vector<char> is_culprit(observed.size(), 0);
  for (const Finding& finding : result.findings)
    for (const Culprit& culprit : finding.culprits)
      if (input.places.has(culprit.rank)) is_culprit[static_cast<std::size_t>(culprit.rank)] = 1;
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < observed.size(); ++rank)
    if (observed[rank] != nullptr && !observed[rank]->output.empty()) ranks.push_back(static_cast<int>(rank));
  std::stable_partition(ranks.begin(), ranks.end(),
                        [&](int rank) { return is_culprit[static_cast<std::size_t>(rank)] != 0; });
  return ranks;
}

/// What a rank printed last; `...` where that is the end of a line whose start is left out.
std::string last_words(const std::string& output) {
  auto kept = tail(output, most_output_bytes);
  const bool is_cut = kept.size() < output.size() && output[output.size() - kept.size() - 1] != '\n';
  if (is_cut) kept.replace(0, 3, "...");
  return printable(kept);
}

void keep_outputs(const CaseInput& input, CaseResult& result) {
  auto ranks = speakers(input, result);
  const std::size_t most = result.verdict == Verdict::pass ? 1 : most_outputs;
  if (ranks.size() > most && result.verdict != Verdict::pass)
    result.notes.push_back(fmt::format("what {} more ranks printed is left out here", ranks.size() - most));
  ranks.resize(std::min(ranks.size(), most));
  std::sort(ranks.begin(), ranks.end());
  for (int rank : ranks) {
    const auto& output = input.attendance.observed[static_cast<std::size_t>(rank)]->output;
    result.outputs.push_back({rank, input.places.name_of(input.places.node_of(rank)), last_words(output)});
  }
}

/// The probe reports that this does not apply here, and measured nothing: nothing is missing.
bool does_not_apply(const CaseResult& result, const Readings& readings) {
  return !result.findings.empty() && result.evidence.empty() && readings.groups().empty() &&
         std::all_of(result.findings.begin(), result.findings.end(),
                     [](const Finding& finding) { return finding.verdict == Verdict::skip; });
}

/// A reading that is missing may follow from what the judge of the probe found.
bool is_trouble(const Finding& finding) {
  return finding.verdict != Verdict::pass && finding.verdict != Verdict::skip;
}

/// A reader of a time must see that it was not judged. Where that is because of some nodes alone, the times of the
/// others are missing: one node could keep them from being judged.
void note_timing(const CaseInput& input, bool has_readings, CaseResult& result) {
  const auto& metrics = input.probe.metrics;
  const bool has_timing =
      std::any_of(metrics.begin(), metrics.end(), [](const MetricSpec& metric) { return metric.is_timing; });
  if (!has_timing || input.world.timing_doubt.empty()) return;
  result.notes.push_back(timing_note(input.world));
  const auto& doubts = input.world.node_doubts;
  Finding finding;
  for (std::size_t node = 0; node < std::min(doubts.size(), input.world.nodes.size()); ++node)
    if (const std::string& name = input.world.nodes[node].node; !doubts[node].empty())
      finding.culprits.push_back(node_culprit(name));
  const bool is_of_some = !finding.culprits.empty() && finding.culprits.size() < input.world.nodes.size();
  if (!is_of_some || !has_readings || !simulated_by(input.world.nodes).empty()) return;
  finding.verdict = Verdict::unmeasured;
  finding.reason =
      fmt::format("times are not judged: {}, unlike the other nodes", printable_line(input.world.timing_doubt));
  finding.remedy = "see why ranks share cores there alone (muster bind), or leave the node out";
  result.findings.push_back(std::move(finding));
}

/// Why there is neither a finding nor evidence.
std::string why_nothing(const CaseInput& input, const Expected& expected) {
  if (input.places.ranks() == 0) return "no rank reported anything";
  if (const std::string doubt = timing_note(input.world); is_in(doubt, expected.notes)) return doubt;
  return "nothing was judged: no bound and no evidence";
}

}  // namespace

CaseResult evaluate(const Case& item, const ProbeSpec& probe, const CaseRecord& record, const World& world,
                    const LikeItems* like, const PastValues* past) {
  CaseResult result = describe(item);
  const RankMap places(world);
  const Plausible kept = plausible(record, probe, world, &item);
  const Attendance attendance = attend(kept.of(record), places);
  const PastItems earlier(item, probe, world, attendance, past);
  CaseInput input{item, probe, world, places, attendance, past == nullptr ? nullptr : &earlier};
  result.findings = record.findings;
  append(result.findings, attendance.findings);
  append(result.findings, kept.findings);
  append(result.notes, attendance.notes);
  append_judgement(input, result);
  input.is_troubled = std::any_of(result.findings.begin(), result.findings.end(), is_trouble);
  judge_link_errors(input, result);

  Readings readings(item, probe, attendance, places, like);
  const Expected expected = does_not_apply(result, readings) ? Expected{} : judge_expectations(input, readings);
  const std::size_t judged = result.findings.size();
  append(result.findings, expected.findings);
  set_subject(result.findings, judged, probe.subject);
  append(result.evidence, expected.evidence);
  note_timing(input, !readings.groups().empty(), result);
  for (const std::string& note : expected.notes)
    if (!is_in(note, result.notes)) result.notes.push_back(note);
  result.items = items_of(readings, expected, places);
  result.metrics = metric_rows(readings, expected);
  result.node_rows = node_rows(readings, places);
  result.rank_rows = rank_rows(input);

  // Evidence of ranks that did report never outweighs those that did not.
  apply_verdict_rules(result, why_nothing(input, expected));
  if (std::string note = note_without_bound(item); result.verdict == Verdict::pass && !note.empty())
    result.notes.push_back(std::move(note));
  judge_nodes(result.node_rows, input, expected, result);
  keep_outputs(input, result);
  result.seconds = record.seconds;
  result.repetitions = {{record.repetition, result.verdict, result.reason, record.seconds, record.launch}};
  return result;
}

}  // namespace muster
