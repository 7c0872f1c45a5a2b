// Positions of ranks: pure. Each cause is a function that finds it or not; the first that does explains the failure.
#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/failure_context.hpp"
#include "run/per_node.hpp"

namespace muster {

namespace {

/// Each node by itself: who only hands over what it saw is neither ahead nor kept by the others.
bool is_done(const LaunchFailure& failure, const RankRemains& rank) {
  return failure.is_per_node && failure.stage == "case" && rank.state == ProcessState::running &&
         rank.record.phase == Phase::gathering;
}

}  // namespace

FailureContext survey(const LaunchFailure& failure) {
  FailureContext context{failure, {}, {}, 0};
  for (const NodeAutopsy& node : failure.nodes) {
    if (!node.answered) context.silent_nodes.push_back(&node);
    for (const RankRemains& rank : node.ranks) {
      if (!node.answered) continue;
      if (is_done(failure, rank))
        ++context.done;
      else
        context.ranks.push_back({node.node, node.now_s - rank.record.changed_s, node.now_s - rank.record.signal_s,
                                 node.now_s - rank.record.call_s, rank});
    }
  }
  std::stable_sort(context.ranks.begin(), context.ranks.end(),
                   [](const SeenRank& a, const SeenRank& b) { return a.record().rank < b.record().rank; });
  return context;
}

namespace {

Finding no_rank_left(const FailureContext& context) {
  const LaunchFailure& failure = context.failure;
  Finding finding;
  finding.culprits.push_back({CulpritKind::launcher, "launcher", "", -1});
  finding.remedy =
      failure.notice.remedy.empty() ? "look at what the launcher wrote to its standard error" : failure.notice.remedy;
  if (!failure.notice.sentence.empty()) {
    finding.reason = failure.notice.sentence;
  } else if (failure.launcher_status == 0) {
    finding.reason =
        fmt::format("the launcher ended with status 0 {} without starting muster-rank", death_place(failure, nullptr));
    finding.remedy =
        "see what --agent and MUSTER_AGENT name, and whether an option given with -J makes the launcher do something "
        "else";
  } else if (failure.launcher_status > 0) {
    finding.reason = fmt::format("the launcher ended with status {} {}, and no rank left a record",
                                 failure.launcher_status, death_place(failure, nullptr));
  } else {
    finding.reason = fmt::format("no rank is left {}, and the launcher did not end within {}",
                                 death_place(failure, nullptr), seconds_words(failure.deadline_s));
  }
  return finding;
}

/// The scheduler took the nodes away from all ranks: what they left behind is a consequence, except a crash. Ranks
/// write where the launcher does: a node that the message counts as failed, and that answered afterwards or is none of
/// the launch, was named by one of them.
Explained ended_by_scheduler(const FailureContext& context) {
  const LauncherNotice& notice = context.failure.notice;
  if (!notice.is_first_cause || notice.sentence.empty()) return std::nullopt;
  const auto& nodes = context.failure.nodes;
  const auto is_named = [&](const NodeAutopsy& node) { return is_same_node(node.node, notice.node); };
  const auto named = std::find_if(nodes.begin(), nodes.end(), is_named);
  const bool is_lost = nodes.empty() || (named != nodes.end() && !named->answered);
  if (!notice.node.empty() && !is_lost) return std::nullopt;
  if (killed_by_recorder(context)) return std::nullopt;
  Finding finding;
  finding.reason = fmt::format("{} ({})", notice.sentence, death_place(context.failure, nullptr));
  finding.remedy = notice.remedy;
  if (notice.node.empty())
    finding.verdict = Verdict::unmeasured;
  else
    finding.culprits.push_back(node_culprit(notice.node));
  finding.subject = Subject::node;
  return finding;
}

}  // namespace

namespace {

Finding find_cause(const FailureContext& context) {
  const LaunchFailure& failure = context.failure;
  if (Explained finding = ended_by_scheduler(context)) return *finding;
  using Cause = Explained (*)(const FailureContext&);
  // A rank that ended by itself may have done so because a node was lost; one that a signal killed has not.
  static constexpr Cause with_all_nodes[] = {killed_by_launcher_report,
                                             killed_by_recorder,
                                             stopped,
                                             uninterruptible,
                                             cut_off,
                                             daemon_ended_before_its_ranks,
                                             failed_in_init,
                                             exited_by_launcher_report,
                                             daemon_lost,
                                             daemon_of_finished_ranks_lost,
                                             one_of_those_killed,
                                             ended_silently,
                                             killed_without_a_record,
                                             ended_by_signal,
                                             gave_up,
                                             program_still_runs,
                                             launcher_stopped_outside_of_cases,
                                             daemon_stopped_outside_of_cases,
                                             daemon_without_ranks_stopped,
                                             daemon_ended_outside_of_cases,
                                             loses_packets,
                                             not_started,
                                             not_connected,
                                             unfinished,
                                             out_of_time,
                                             behind,
                                             launcher_stopped,
                                             daemon_stopped};
  static constexpr Cause with_lost_nodes[] = {killed_by_launcher_report, killed_by_recorder, stopped, uninterruptible,
                                              unreachable};
  static constexpr Cause of_stopped_processes[] = {stopped, launcher_stopped, daemon_stopped,
                                                   daemon_without_ranks_stopped};
  const std::span<const Cause> causes = failure.is_given_up            ? std::span<const Cause>(of_stopped_processes)
                                        : context.silent_nodes.empty() ? std::span<const Cause>(with_all_nodes)
                                                                       : std::span<const Cause>(with_lost_nodes);
  for (const Cause cause : causes)
    if (Explained finding = cause(context)) return *finding;
  if (!failure.notice.sentence.empty() || context.alive().empty()) return no_rank_left(context);
  return no_rank_stands_out(context);
}

/// Where each node is by itself, those that are not through are the ones that it is about.
void name_nodes(const FailureContext& context, Finding& finding) {
  const auto has_node = [](const Culprit& culprit) {
    return !culprit.node.empty() && culprit.kind != CulpritKind::launcher;
  };
  if (std::any_of(finding.culprits.begin(), finding.culprits.end(), has_node)) return;
  std::vector<std::string> nodes;
  for (const SeenRank& rank : context.alive())
    if (!is_in(rank.node, nodes)) nodes.push_back(rank.node);
  for (const auto& node : nodes) finding.culprits.push_back(node_culprit(node));
  const bool is_reported = std::any_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
    return finding.reason.find(node) != std::string::npos;
  });
  if (!nodes.empty() && !is_reported) finding.reason = fmt::format("on {}: {}", human_list(nodes, 6), finding.reason);
}

}  // namespace

Finding explain(const LaunchFailure& failure) {
  const FailureContext context = survey(failure);
  Finding finding = find_cause(context);
  if (failure.is_per_node && failure.stage == "case") name_nodes(context, finding);
  return finding;
}

}  // namespace muster
