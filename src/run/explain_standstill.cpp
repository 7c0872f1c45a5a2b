// Processes that stand still, and nodes that do not answer.
#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/failure_context.hpp"
#include "run/name_lookup.hpp"

namespace muster {

namespace {

// A process in state D may just be reading a file; one whose last entry is this old hangs there.
constexpr double stuck_s = 1;

std::vector<std::string> names_not_resolved(const FailureContext& context) {
  std::vector<std::string> names;
  for (const NodeAutopsy* node : context.silent_nodes)
    if (is_unresolved(node->error)) names.push_back(node->node);
  return names;
}

}  // namespace

Explained stopped(const FailureContext& context) {
  const auto who = context.those([](const SeenRank& rank) { return is_stopped(rank.remains.state); });
  if (who.empty()) return std::nullopt;
  return Finding{
      Verdict::fail,
      fmt::format("{} {} stopped{}{}", names(who), is_or_are(who), common_place(who),
                  waiting_words(context.waiting(who), who.size())),
      rank_culprits(who),
      fmt::format("see what stopped {0} on {1}: a debugger, job suspension or someone's kill -STOP; muster ended {0}, "
                  "so that the other checks could run",
                  who.size() == 1 ? "it" : "them", nodes_of(who))};
}

Explained launcher_stopped_outside_of_cases(const FailureContext& context) {
  return context.failure.stage == "case" ? std::nullopt : launcher_stopped(context);
}

Explained launcher_stopped(const FailureContext& context) {
  const LaunchFailure& failure = context.failure;
  if (!is_stopped(failure.launcher_state)) return std::nullopt;
  const std::size_t waiting = context.alive().size();
  return Finding{
      Verdict::fail,
      fmt::format("the launcher {} (process {} on {}) is stopped{}", failure.launcher, failure.launcher_pid,
                  failure.launcher_node, waiting_words(waiting, 1)),
      {{CulpritKind::launcher, failure.launcher, failure.launcher_node, -1}},
      fmt::format("see what stopped it on {}: a debugger, job suspension or someone's kill -STOP; muster ended it, so "
                  "that the other checks could run",
                  failure.launcher_node)};
}

namespace {

/// The launcher runs there: it, too, may have started ranks, also where a script starts it.
bool is_beside_launcher(const FailureContext& context, const SeenRank& rank) {
  return is_on(context, rank, "localhost");
}

/// `state`: what their daemons, which started these ranks, are or have. No node is drained for a launcher.
Finding daemons(const FailureContext& context, const SeenRanks& theirs, const std::string& state) {
  Finding finding;
  std::vector<std::string> words;
  std::string who = "the launcher's daemon";
  for (const SeenRank& rank : theirs) {
    const bool is_beside = is_beside_launcher(context, rank);
    const Culprit culprit{CulpritKind::launcher, is_beside ? "launcher" : "daemon", rank.node, -1};
    if (is_in(culprit, finding.culprits)) continue;
    finding.culprits.push_back(culprit);
    words.push_back(fmt::format("{} (process {})", rank.node, rank.record().parent));
    if (is_beside) who = "the launcher or its daemon";
  }
  finding.reason = fmt::format("{}{} on {} {}{}", who, words.size() == 1 ? "" : "s", human_list(words), state,
                               waiting_words(context.alive().size(), words.size()));
  return finding;
}

std::string what_stopped_it(const std::string& nodes) {
  return fmt::format(
      "see what stopped it on {}: a debugger, job suspension or someone's kill -STOP; continue it by kill -CONT if it "
      "is still there",
      nodes);
}

bool is_several_nodes(const SeenRanks& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [&](const SeenRank& rank) { return rank.node != ranks.front().node; });
}

}  // namespace

Explained daemon_stopped_outside_of_cases(const FailureContext& context) {
  return context.failure.stage == "case" ? std::nullopt : daemon_stopped(context);
}

Explained daemon_stopped(const FailureContext& context) {
  const auto theirs = context.those([](const SeenRank& rank) { return is_stopped(rank.remains.parent_state); });
  if (theirs.empty()) return std::nullopt;
  Finding finding = daemons(context, theirs, is_several_nodes(theirs) ? "are stopped" : "is stopped");
  finding.remedy = what_stopped_it(nodes_of(theirs));
  return finding;
}

Explained daemon_without_ranks_stopped(const FailureContext& context) {
  if (context.failure.stage == "case") return std::nullopt;
  Finding finding;
  std::vector<std::string> words;
  std::vector<std::string> nodes;
  for (const NodeAutopsy& node : context.failure.nodes) {
    if (!node.ranks.empty() || node.stopped_daemon == 0) continue;
    nodes.push_back(node.node);
    words.push_back(fmt::format("{} (process {})", node.node, node.stopped_daemon));
    finding.culprits.push_back({CulpritKind::launcher, "daemon", node.node, -1});
  }
  if (nodes.empty()) return std::nullopt;
  finding.reason =
      fmt::format("the launcher's daemon{} on {} {} stopped; the ranks there had finished or never started",
                  nodes.size() == 1 ? "" : "s", human_list(words), nodes.size() == 1 ? "is" : "are");
  finding.remedy = what_stopped_it(human_list(nodes));
  return finding;
}

