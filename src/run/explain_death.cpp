// Ranks that died: of a signal, by themselves, or by request.
#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/failure_context.hpp"
#include "run/per_node.hpp"
#include "run/rank_progress.hpp"

namespace muster {

namespace {

bool is_asked_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

std::string signal_remedy(const LaunchFailure& failure, int signal, const std::string& node) {
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
      return fmt::format("look at {} and for a core file on {}", output_words(failure), node);
  }
}

/// Slurm's PMIx lets ranks out of MPI_Init while others are still in it, where it goes by its tree:
/// docs/proving-ground.md.
std::string early_fence_remedy(const FailureContext& context, const FlightRecord* record, int signal) {
  const bool is_starting = record == nullptr ? context.failure.stage == "start-up"
                                             : record->phase == Phase::starting || record->phase == Phase::connecting;
  if (signal != SIGSEGV || !is_starting || context.failure.launcher != "srun" || context.failure.ranks_expected < 2)
    return "";
  return "; where this comes and goes, with other ranks and nodes, it is Slurm's PMIx: try SLURM_PMIX_FENCE=ring";
}

// What became of those that died after `first`, or wait for it.
std::string others_words(const FailureContext& context, const SeenRanks& first) {
  const std::size_t waiting = context.waiting(first);
  if (waiting > 0) return waiting_words(waiting, first.size());
  const auto ended =
      context.those([](const SeenRank& rank) { return !rank.is_alive() && is_asked_to_end(rank.record().signal); });
  if (ended.empty() || ended.size() == context.ranks.size()) return "";
  return fmt::format("; {} {} ended after it", counted(ended.size(), "rank"), ended.size() == 1 ? "was" : "were");
}

Finding killed(const FailureContext& context, const SeenRanks& who, const std::string& name, int signal) {
  const FlightRecord* record = who.empty() ? nullptr : &who.front().record();
  const std::string reported = who.empty() ? context.failure.notice.node : who.front().node;
  const std::string node = reported.empty() ? "its node" : reported;
  const bool is_in_a_call = record != nullptr && !record->call.empty() && signal != SIGKILL && !is_asked_to_end(signal);
  return {Verdict::fail,
          fmt::format("{} was killed by {} {}{}{}", name, signal_words(signal), death_place(context.failure, record),
                      who.size() == 1 ? device_words(who) : "", others_words(context, who)),
          rank_culprits(who),
          (is_in_a_call ? crash_remedy(context.failure, *record, node) : signal_remedy(context.failure, signal, node)) +
              early_fence_remedy(context, record, signal)};
}

}  // namespace

bool is_on(const FailureContext& context, const SeenRank& rank, const std::string& node) {
  const auto host = [](std::string_view name) { return name.substr(0, name.find('.')); };
  return host(rank.node) == host(node == "localhost" ? context.failure.launcher_node : node);
}

