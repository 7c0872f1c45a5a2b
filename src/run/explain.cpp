// Who was where: pure. Each cause is a function that finds it or not; the first that does explains the wreck.
#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <span>

#include "base/text.hpp"
#include "run/autopsy.hpp"
#include "run/rank_progress.hpp"
#include "run/wreck_words.hpp"

namespace muster {

namespace {

using Explained = std::optional<Finding>;

// A process in state D may just be reading a file; one whose last entry is this old hangs there.
constexpr double stuck_s = 1;
// Ranks that made an entry this recently were at work when they were looked at.
constexpr double fresh_s = 1;

struct Scene {
  const Wreck& wreck;
  SeenRanks ranks;  ///< all that left a record on a node that answered
  std::vector<const NodeAutopsy*> silent_nodes;

  template <class Claim>
  [[nodiscard]] SeenRanks those(Claim claim) const {
    SeenRanks found;
    std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(found), claim);
    return found;
  }
  [[nodiscard]] SeenRanks alive() const {
    return those([](const SeenRank& rank) { return rank.is_alive(); });
  }
  /// Ranks that live and are none of `culprits`.
  [[nodiscard]] std::size_t waiting(const SeenRanks& culprits) const {
    const SeenRanks living = alive();
    return static_cast<std::size_t>(std::count_if(living.begin(), living.end(), [&](const SeenRank& rank) {
      return std::none_of(culprits.begin(), culprits.end(), [&](const SeenRank& culprit) {
        return culprit.record().pid == rank.record().pid && culprit.node == rank.node;
      });
    }));
  }
};

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

bool is_told_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

// Death --------------------------------------------------------------------------------------------------------

std::string signal_remedy(int signal, const std::string& node) {
  switch (signal) {
    case SIGKILL:
      return "look for the out-of-memory killer in the kernel log of " + node + " (dmesg)";
    case SIGBUS:
      return "check memory and disks of " + node + " for errors, and whether /dev/shm is full there";
    case SIGILL:
      return "the program uses instructions that the CPU of " + node + " lacks: build it for that CPU";
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return "see who ended it: the scheduler (time or memory limit) or someone on " + node;
    case SIGXCPU:
      return "raise the limit on CPU time (ulimit -t) on " + node;
    default:
      return "look at the output of the rank and for a core file on " + node;
  }
}

// What became of those that died after `first`, or wait for it.
std::string others_words(const Scene& scene, const SeenRanks& first) {
  const std::size_t waiting = scene.waiting(first);
  if (waiting > 0) return waiting_words(waiting, first.size());
  const auto ended =
      scene.those([](const SeenRank& rank) { return !rank.is_alive() && is_told_to_end(rank.record().signal); });
  if (ended.empty() || ended.size() == scene.ranks.size()) return "";
  return fmt::format("; {} {} ended after it", counted(ended.size(), "rank"), ended.size() == 1 ? "was" : "were");
}

Finding killed(const Scene& scene, const SeenRanks& who, const std::string& name, int signal) {
  const FlightRecord* record = who.empty() ? nullptr : &who.front().record();
  const std::string node = who.empty() ? scene.wreck.notice.node : who.front().node;
  return {Verdict::fail,
          fmt::format("{} was killed by {} {}{}", name, signal_words(signal), death_place(scene.wreck, record),
                      others_words(scene, who)),
          rank_culprits(who), signal_remedy(signal, node.empty() ? "its node" : node)};
}

// The rank that the launcher names, with its record where there is one.
SeenRanks named_by_launcher(const Scene& scene) {
  const LauncherNotice& notice = scene.wreck.notice;
  if (notice.rank) {
    auto who = scene.those([&](const SeenRank& rank) { return rank.record().rank == *notice.rank; });
    if (!who.empty()) return {who.front()};
    return {};
  }
  auto who = scene.those([&](const SeenRank& rank) {
    const bool is_there = notice.node.empty() || rank.node == notice.node;
    return is_there && !rank.is_alive() && (rank.record().signal == 0 || rank.record().signal == notice.signal);
  });
  return who.size() == 1 ? who : SeenRanks{};
}

Explained killed_says_launcher(const Scene& scene) {
  const LauncherNotice& notice = scene.wreck.notice;
  if (!notice.signal) return std::nullopt;
  // Told to end: someone else's death, that a recorder tells of, may be why.
  const bool is_second =
      is_told_to_end(*notice.signal) && std::any_of(scene.ranks.begin(), scene.ranks.end(), [](const SeenRank& rank) {
        return !rank.is_alive() && !is_told_to_end(rank.record().signal) && rank.record().rank != -1;
      });
  if (is_second) return std::nullopt;
  const SeenRanks who = named_by_launcher(scene);
  if (!who.empty()) return killed(scene, who, rank_words(who.front()), *notice.signal);
  if (!notice.rank) return std::nullopt;
  std::string name = fmt::format("rank {}", *notice.rank);
  Culprit culprit{CulpritKind::rank, name, notice.node, *notice.rank};
  if (!notice.node.empty()) name += " on " + notice.node;
  Finding finding = killed(scene, {}, name, *notice.signal);
  finding.culprits = {std::move(culprit)};
  return finding;
}

Explained killed_says_recorder(const Scene& scene) {
  auto stamped = scene.those([](const SeenRank& rank) {
    const int signal = rank.record().signal;
    // A program may live through a QUIT that it handles; not through a crash.
    return signal != 0 && !is_told_to_end(signal) && (signal != SIGQUIT || !rank.is_alive());
  });
  if (stamped.empty()) return std::nullopt;
  // Clocks of nodes differ: what compares is how long ago it was when each node looked.
  const auto first = std::max_element(stamped.begin(), stamped.end(), [](const SeenRank& a, const SeenRank& b) {
    return a.signal_age_s < b.signal_age_s;
  });
  return killed(scene, {*first}, rank_words(*first), first->record().signal);
}

Explained exited_says_launcher(const Scene& scene) {
  const LauncherNotice& notice = scene.wreck.notice;
  if (!notice.exit_status || !notice.rank) return std::nullopt;
  const SeenRanks who = named_by_launcher(scene);
  const std::string node = who.empty() ? notice.node : who.front().node;
  std::string name = fmt::format("rank {}", *notice.rank);
  const Culprit culprit{CulpritKind::rank, name, node, *notice.rank};
  if (!node.empty()) name += " on " + node;
  const FlightRecord* record = who.empty() ? nullptr : &who.front().record();
  return Finding{Verdict::fail,
                 fmt::format("{} exited with status {} {}{}", name, *notice.exit_status,
                             death_place(scene.wreck, record), others_words(scene, who)),
                 {culprit},
                 "look at what the rank wrote to its standard error before it ended"};
}

Explained ended_silently(const Scene& scene) {
  const auto who = scene.those([](const SeenRank& rank) { return !rank.is_alive() && rank.record().signal == 0; });
  if (who.empty()) return std::nullopt;
  const bool is_everybody = who.size() > 1 && who.size() == scene.ranks.size();
  const std::string subject = is_everybody ? fmt::format("all {}", counted(who.size(), "rank")) : names(who);
  return Finding{
      Verdict::fail,
      fmt::format("{} ended without a word {}{}", subject, death_place(scene.wreck, &who.front().record()),
                  others_words(scene, who)),
      rank_culprits(who),
      fmt::format("look at the output of the rank and, for a kill, in the kernel log of {} (dmesg)", nodes_of(who))};
}

Explained told_to_end(const Scene& scene) {
  const auto who = scene.those([](const SeenRank& rank) { return !rank.is_alive(); });
  if (who.empty() || scene.wreck.cause != Wreck::Cause::launch_ended) return std::nullopt;
  if (!scene.wreck.notice.sentence.empty()) return std::nullopt;  // the launcher knows better
  return Finding{
      Verdict::fail,
      fmt::format("{} told to end by {} {}",
                  who.size() == 1 ? rank_words(who.front()) + " was" : "all " + counted(who.size(), "rank") + " were",
                  signal_words(who.front().record().signal), death_place(scene.wreck, &who.front().record())),
      {},
      "see who ended the launch: the scheduler (time or memory limit), an operator, or the launcher itself"};
}

// Standstill -----------------------------------------------------------------------------------------------------

Explained stopped(const Scene& scene) {
  const auto who = scene.those([](const SeenRank& rank) { return rank.remains.state == ProcessState::stopped; });
  if (who.empty()) return std::nullopt;
  std::string pids;
  for (const SeenRank& rank : who)
    if (rank.node == who.front().node) pids += fmt::format(" {}", rank.record().pid);
  return Finding{Verdict::fail,
                 fmt::format("{} {} stopped{}{}", names(who), is_or_are(who), common_place(who),
                             waiting_words(scene.waiting(who), who.size())),
                 rank_culprits(who),
                 fmt::format("see what stopped {}: \"kill -CONT{}\" on {} resumes {}; a debugger or job suspension "
                             "leaves ranks like this",
                             who.size() == 1 ? "it" : "them", pids, who.front().node,
                             who.size() == 1 ? "it" : "those of that node")};
}

Explained uninterruptible(const Scene& scene) {
  const auto who = scene.those([](const SeenRank& rank) {
    return rank.remains.state == ProcessState::uninterruptible && rank.idle_s >= stuck_s;
  });
  if (who.empty()) return std::nullopt;
  const std::string& known = who.front().remains.kernel_function;
  const std::string function = known.empty() ? "a function it does not tell" : known;
  return Finding{Verdict::fail,
                 fmt::format("{} {} stuck in the kernel ({}){}{}", names(who), is_or_are(who), function,
                             common_place(who), waiting_words(scene.waiting(who), who.size())),
                 rank_culprits(who),
                 fmt::format("the process waits in the kernel in {}: check the file system or driver of {}; only a "
                             "reboot clears it",
                             function, nodes_of(who))};
}

Explained unreachable(const Scene& scene) {
  if (scene.silent_nodes.empty()) return std::nullopt;
  Finding finding;
  std::vector<std::string> words;
  const bool is_one = scene.silent_nodes.size() == 1;
  for (const NodeAutopsy* node : scene.silent_nodes) {
    words.push_back(node->error.empty() ? node->node : fmt::format("{} ({})", node->node, printable_line(node->error)));
    finding.culprits.push_back({CulpritKind::node, node->node, node->node, -1});
  }
  if (is_one) words.front() = scene.silent_nodes.front()->node;
  finding.reason = human_list(words) + (is_one ? " does not answer" : " do not answer");
  if (is_one && !scene.silent_nodes.front()->error.empty())
    finding.reason += fmt::format(" ({})", printable_line(scene.silent_nodes.front()->error));
  if (const std::size_t waiting = scene.alive().size(); waiting > 0)
    finding.reason += fmt::format("; {} {}", counted(waiting, "rank"), waiting == 1 ? "waits" : "wait");
  finding.remedy = is_one ? "check the node's network and power; it is left out of the rest of the run"
                          : "check the nodes' network and power; they are left out of the rest of the run";
  return finding;
}

// Progress -------------------------------------------------------------------------------------------------------

// `ranks 4 and 5`, as far as it can be known which are missing.
std::string missing_words(const Scene& scene) {
  std::set<int> started;
  for (const SeenRank& rank : scene.ranks) started.insert(rank.record().rank);
  const auto expected = static_cast<std::size_t>(scene.wreck.ranks_expected);
  if (started.count(-1) != 0 || started.empty())
    return fmt::format("{} of {} never started", expected - scene.ranks.size(), counted(expected, "rank"));
  std::vector<std::string> missing;
  for (int rank = 0; rank < scene.wreck.ranks_expected; ++rank)
    if (started.count(rank) == 0) missing.push_back(std::to_string(rank));
  return fmt::format("rank{} {} never started", missing.size() == 1 ? "" : "s", human_list(missing));
}

Explained not_started(const Scene& scene) {
  const auto expected = static_cast<std::size_t>(std::max(scene.wreck.ranks_expected, 0));
  if (scene.wreck.stage != "start-up" || scene.ranks.size() >= expected) return std::nullopt;
  if (!scene.wreck.notice.sentence.empty()) return std::nullopt;  // the launcher knows better
  Finding finding;
  std::vector<std::string> empty;
  for (const NodeAutopsy& node : scene.wreck.nodes)
    if (node.answered && node.ranks.empty()) empty.push_back(node.node);
  finding.reason =
      scene.ranks.empty() ? fmt::format("none of {} started", counted(expected, "rank")) : missing_words(scene);
  if (scene.wreck.launcher_status >= 0)
    finding.reason += fmt::format("; the launcher ended with status {}", scene.wreck.launcher_status);
  if (scene.ranks.empty() || empty.empty()) {
    finding.culprits.push_back({CulpritKind::launcher, "launcher", "", -1});
    finding.remedy = "run the launcher by hand with \"hostname\" as the program: it has to print every node";
  } else {
    finding.reason += ": no rank is on " + human_list(empty);
    for (const std::string& node : empty) finding.culprits.push_back({CulpritKind::node, node, node, -1});
    finding.remedy = fmt::format("check that the launcher reaches {} and that muster-rank is there", human_list(empty));
  }
  finding.reason += waiting_words(scene.alive().size(), 2);
  return finding;
}

Explained behind(const Scene& scene) {
  const SeenRanks living = scene.alive();
  const Standing standing = who_stands_out(living);
  if (standing.who.empty()) return std::nullopt;
  const SeenRanks& who = standing.who;
  const std::string place = common_place(who);
  double idle = who.front().idle_s;
  for (const SeenRank& rank : who) idle = std::min(idle, rank.idle_s);
  const std::string since = fmt::format("{} since {}", place, seconds_words(idle));
  const std::size_t waiting = scene.waiting(who);
  if (standing.how == Standing::How::ahead)
    return Finding{Verdict::fail,
                   fmt::format("{} {} out of step:{}; {} {} further back{}", names(who), is_or_are(who), since,
                               counted(waiting, "rank"), waiting == 1 ? "is" : "are", common_place(standing.others)),
                   rank_culprits(who), "a rank left a collective step before the others: look at its output"};
  return Finding{
      Verdict::fail,
      fmt::format("{} {} behind:{}{}", names(who), is_or_are(who), since, waiting_words(waiting, who.size())),
      rank_culprits(who),
      fmt::format("look at what {} did on {} at that time: load, file system, device, network of the node",
                  who.size() == 1 ? "the rank" : "the ranks", nodes_of(who))};
}

Explained unfinished(const Scene& scene) {
  const SeenRanks living = scene.alive();
  const auto expected = static_cast<std::size_t>(std::max(scene.wreck.ranks_expected, 0));
  if (scene.wreck.stage != "finish" || living.empty() || scene.ranks.size() >= expected) return std::nullopt;
  return Finding{
      Verdict::fail,
      fmt::format("{} {} not finished:{}; {} ended as they should", names(living), living.size() == 1 ? "has" : "have",
                  common_place(living), counted(expected - scene.ranks.size(), "rank")),
      rank_culprits(living),
      fmt::format("look at what keeps MPI_Finalize on {}: the network of the node, or a library's clean-up",
                  nodes_of(living))};
}

Finding nobody_stands_out(const Scene& scene) {
  const SeenRanks living = scene.alive();
  const std::string subject = living.size() == 1 ? "the only rank is" : fmt::format("all {} ranks are", living.size());
  double idle = living.front().idle_s;
  for (const SeenRank& rank : living) idle = std::min(idle, rank.idle_s);
  std::string place = common_place(living);
  const std::string& step = living.front().record().step;
  if (!step.empty() && place == " in " + step) place = " in step " + step;
  if (place.empty()) place = " at different places";
  if (idle < fresh_s)
    return {Verdict::fail,
            fmt::format("{} still at work{} when the deadline of {} passed: no rank stands out", subject, place,
                        seconds_words(scene.wreck.deadline_s)),
            {},
            "give the check a longer timeout or less to do; if it used to be faster, look for load on the nodes"};
  return {Verdict::fail,
          fmt::format("{}{} since {}: no rank stands out", subject, place, seconds_words(idle)),
          {},
          "a message got lost between them: check the network and the transport that MPI chose, and run the case on "
          "fewer nodes to find the pair"};
}

Finding no_rank_left(const Scene& scene) {
  const Wreck& wreck = scene.wreck;
  Finding finding;
  finding.culprits.push_back({CulpritKind::launcher, "launcher", "", -1});
  finding.remedy =
      wreck.notice.remedy.empty() ? "look at what the launcher wrote to its standard error" : wreck.notice.remedy;
  if (!wreck.notice.sentence.empty())
    finding.reason = wreck.notice.sentence;
  else if (wreck.launcher_status >= 0)
    finding.reason = fmt::format("the launcher ended with status {} {}, and no rank left a record",
                                 wreck.launcher_status, death_place(wreck, nullptr));
  else
    finding.reason = fmt::format("no rank is left {}, and the launcher did not end within {}",
                                 death_place(wreck, nullptr), seconds_words(wreck.deadline_s));
  return finding;
}

}  // namespace

Finding explain(const Wreck& wreck) {
  const Scene scene = survey(wreck);
  using Cause = Explained (*)(const Scene&);
  // A rank that ended by itself may have done so because a node was lost; one that a signal killed has not.
  static constexpr Cause with_all_nodes[] = {
      killed_says_launcher, killed_says_recorder, exited_says_launcher, ended_silently, stopped,
      uninterruptible,      told_to_end,          not_started,          unfinished,     behind};
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
