#include "probes/command/judge.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "probes/command/exit_status.hpp"
#include "probes/command/missing_program.hpp"
#include "probes/command/rank_agreement.hpp"
#include "probes/command/result_lines.hpp"

namespace muster::program {

namespace {

constexpr std::size_t most_evidence = 20;

/// The findings that programs printed; index = rank.
std::vector<std::vector<ProgramFinding>> read_findings(const CaseView& view) {
  std::vector<ProgramFinding> all;
  std::vector<std::size_t> tellers;
  std::set<int> nodes;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr || !was_started(*seen)) continue;
    nodes.insert(view.ranks[rank].node_index);
    for (const Fact& fact : seen->facts) {
      if (fact.key != "finding") continue;
      all.push_back(to_program_finding(fact.value, view.ranks[rank], view.ranks));
      tellers.push_back(rank);
    }
  }
  spare_nodes(all, tellers, view.ranks, nodes.size(), program_name(view.params));
  std::vector<std::vector<ProgramFinding>> of_rank(view.ranks.size());
  for (std::size_t i = 0; i < all.size(); ++i) of_rank[tellers[i]].push_back(std::move(all[i]));
  return of_rank;
}

/// True when the program reported a failure: then its exit status adds nothing.
bool take_reported(std::vector<ProgramFinding> of_rank, Findings& findings) {
  bool has_failed = false;
  for (ProgramFinding& reported : of_rank) {
    has_failed = has_failed || reported.finding.verdict == Verdict::fail;
    const std::string key = reported.finding.reason;
    findings.add(reported.is_consequence ? Order::reported_consequence : Order::reported, key,
                 std::move(reported.finding), false);
  }
  return has_failed;
}

/// What programs printed, or should have written, that can't be read: the program's fault where all do it.
void take_unreadable(const CaseView& view, Findings& findings) {
  constexpr std::array<std::array<const char*, 3>, 6> kinds{{
      {"bad_metric_line", "printed a metric that can't be read",
       R"(print one line {"metric":name,"value":number,"unit":"GB/s"} per metric)"},
      {"bad_finding_line", "printed a finding that can't be read",
       R"(print one line {"finding":{"reason":text,"remedy":text}} per finding)"},
      {"bad_evidence_line", "printed evidence that can't be read", R"(print one line {"evidence":text} per sentence)"},
      {"bad_same_line", "printed what should be the same everywhere, and it can't be read",
       R"(print one line {"same":{name:text}})"},
      {"bad_metric_value", "printed a value that can't be read",
       "let the group of the metric's pattern match the number alone"},
      {"unwritten", "has no values in a file", "correct the metric's file, or let the program write it in each run"},
  }};
  for (const auto& [key, name, remedy] : kinds) {
    const Blame blame =
        blame_for(view, [&, fact = key](const Observation& seen) { return seen.fact(fact) != nullptr; });
    for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
      const Observation* seen = view.measured(rank);
      if (seen == nullptr || !was_started(*seen)) continue;
      const std::string* line = seen->fact(key);
      if (line == nullptr) continue;
      const RankPlace& place = view.ranks[rank];
      findings.add(Order::unreadable, key,
                   {Verdict::unmeasured,
                    fmt::format("{} {}: {}", blame.subject(place), name, printable_line(*line)),
                    {blame.culprit(place)},
                    blame.is_of_rank_0() ? rank_0_remedy(view.ranks) : remedy},
                   false);
    }
  }
}

/// A program that reports its own failure may only follow from another's end.
bool is_explained(const Observation& seen) {
  return seen.fact("finding") != nullptr;
}

/// Where no rank could run it, the check is wrong, or does not apply if it is meant for some clusters alone; where only
/// some could, they differ, and that is a fault.
void take_absent(const CaseView& view, Findings& findings) {
  std::size_t measured = 0;
  std::size_t absent = 0;
  const bool is_named = !view.params.text("python").empty();
  for (const Observation* seen : view.observed) {
    measured += seen != nullptr && seen->state == ObservationState::measured ? 1 : 0;
    absent += seen != nullptr && seen->fact("absent") != nullptr ? 1 : 0;
  }
  const bool is_everywhere = absent == measured && !is_named;
  const Blame blame = blame_for(
      view, [](const Observation& seen) { return seen.fact("absent") != nullptr; }, Blame::Part::is_the_same);
  for (std::size_t rank = 0; rank < view.ranks.size() && rank < view.observed.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    const std::string* lack = seen == nullptr ? nullptr : seen->fact("absent");
    if (lack == nullptr) continue;
    const RankPlace& place = view.ranks[rank];
    Finding finding;
    const bool may_lack = is_everywhere && view.params.text("missing") == "skip";
    finding.verdict = may_lack ? Verdict::skip : blame.is_on_nodes() ? Verdict::fail : Verdict::error;
    finding.reason = is_everywhere ? printable_line(*lack)
                                   : fmt::format("{}: {}{}", place.host, printable_line(*lack),
                                                 is_named ? "" : ", though other nodes have one that does");
    finding.culprits = {{CulpritKind::program, is_named ? view.params.text("python") : "python3",
                         blame.is_on_nodes() ? place.host : "", -1}};
    finding.remedy = "name the right one with -S CHECK.python=/path/to/python, or load its module before muster";
    if (is_everywhere && !may_lack) finding.remedy = "correct the check's `imports`, " + finding.remedy;
    const std::string key = finding.reason;
    findings.add(Order::reported, key, std::move(finding), false);
  }
}