namespace {

/// The rank that the launcher names, with its record where there is one: by number, by PID, or as the only one that
/// can have ended so.
SeenRanks named_by_launcher(const FailureContext& context) {
  const LauncherNotice& notice = context.failure.notice;
  const auto is_there = [&](const SeenRank& rank) { return notice.node.empty() || is_on(context, rank, notice.node); };
  if (notice.rank) {
    auto who = context.those([&](const SeenRank& rank) { return rank.record().rank == *notice.rank; });
    if (!who.empty()) return {who.front()};
    return {};
  }
  if (notice.pid) {
    auto who = context.those(
        [&](const SeenRank& rank) { return is_there(rank) && !rank.is_alive() && rank.record().pid == *notice.pid; });
    if (who.size() == 1) return who;
  }
  auto who = context.those([&](const SeenRank& rank) {
    return is_there(rank) && !rank.is_alive() && (rank.record().signal == 0 || rank.record().signal == notice.signal);
  });
  return who.size() == 1 ? who : SeenRanks{};
}

/// Hydra ends all ranks by SIGKILL when one dies, and at times reports one of these instead. A rank that waits where
/// another one, also dead, has not arrived need not be the first.
bool may_be_a_later_one(const FailureContext& context, const SeenRanks& who) {
  const LauncherNotice& notice = context.failure.notice;
  if (notice.rank || *notice.signal != SIGKILL || who.empty()) return false;
  const OutlyingRanks outlying =
      outlying_ranks(context.those([](const SeenRank& rank) { return !rank.is_alive() && rank.record().signal == 0; }));
  return outlying.how == OutlyingRanks::How::behind &&
         std::none_of(outlying.who.begin(), outlying.who.end(), [&](const SeenRank& rank) {
           return rank.node == who.front().node && rank.record().pid == who.front().record().pid;
         });
}

/// Without those that lost a peer or were ended by MPI, where others remain. mpirun ends the rest by SIGTERM, which
/// they record; srun may do so by SIGKILL.
SeenRanks silently_ended(const FailureContext& context) {
  const SeenRanks all =
      context.those([](const SeenRank& rank) { return !rank.is_alive() && rank.record().signal == 0; });
  SeenRanks found = all;
  const auto& lost = context.failure.notice.lost_a_peer;
  const bool records_ends = context.failure.launcher != "srun";
  std::erase_if(found, [&](const SeenRank& rank) {
    return (records_ends && rank.record().is_exit_in_mpi) || is_in(rank.record().rank, lost);
  });
  return found.empty() ? all : found;
}

/// MPI libraries can crash where the connection to another rank is lost.
bool may_follow_a_loss(const FailureContext& context, const SeenRank& rank) {
  return rank.record().is_signal_in_mpi && (!context.silent_nodes.empty() || !silently_ended(context).empty());
}

}  // namespace

Explained killed_by_launcher_report(const FailureContext& context) {
  const LauncherNotice& notice = context.failure.notice;
  if (!notice.signal) return std::nullopt;
  // Ended by request: another rank's death, found in a recorder, may be the cause.
  const bool is_second =
      is_asked_to_end(*notice.signal) &&
      std::any_of(context.ranks.begin(), context.ranks.end(), [](const SeenRank& rank) {
        return !rank.is_alive() && !is_asked_to_end(rank.record().signal) && rank.record().rank != -1;
      });
  if (is_second) return std::nullopt;
  const SeenRanks who = named_by_launcher(context);
  if (may_be_a_later_one(context, who)) return std::nullopt;
  if (!notice.rank && !who.empty() && may_follow_a_loss(context, who.front())) return std::nullopt;
  if (!who.empty()) return killed(context, who, rank_words(who.front()), *notice.signal);
  if (!notice.rank) return std::nullopt;
  std::string name = fmt::format("rank {}", *notice.rank);
  Culprit culprit{CulpritKind::rank, name, notice.node, *notice.rank};
  if (!notice.node.empty()) name += " on " + notice.node;
  Finding finding = killed(context, {}, name, *notice.signal);
  finding.culprits = {std::move(culprit)};
  return finding;
}

Explained killed_by_recorder(const FailureContext& context) {
  auto stamped = context.those([&](const SeenRank& rank) {
    const int signal = rank.record().signal;
    // A program may live through a QUIT that it handles; not through a crash.
    return signal != 0 && !is_asked_to_end(signal) && (signal != SIGQUIT || !rank.is_alive()) &&
           !may_follow_a_loss(context, rank);
  });
  if (stamped.empty()) return std::nullopt;
  // Clocks of nodes differ: what compares is how long ago it was when each node looked.
  const auto first = std::max_element(stamped.begin(), stamped.end(), [](const SeenRank& a, const SeenRank& b) {
    return a.signal_age_s < b.signal_age_s;
  });
  return killed(context, {*first}, rank_words(*first), first->record().signal);
}