namespace {

std::string what_ended_it(const SeenRanks& theirs) {
  return fmt::format("see what ended it on {}: the kernel log (dmesg) for the out-of-memory killer, an operator",
                     nodes_of(theirs));
}

}  // namespace

Explained daemon_ended_outside_of_cases(const FailureContext& context) {
  // The end of the launcher is that of all daemons.
  const LaunchFailure& failure = context.failure;
  if (failure.stage == "case" || failure.launcher_status >= 0 || failure.launcher_state == ProcessState::gone)
    return std::nullopt;
  auto theirs = context.those([](const SeenRank& rank) {
    return rank.is_alive() && rank.record().parent != 0 &&
           (rank.remains.parent_state == ProcessState::gone || rank.remains.parent_state == ProcessState::zombie);
  });
  if (theirs.empty()) return std::nullopt;
  const auto is_beside = [&](const SeenRank& rank) { return is_beside_launcher(context, rank); };
  if (std::any_of(theirs.begin(), theirs.end(), is_beside)) std::erase_if(theirs, std::not_fn(is_beside));
  Finding finding = daemons(context, theirs, is_several_nodes(theirs) ? "have ended" : "has ended");
  finding.remedy = what_ended_it(theirs);
  return finding;
}

Explained daemon_ended_before_its_ranks(const FailureContext& context) {
  const auto theirs = context.those([](const SeenRank& rank) {
    const FlightRecord& record = rank.record();
    return record.orphaned_s > 0 && (record.signal == 0 || record.signal_s > record.orphaned_s);
  });
  if (theirs.empty() || is_several_nodes(theirs)) return std::nullopt;
  if (auto reported = daemon_lost(context)) return reported;
  Finding finding = daemons(context, theirs, "has ended before its ranks");
  finding.remedy = what_ended_it(theirs);
  return finding;
}

Explained uninterruptible(const FailureContext& context) {
  const auto who = context.those([](const SeenRank& rank) {
    return rank.remains.state == ProcessState::uninterruptible && rank.idle_s >= stuck_s;
  });
  if (who.empty()) return std::nullopt;
  const std::string& known = who.front().remains.kernel_function;
  const std::string function = known.empty() ? "an unknown function" : known;
  return Finding{Verdict::fail,
                 fmt::format("{} {} stuck in the kernel ({}){}{}", names(who), is_or_are(who), function,
                             common_place(who), waiting_words(context.waiting(who), who.size())),
                 rank_culprits(who),
                 fmt::format("the process waits in the kernel in {}: check the file system or driver of {}; only a "
                             "reboot clears it",
                             function, nodes_of(who))};
}

Explained loses_packets(const FailureContext& context) {
  return explain_losses(losses_of(context.failure.nodes));
}

Explained cut_off(const FailureContext& context) {
  const auto& lost = context.failure.cut_off;
  if (lost.empty()) return std::nullopt;
  Finding finding = explain_lost(lost);
  if (const std::size_t waiting = context.alive().size(); waiting > 0)
    finding.reason += fmt::format("; {} {}", counted(waiting, "rank"), waiting == 1 ? "waits" : "wait");
  return finding;
}

Explained unreachable(const FailureContext& context) {
  if (context.silent_nodes.empty()) return std::nullopt;
  if (const auto names = names_not_resolved(context); names.size() == context.silent_nodes.size())
    return unresolved(names);
  Finding finding;
  std::vector<std::string> words;
  const bool is_one = context.silent_nodes.size() == 1;
  for (const NodeAutopsy* node : context.silent_nodes) {
    words.push_back(node->error.empty() ? node->node : fmt::format("{} ({})", node->node, printable_line(node->error)));
    finding.culprits.push_back(node_culprit(node->node));
  }
  finding.subject = Subject::node;
  if (is_one) words.front() = context.silent_nodes.front()->node;
  finding.reason = human_list(words) + (is_one ? " does not answer" : " do not answer");
  if (is_one && !context.silent_nodes.front()->error.empty())
    finding.reason += fmt::format(" ({})", printable_line(context.silent_nodes.front()->error));
  if (const std::size_t waiting = context.alive().size(); waiting > 0)
    finding.reason += fmt::format("; {} {}", counted(waiting, "rank"), waiting == 1 ? "waits" : "wait");
  finding.remedy = is_one ? "check the node's network and power; it is left out of the rest of the run"
                          : "check the nodes' network and power; they are left out of the rest of the run";
  return finding;
}

}  // namespace muster