/// MASTER_ADDR as the job exports it, for programs that meet by it: they got muster's own, and a job would get this
/// one. It is right where it names a node of the job on which this run has no rank 0: a part of the nodes was chosen,
/// or its node was set aside.
void take_wrong_address(const CaseView& view, Findings& findings) {
  const std::vector<std::string> imports = view.params.texts("imports");
  if (view.ranks.empty() || !is_in("torch", imports)) return;
  const std::string& master = view.ranks.front().host;
  for (std::size_t rank = 0; rank < view.ranks.size() && rank < view.observed.size(); ++rank) {
    if (view.observed[rank] == nullptr) continue;
    if (const std::string* elsewhere = view.observed[rank]->fact("address_elsewhere"))
      findings.add(Order::reported, "address_elsewhere",
                   {Verdict::pass,
                    fmt::format("{}, seen from {}; rank 0 is on {} in this run", printable_line(*elsewhere, 300),
                                view.ranks[rank].host, master),
                    {},
                    {}},
                   false);
    const std::string* wrong = view.observed[rank]->fact("wrong_address");
    if (wrong == nullptr) continue;
    findings.add(
        Order::reported, "wrong_address",
        {Verdict::fail,
         fmt::format("{}, seen from {}; rank 0 is on {}", printable_line(*wrong, 300), view.ranks[rank].host, master),
         {{CulpritKind::setting, "MASTER_ADDR", "", -1}},
         fmt::format("export MASTER_ADDR={}, or unset it: muster gave these programs an address of its own, and "
                     "a job of yours would wait in vain",
                     master)},
        false);
  }
}

/// `each program had 56 CPUs`, `programs had 1 to 56 CPUs`; empty: unknown.
std::string cpus_of(const CaseView& view) {
  int least = 0;
  int most = 0;
  for (const Observation* seen : view.observed) {
    const auto cpus = seen == nullptr ? std::nullopt : number_fact(*seen, "cpus");
    if (!cpus) continue;
    least = least == 0 ? *cpus : std::min(least, *cpus);
    most = std::max(most, *cpus);
  }
  if (most == 0) return "";
  if (least != most) return fmt::format("programs had {} to {} CPUs", least, most);
  return fmt::format("each program had {}", counted(static_cast<std::size_t>(most), "CPU"));
}

/// Whose Python was tried: it need not be the one that the user has in mind.
std::string interpreters_of(const CaseView& view) {
  std::vector<std::string> all;
  for (const Observation* seen : view.observed) {
    const std::string* one = seen == nullptr ? nullptr : seen->fact("interpreter");
    if (one == nullptr) continue;
    std::string text = printable_line(*one, 300);
    if (!is_in(text, all)) all.push_back(std::move(text));
  }
  return all.empty() ? std::string() : "run by " + human_list(all, 4);
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  Findings findings;
  std::vector<std::string> reported;
  std::size_t right = 0;
  auto printed = read_findings(view);
  // A signal comes from the node, whatever the part of a rank; but not that of a deadline.
  const Observation* first = view.observed.empty() ? nullptr : view.observed[0];
  const bool has_crashed = first != nullptr && first->fact("signal") != nullptr && first->fact("deadline") == nullptr;
  const Blame ends = blame_for(
      view,
      [&](const Observation& seen) {
        return was_started(seen) && !is_explained(seen) && !find_fault(seen, view.params).empty();
      },
      has_crashed ? Blame::Part::is_the_same : Blame::Part::may_differ);
  const Blame unprinted = blame_for(view, [](const Observation& seen) { return seen.fact("unprinted") != nullptr; });
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr || !was_started(*seen)) continue;
    const RankPlace& place = view.ranks[rank];
    const bool has_reported_why = take_reported(std::move(printed[rank]), findings);
    take_end(ends, view, place, has_reported_why, findings);
    take_unprinted(unprinted, view, place, findings);
    right += find_fault(*seen, view.params).empty() ? 1 : 0;
    for (const Fact& fact : seen->facts)
      if (fact.key == "evidence" && !is_in(fact.value, reported)) reported.push_back(fact.value);
  }
  take_unreadable(view, findings);
  take_absent(view, findings);
  take_wrong_address(view, findings);
  for (Finding& finding : find_lacks(view)) {
    const std::string key = finding.reason;
    findings.add(Order::lack, key, std::move(finding), false);
  }
  for (Finding& finding : find_differences(view)) {
    const std::string key = finding.reason;
    findings.add(Order::reported, key, std::move(finding), false);
  }
  if (right > 0 && findings.is_empty()) {
    // The overview has room for one of them, and a pass implies that programs ended well.
    std::string cpus = cpus_of(view);
    if (reported.empty() && !cpus.empty()) judgement.evidence.push_back(std::exchange(cpus, ""));
    for (std::size_t i = 0; i < std::min(reported.size(), most_evidence); ++i)
      judgement.evidence.push_back(printable_line(reported[i]));
    judgement.evidence.push_back(fmt::format("{} of {} programs exited with {}", right, view.ranks.size(),
                                             view.params.integer("expect_status")));
    if (!cpus.empty()) judgement.evidence.push_back(std::move(cpus));
  }
  const std::string interpreters = interpreters_of(view);
  if (!interpreters.empty() && (findings.is_empty() ? right > 0 : findings.has_trouble()))
    judgement.evidence.push_back(interpreters);
  findings.deliver(judgement);
  return judgement;
}

}  // namespace muster::program
