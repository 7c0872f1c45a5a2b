#include "evaluate/attendance.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// So many different errors of ranks get a finding each; the rest share one.
constexpr std::size_t most_errors = 16;

constexpr const char* our_fault =
    "run it again; if it happens again, it is a fault of muster: report it with the run folder";

/// Fills `observed` and reports invalid observations.
void sort_in(const CaseRecord& record, const RankMap& places, Attendance& attendance, std::vector<char>& twice) {
  std::vector<int> strangers;
  for (const Observation& one : record.observations) {
    if (!places.has(one.rank)) {
      strangers.push_back(one.rank);
      continue;
    }
    const auto at = static_cast<std::size_t>(one.rank);
    if (attendance.observed[at] != nullptr) twice[at] = 1;
    attendance.observed[at] = &one;
  }
  std::sort(strangers.begin(), strangers.end());
  if (!strangers.empty())
    attendance.findings.push_back(places.finding(
        Verdict::error, strangers, fmt::format("reported, but the launch has {} ranks", places.ranks()), our_fault));
  std::vector<int> repeated;
  for (std::size_t rank = 0; rank < twice.size(); ++rank) {
    if (twice[rank] == 0) continue;
    repeated.push_back(static_cast<int>(rank));
    attendance.observed[rank] = nullptr;
  }
  if (!repeated.empty())
    attendance.findings.push_back(places.finding(Verdict::error, repeated, "reported more than once", our_fault));
}

/// What ranks in `state` have in common.
struct Trouble {
  ObservationState state;
  Verdict verdict;
  std::string_view did;
  const char* remedy;
};

constexpr Trouble unable{ObservationState::unable, Verdict::error, "could not process the request",
                         "use an agent and a muster that were built together: build both again, or see --agent"};
constexpr Trouble not_prepared{ObservationState::not_prepared, Verdict::fail, "could not prepare",
                               "free what the error names on that node, or take the node out"};
constexpr Trouble failed{ObservationState::failed, Verdict::fail, "failed",
                         "look at the error and at what the rank printed"};

bool is_kept_from_running(const Observation* one) {
  return one != nullptr && (one->state == unable.state || one->state == not_prepared.state);
}

bool is_through_a_peer(const Observation& one) {
  return one.fact("peer_failed") != nullptr;
}

/// A rank that failed because of another one is omitted where that one is reported.
bool is_reported_by_another(const Observation& one, const Attendance& attendance) {
  if (!is_through_a_peer(one)) return false;
  return std::any_of(attendance.observed.begin(), attendance.observed.end(), [](const Observation* other) {
    return other != nullptr && other->state == ObservationState::failed && !is_through_a_peer(*other);
  });
}

/// One finding per error text over the ranks in that trouble.
void by_error(const Trouble& trouble, const RankMap& places, Attendance& attendance) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t rank = 0; rank < attendance.observed.size(); ++rank) {
    const Observation* one = attendance.observed[rank];
    if (one == nullptr || one->state != trouble.state || is_refusal(*one)) continue;
    if (is_reported_by_another(*one, attendance)) continue;
    std::string error = one->error.empty() ? "no reason was given" : printable_line(one->error);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == error; });
    if (group == groups.end() && groups.size() > most_errors) group = groups.end() - 1;
    if (group == groups.end()) group = groups.insert(groups.end(), {std::move(error), {}});
    group->second.push_back(static_cast<int>(rank));
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool is_mixed = i == most_errors && groups[i].second.size() > 1;
    const auto what = fmt::format("{}: {}{}", trouble.did, groups[i].first, is_mixed ? ", or for other reasons" : "");
    attendance.findings.push_back(places.finding(trouble.verdict, groups[i].second, what, trouble.remedy));
  }
}

/// What was asked is at fault, not who was: one finding per parameter, in the words of the first rank.
void refusals(Attendance& attendance) {
  std::vector<std::string> settings;
  for (const Observation* one : attendance.observed) {
    if (one == nullptr || !is_refusal(*one)) continue;
    std::string setting = printable_line(*one->fact("refused"), 60);
    if (is_in(setting, settings)) continue;
    attendance.findings.push_back(
        {Verdict::error,
         "the request is impossible: " + printable_line(one->error),
         {{CulpritKind::setting, setting, "", -1}},
         fmt::format("write another {0} into the check file, or give it with -S CHECK.{0}=VALUE", setting)});
    settings.push_back(std::move(setting));
  }
}

/// Ranks without an observation, and ranks that did not run for no reason that anyone gave.
void silences(const RankMap& places, const std::vector<char>& twice, Attendance& attendance) {
  std::vector<int> silent;
  std::vector<int> idle;
  bool is_explained = false;
  for (std::size_t rank = 0; rank < attendance.observed.size(); ++rank) {
    const Observation* one = attendance.observed[rank];
    if (one == nullptr && twice[rank] == 0) silent.push_back(static_cast<int>(rank));
    if (one != nullptr && one->state == ObservationState::not_run) idle.push_back(static_cast<int>(rank));
    is_explained = is_explained || is_kept_from_running(one);
  }
  if (!silent.empty())
    attendance.findings.push_back(places.finding(Verdict::unmeasured, silent, "reported nothing",
                                                 "look at the launch's stderr in the run folder and run it again"));
  else if (!idle.empty() && !is_explained)
    attendance.findings.push_back(
        places.finding(Verdict::unmeasured, idle, "did not run, and no rank reported why", our_fault));
}

}  // namespace

bool is_refusal(const Observation& one) {
  return one.state == ObservationState::unable && one.fact("refused") != nullptr;
}

bool has_no_reading(const Observation& one, std::string_view metric) {
  return std::any_of(one.facts.begin(), one.facts.end(), [&](const Fact& fact) {
    return fact.key == "no_reading" && (fact.value == "*" || fact.value == metric);
  });
}

Attendance attend(const CaseRecord& record, const RankMap& places) {
  Attendance attendance;
  attendance.observed.resize(static_cast<std::size_t>(places.ranks()), nullptr);
  std::vector<char> twice(attendance.observed.size(), 0);
  sort_in(record, places, attendance, twice);
  by_error(unable, places, attendance);
  refusals(attendance);
  by_error(not_prepared, places, attendance);
  by_error(failed, places, attendance);
  for (std::size_t rank = 0; rank < attendance.observed.size(); ++rank)
    attendance.measured += attendance.has_measured(rank) ? 1 : 0;
  if (std::any_of(attendance.observed.begin(), attendance.observed.end(), is_kept_from_running))
    attendance.notes.emplace_back(attendance.measured == 0
                                      ? "the probe ran on no rank, because not every rank could prepare"
                                      : "the probe ran only on nodes where every rank could prepare");
  // A hang or a lost node ends the launch, and with it ranks that had nothing to do with it: the frame's finding is
  // the cause, their silence the consequence.
  const bool frame_explains = std::any_of(record.findings.begin(), record.findings.end(), [](const Finding& finding) {
    return finding.verdict != Verdict::pass && finding.verdict != Verdict::skip;
  });
  if (!frame_explains) silences(places, twice, attendance);
  return attendance;
}

}  // namespace muster
