/// What is left of a launch, and the causes that can explain it. Used by explain() alone. Pure.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "run/autopsy.hpp"
#include "run/failure_text.hpp"

namespace muster {

struct FailureContext {
  const LaunchFailure& failure;
  SeenRanks ranks;  ///< all that left a record on a node that answered
  std::vector<const NodeAutopsy*> silent_nodes;
  std::size_t done = 0;  ///< ranks that are through with a case that each node does by itself; not among `ranks`

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

[[nodiscard]] FailureContext survey(const LaunchFailure& failure);

/// A cause finds itself in a scene, or does not.
using Explained = std::optional<Finding>;

/// `node` as a launcher names it: with or without its domain, and its own as localhost.
[[nodiscard]] bool is_on(const FailureContext& context, const SeenRank& rank, const std::string& node);

// Death: explain_death.cpp
[[nodiscard]] Explained killed_by_launcher_report(const FailureContext& context);
[[nodiscard]] Explained killed_by_recorder(const FailureContext& context);
/// A rank that reports it may be one of those that are well, another one in each launch: no rank is a culprit, and
/// groups of nodes show which do not start.
[[nodiscard]] Explained failed_in_init(const FailureContext& context);
[[nodiscard]] Explained exited_by_launcher_report(const FailureContext& context);
/// The launcher lost its daemon on a node of which ranks ended: the others ended because of that.
[[nodiscard]] Explained daemon_lost(const FailureContext& context);
/// The launcher lost one of a node where all ranks had ended as they should. Where it names no node, it is that one, or
/// any of several such.
[[nodiscard]] Explained daemon_of_finished_ranks_lost(const FailureContext& context);
/// The launcher lists the ranks of one node that were killed, by it or before: one of them was the first, or the one
/// rank of that node that is not listed, which exited.
[[nodiscard]] Explained one_of_those_killed(const FailureContext& context);
[[nodiscard]] Explained ended_silently(const FailureContext& context);
/// As the launcher's own exit status has it, where it prints nothing, of the only rank that left no record.
[[nodiscard]] Explained killed_without_a_record(const FailureContext& context);
[[nodiscard]] Explained ended_by_signal(const FailureContext& context);

// Standstill: explain_standstill.cpp
[[nodiscard]] Explained stopped(const FailureContext& context);
/// Within a case ranks do not need their launcher: it explains what nothing else does.
[[nodiscard]] Explained launcher_stopped(const FailureContext& context);
[[nodiscard]] Explained launcher_stopped_outside_of_cases(const FailureContext& context);
/// The process that started ranks of a node, without which they can't leave MPI_Finalize; as for the launcher.
[[nodiscard]] Explained daemon_stopped(const FailureContext& context);
[[nodiscard]] Explained daemon_stopped_outside_of_cases(const FailureContext& context);
[[nodiscard]] Explained daemon_ended_outside_of_cases(const FailureContext& context);
/// Where no rank is left that could name it.
[[nodiscard]] Explained daemon_without_ranks_stopped(const FailureContext& context);
/// As the ranks of one node have recorded, and those of no other: these may be the consequence.
[[nodiscard]] Explained daemon_ended_before_its_ranks(const FailureContext& context);
[[nodiscard]] Explained uninterruptible(const FailureContext& context);
[[nodiscard]] Explained unreachable(const FailureContext& context);
/// The remote shell reaches them, other ranks do not: who waits for whom is not evidence then.
[[nodiscard]] Explained cut_off(const FailureContext& context);
/// Connections of ranks had to send much again, all of them of one node or of one pair of nodes.
[[nodiscard]] Explained loses_packets(const FailureContext& context);

// Programs that ranks run (probe command): explain_program.cpp
/// Past the deadline of the case: a node is at fault only where most nodes are through with theirs.
[[nodiscard]] Explained program_still_runs(const FailureContext& context);

// Progress: explain_progress.cpp
/// All ranks make progress: the time was too short for the request.
[[nodiscard]] Explained out_of_time(const FailureContext& context);
[[nodiscard]] Explained gave_up(const FailureContext& context);
[[nodiscard]] Explained not_started(const FailureContext& context);
[[nodiscard]] Explained not_connected(const FailureContext& context);
[[nodiscard]] Explained behind(const FailureContext& context);
[[nodiscard]] Explained unfinished(const FailureContext& context);
[[nodiscard]] Finding no_rank_stands_out(const FailureContext& context);

}  // namespace muster
