// Who was where: pure. Each cause is a function that finds it or not; the first that does explains the wreck.
#include <fmt/format.h>
#include <span>

#include "run/scene.hpp"

namespace muster {

Scene survey(const Wreck& wreck) {
  Scene scene{wreck, {}, {}};
  for (const NodeAutopsy& node : wreck.nodes) {
    if (!node.answered) scene.silent_nodes.push_back(&node);
    for (const RankRemains& rank : node.ranks)
      if (node.answered)
        scene.ranks.push_back({node.node, node.now_s - rank.record.changed_s, node.now_s - rank.record.signal_s, rank});
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
    finding.reason = fmt::format("the launcher ended with status 0 {}, and nothing that it started is muster's agent",
                                 death_place(wreck, nullptr));
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
  return finding;
}

}  // namespace

Finding explain(const Wreck& wreck) {
  const Scene scene = survey(wreck);
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
                                             launcher_stopped_outside_of_cases,
                                             not_started,
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

}  // namespace muster