Explained failed_in_init(const FailureContext& context) {
  const InitFailure& init = context.failure.init;
  if (init.reason.empty() || context.failure.stage != "start-up") return std::nullopt;
  const bool is_of_most = !init.setting.empty() && 2 * init.ranks > context.failure.ranks_expected;
  Finding finding;
  finding.verdict = is_of_most ? Verdict::error : Verdict::fail;
  finding.reason = fmt::format("MPI_Init failed: {}", init.reason);
  if (is_of_most) finding.culprits = {{CulpritKind::setting, "OMPI_MCA_" + init.setting, "", -1}};
  finding.remedy =
      init.setting.empty()
          ? std::string("check the variables that choose MPI's network (OMPI_MCA_*, UCX_*, FI_*, MPICH_*, I_MPI_*)")
          : fmt::format("check OMPI_MCA_{0} or --mca {0} against the interfaces of the nodes (ip address)",
                        init.setting);
  if (!context.failure.output.empty()) finding.remedy += fmt::format("; look at {}", context.failure.output);
  return finding;
}

namespace {

/// MPICH's words where another rank is lost: the rank that reports it ends for that reason.
bool complains_of_a_loss(const LaunchFailure& failure) {
  constexpr std::string_view words[] = {"Failure during collective", "communication error with rank",
                                        "Connection closed", "Connection reset"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view one) { return failure.complaint.find(one) != failure.complaint.npos; });
}

}  // namespace

Explained exited_by_launcher_report(const FailureContext& context) {
  const LauncherNotice& notice = context.failure.notice;
  if (!notice.exit_status || (!notice.rank && !notice.pid)) return std::nullopt;
  const SeenRanks who = named_by_launcher(context);
  if (who.empty() && !notice.rank) return std::nullopt;
  if (complains_of_a_loss(context.failure) && silently_ended(context).size() > who.size()) return std::nullopt;
  const int rank = notice.rank ? *notice.rank : who.front().record().rank;
  const std::string node = who.empty() ? notice.node : who.front().node;
  std::string name = notice.rank ? fmt::format("rank {}", rank) : bare_name(who.front());
  const Culprit culprit{CulpritKind::rank, name, node, rank};
  if (!node.empty()) name += " on " + node;
  const FlightRecord* record = who.empty() ? nullptr : &who.front().record();
  std::string known_remedy = complaint_remedy(context.failure, node);
  if (!known_remedy.empty()) known_remedy += "; ";
  return Finding{
      Verdict::fail,
      fmt::format("{} exited with status {} {}{}{}", name, *notice.exit_status, death_place(context.failure, record),
                  others_words(context, who), complaint_words(context.failure)),
      {culprit},
      known_remedy + fmt::format("look at what the rank wrote to its standard error before it ended{}",
                                 context.failure.output.empty() ? "" : ": " + context.failure.output)};
}

namespace {

/// Of ranks that all are on one node, where others have ranks, any may have been the first: its node is the same. Ranks
/// are named, since their program may have ended them: no node is drained for it.
std::vector<Culprit> culprits_of_one_node(const FailureContext& context, const SeenRanks& who) {
  const std::string& node = who.front().node;
  const auto is_there = [&](const SeenRank& rank) { return rank.node == node; };
  if (!std::all_of(who.begin(), who.end(), is_there)) return {};
  if (std::all_of(context.ranks.begin(), context.ranks.end(), is_there)) return {};
  return rank_culprits(who);
}

}  // namespace

Explained daemon_lost(const FailureContext& context) {
  const LauncherNotice& notice = context.failure.notice;
  if (!notice.is_about_a_node || notice.node.empty()) return std::nullopt;
  SeenRanks who = silently_ended(context);
  std::erase_if(who, [&](const SeenRank& rank) { return !is_on(context, rank, notice.node); });
  if (who.empty()) return std::nullopt;
  const std::string& node = who.front().node;
  return Finding{
      Verdict::fail,
      fmt::format("{}: {} ended with it {}{}", notice.sentence, names(who),
                  death_place(context.failure, &who.front().record()), others_words(context, who)),
      {{CulpritKind::launcher, "daemon", node, -1}},
      fmt::format("see what ended the daemon on {}: its kernel log (dmesg), an operator; {}", node, notice.remedy)};
}

