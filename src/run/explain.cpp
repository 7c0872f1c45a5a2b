// Positions of ranks: pure. Each cause is a function that finds it or not; the first that does explains the failure.
#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "base/text.hpp"
#include "run/scene.hpp"

namespace muster {

namespace {

/// Each node by itself: who only hands over what it saw is neither ahead nor kept by the others.
bool is_done(const Wreck& wreck, const RankRemains& rank) {
  return wreck.is_per_node && wreck.stage == "case" && rank.state == ProcessState::running &&
         rank.record.phase == Phase::gathering;
}

}  // namespace

Scene survey(const Wreck& wreck) {
  Scene scene{wreck, {}, {}, 0};
  for (const NodeAutopsy& node : wreck.nodes) {
    if (!node.answered) scene.silent_nodes.push_back(&node);
    for (const RankRemains& rank : node.ranks) {
      if (!node.answered) continue;
      if (is_done(wreck, rank))
        ++scene.done;
      else
        scene.ranks.push_back({node.node, node.now_s - rank.record.changed_s, node.now_s - rank.record.signal_s,
                               node.now_s - rank.record.call_s, rank});
    }
  }
  std::stable_sort(scene.ranks.begin(), scene.ranks.end(),
                   [](const SeenRank& a, const SeenRank& b) { return a.record().rank < b.record().rank; });
  return scene;
}

namespace {

Finding no_rank_left(const Scene& scene) {
  const Wreck& wreck = scene.wreck;
  Finding finding;
  finding.culprits.push_back({CulpritKind::launcher, "launcher", "", -1});
  finding.remedy =
      wreck.notice.remedy.empty() ? "look at what the launcher wrote to its standard error" : wreck.notice.remedy;
  if (!wreck.notice.sentence.empty()) {
    finding.reason = wreck.notice.sentence;
  } else if (wreck.launcher_status == 0) {
    finding.reason =
        fmt::format("the launcher ended with status 0 {} without starting muster-rank", death_place(wreck, nullptr));
    finding.remedy =
        "see what --agent and MUSTER_AGENT name, and whether an option given with -J makes the launcher do something "
        "else";
  } else if (wreck.launcher_status > 0) {
    finding.reason = fmt::format("the launcher ended with status {} {}, and no rank left a record",
                                 wreck.launcher_status, death_place(wreck, nullptr));
  } else {
    finding.reason = fmt::format("no rank is left {}, and the launcher did not end within {}",
                                 death_place(wreck, nullptr), seconds_words(wreck.deadline_s));
  }
  return finding;
}

/// The scheduler took the nodes away from all ranks: what they left behind is a consequence.
Explained ended_by_scheduler(const Scene& scene) {
  const LauncherNotice& notice = scene.wreck.notice;
  if (!notice.is_first_cause || notice.sentence.empty()) return std::nullopt;
  Finding finding;
  finding.reason = fmt::format("{} ({})", notice.sentence, death_place(scene.wreck, nullptr));
  finding.remedy = notice.remedy;
  if (notice.node.empty())
    finding.verdict = Verdict::unmeasured;
  else
    finding.culprits.push_back({CulpritKind::node, notice.node, notice.node, -1});
  finding.subject = Subject::node;
  return finding;
}

}  // namespace

namespace {

Finding find_cause(const Scene& scene) {
  const Wreck& wreck = scene.wreck;
  if (Explained finding = ended_by_scheduler(scene)) return *finding;
  using Cause = Explained (*)(const Scene&);
  // A rank that ended by itself may have done so because a node was lost; one that a signal killed has not.
  static constexpr Cause with_all_nodes[] = {killed_says_launcher,
                                             killed_says_recorder,
                                             exited_says_launcher,
                                             ended_silently,
                                             stopped,
                                             uninterruptible,
                                             told_to_end,
                                             gave_up,
                                             program_still_runs,
                                             launcher_stopped_outside_of_cases,
                                             not_started,
                                             not_connected,
                                             unfinished,
                                             out_of_time,
                                             behind,
                                             launcher_stopped};
  static constexpr Cause with_lost_nodes[] = {killed_says_launcher, killed_says_recorder, stopped, uninterruptible,
                                              unreachable};
  const std::span<const Cause> causes =
      scene.silent_nodes.empty() ? std::span<const Cause>(with_all_nodes) : std::span<const Cause>(with_lost_nodes);
  for (const Cause cause : causes)
    if (Explained finding = cause(scene)) return *finding;
  if (!wreck.notice.sentence.empty() || scene.alive().empty()) return no_rank_left(scene);
  return nobody_stands_out(scene);
}

/// Where each node is by itself, those that are not through are the ones that it is about.
void name_nodes(const Scene& scene, Finding& finding) {
  const auto has_node = [](const Culprit& culprit) {
    return !culprit.node.empty() && culprit.kind != CulpritKind::launcher;
  };
  if (std::any_of(finding.culprits.begin(), finding.culprits.end(), has_node)) return;
  std::vector<std::string> nodes;
  for (const SeenRank& rank : scene.alive())
    if (std::find(nodes.begin(), nodes.end(), rank.node) == nodes.end()) nodes.push_back(rank.node);
  for (const auto& node : nodes) finding.culprits.push_back({CulpritKind::node, node, node, -1});
  const bool is_told = std::any_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
    return finding.reason.find(node) != std::string::npos;
  });
  if (!nodes.empty() && !is_told) finding.reason = fmt::format("on {}: {}", human_list(nodes, 6), finding.reason);
}

}  // namespace

Finding explain(const Wreck& wreck) {
  const Scene scene = survey(wreck);
  Finding finding = find_cause(scene);
  if (wreck.is_per_node && wreck.stage == "case") name_nodes(scene, finding);
  return finding;
}

}  // namespace muster