Explained daemon_of_finished_ranks_lost(const FailureContext& context) {
  const LauncherNotice& notice = context.failure.notice;
  const SeenRanks who = silently_ended(context);
  if (context.failure.stage == "start-up" || !notice.is_about_a_node || who.empty()) return std::nullopt;
  Finding finding;
  std::vector<std::string> nodes;
  for (const NodeAutopsy& node : context.failure.nodes) {
    if (!node.answered || !node.ranks.empty()) continue;
    if (!notice.node.empty() && !is_same_node(notice.node, node.node)) continue;
    nodes.push_back(node.node);
    // A rank of the others that was killed below a shell leaves the same.
    if (!context.failure.has_shells || !notice.node.empty())
      finding.culprits.push_back({CulpritKind::launcher, "daemon", node.node, -1});
  }
  if (nodes.empty()) return std::nullopt;
  finding.reason = fmt::format("{}: {} ended with it {}; the ranks on {} had finished", notice.sentence, names(who),
                               death_place(context.failure, &who.front().record()), human_list(nodes));
  finding.remedy =
      fmt::format("see what ended the daemon on {}: its kernel log (dmesg), an operator", human_list(nodes));
  return finding;
}

namespace {

bool is_listed(const FailureContext& context, const SeenRank& rank) {
  const auto& killed = context.failure.notice.killed;
  return is_in(rank.record().rank, killed);
}

Finding exited_by_itself(const FailureContext& context, const SeenRanks& who) {
  return {Verdict::fail,
          fmt::format("{} exited by itself {}; the other ranks were ended after it{}", rank_words(who.front()),
                      death_place(context.failure, &who.front().record()), complaint_words(context.failure)),
          rank_culprits(who), fmt::format("look at {}", output_words(context.failure))};
}

}  // namespace

Explained one_of_those_killed(const FailureContext& context) {
  SeenRanks who = silently_ended(context);
  const auto listed =
      std::find_if(who.begin(), who.end(), [&](const SeenRank& rank) { return is_listed(context, rank); });
  // Ranks of which no record is left had finished.
  if (listed == who.end() || who.size() != context.ranks.size()) return std::nullopt;
  const std::string node = listed->node;
  std::erase_if(who, [&](const SeenRank& rank) { return rank.node != node; });
  SeenRanks unlisted = who;
  std::erase_if(unlisted, [&](const SeenRank& rank) { return is_listed(context, rank); });
  if (unlisted.size() == 1) return exited_by_itself(context, unlisted);
  if (!unlisted.empty() || culprits_of_one_node(context, who).empty()) return std::nullopt;
  const bool is_one = who.size() == 1;
  return Finding{
      Verdict::fail,
      fmt::format("{} killed by {} {}{}{}", is_one ? rank_words(who.front()) + " was" : "one of " + names(who) + " was",
                  signal_words(SIGKILL), death_place(context.failure, &who.front().record()),
                  is_one ? "" : "; which one cannot be determined", complaint_words(context.failure)),
      rank_culprits(who),
      fmt::format("look in the kernel log of {} (dmesg) for the out-of-memory killer, and at {}", node,
                  output_words(context.failure))};
}

Explained ended_silently(const FailureContext& context) {
  const auto who = silently_ended(context);
  if (who.empty()) return std::nullopt;
  const SeenRanks crashed =
      context.those([&](const SeenRank& rank) { return !rank.is_alive() && may_follow_a_loss(context, rank); });
  const bool is_one = who.size() == 1;
  const bool is_everybody = !is_one && who.size() == context.ranks.size();
  const std::string subject = is_everybody ? fmt::format("all {}", counted(who.size(), "rank")) : names(who);
  std::string more = complaint_words(context.failure);
  if (context.failure.notice.signal)
    more += fmt::format("; the launcher reports {}", signal_words(*context.failure.notice.signal));
  if (!crashed.empty())
    more += fmt::format("; {} {} killed by {} in MPI, which the loss of another rank can cause", names(crashed),
                        crashed.size() == 1 ? "was" : "were", signal_words(crashed.front().record().signal));
  // The others were ended by the launcher, and leave nothing either.
  if (!is_one || !crashed.empty()) more += "; which one was first cannot be determined";
  std::vector<Culprit> culprits;
  if (crashed.empty()) culprits = is_one ? rank_culprits(who) : culprits_of_one_node(context, who);
  std::string known_remedy = complaint_remedy(context.failure, nodes_of(who));
  if (!known_remedy.empty()) known_remedy += "; ";
  return Finding{Verdict::fail,
                 fmt::format("{} ended without a message {}{}{}", subject,
                             death_place(context.failure, &who.front().record()), others_words(context, who), more),
                 culprits,
                 known_remedy + fmt::format("look at {} and, for a kill, in the kernel log of {} (dmesg)",
                                            output_words(context.failure), nodes_of(who))};
}

namespace {

/// The number that none of the ranks has, which are in order; -1: there are several, or ranks without one.
int missing_rank(const SeenRanks& ranks, int expected) {
  if (static_cast<int>(ranks.size()) != expected - 1) return -1;
  int missing = expected - 1;
  for (int i = 0; i < expected - 1; ++i) {
    const int rank = ranks[static_cast<std::size_t>(i)].record().rank;
    if (rank == i + 1) missing = std::min(missing, i);
    if (rank != (i < missing ? i : i + 1)) return -1;
  }
  return missing;
}

/// The only one with a rank less than the others have.
std::string node_with_one_less(const LaunchFailure& failure) {
  const auto each = static_cast<std::size_t>(failure.ranks_expected) / failure.nodes.size();
  std::string found;
  for (const NodeAutopsy& node : failure.nodes) {
    if (node.ranks.size() == each) continue;
    if (!found.empty() || node.ranks.size() + 1 != each) return {};
    found = node.node;
  }
  return found;
}

}  // namespace

Explained killed_without_a_record(const FailureContext& context) {
  const LaunchFailure& failure = context.failure;
  const int signal = failure.launcher_status - 128;
  if (failure.cause != LaunchFailure::Cause::launch_ended || failure.stage != "start-up" || signal <= 0 ||
      signal > 64 || is_asked_to_end(signal) || failure.nodes.empty() || !failure.notice.sentence.empty())
    return std::nullopt;
  const bool others_were_ended = std::all_of(context.ranks.begin(), context.ranks.end(), [](const SeenRank& rank) {
    return !rank.is_alive() && is_asked_to_end(rank.record().signal);
  });
  const int rank = missing_rank(context.ranks, failure.ranks_expected);
  if (!others_were_ended || rank < 0) return std::nullopt;
  const std::string node = node_with_one_less(failure);
  const std::string name = fmt::format("rank {}", rank);
  return Finding{Verdict::fail,
                 fmt::format("{}{} was killed by {} during start-up, before it left a record; {} {} ended after it",
                             name, node.empty() ? "" : " on " + node, signal_words(signal),
                             counted(context.ranks.size(), "rank"), context.ranks.size() == 1 ? "was" : "were"),
                 {{CulpritKind::rank, name, node, rank}},
                 signal_remedy(failure, signal, node.empty() ? "its node" : node)};
}

Explained ended_by_signal(const FailureContext& context) {
  const auto who = context.those([](const SeenRank& rank) { return !rank.is_alive(); });
  if (who.empty() || context.failure.cause != LaunchFailure::Cause::launch_ended) return std::nullopt;
  if (!context.failure.notice.sentence.empty()) return std::nullopt;  // the launcher knows better
  return Finding{
      Verdict::fail,
      fmt::format("{} ended by {} {}",
                  who.size() == 1 ? rank_words(who.front()) + " was" : "all " + counted(who.size(), "rank") + " were",
                  signal_words(who.front().record().signal), death_place(context.failure, &who.front().record())),
      {},
      "see who ended the launch: the scheduler (time or memory limit), an operator, or the launcher itself"};
}

}  // namespace muster
