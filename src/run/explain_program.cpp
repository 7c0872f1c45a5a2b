// Programs of probe command that run for longer than their case may.
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "model/suspect.hpp"
#include "run/failure_context.hpp"

namespace muster {

namespace {

std::set<std::string> distinct_nodes(const SeenRanks& ranks) {
  std::set<std::string> nodes;
  for (const SeenRank& rank : ranks) nodes.insert(rank.node);
  return nodes;
}

Suspect suspect_of(const SeenRanks& who, const SeenRanks& all) {
  const bool is_rank_0_alone = who.size() == 1 && who.front().record().rank == 0;
  return find_suspect({distinct_nodes(who).size(), distinct_nodes(all).size(), is_rank_0_alone}, Half::is_of_job);
}

/// That of rank 0 first.
std::vector<std::string> hosts_from(const std::string& first, const SeenRanks& ranks) {
  std::vector<std::string> hosts{first};
  for (const SeenRank& rank : ranks) hosts.push_back(rank.node);
  return hosts;
}

double longest_idle(const SeenRanks& ranks) {
  double longest = 0;
  for (const SeenRank& rank : ranks) longest = std::max(longest, rank.idle_s);
  return longest;
}

/// A process in the kernel's care that no signal reaches: a file system or a driver keeps it.
bool is_stuck(const SeenRanks& ranks) {
  return std::any_of(ranks.begin(), ranks.end(),
                     [](const SeenRank& rank) { return rank.remains.program_state == ProcessState::uninterruptible; });
}

}  // namespace

Explained program_still_runs(const FailureContext& context) {
  const LaunchFailure& failure = context.failure;
  if (failure.cause != LaunchFailure::Cause::deadline || failure.stage != "case") return std::nullopt;
  const auto who = context.those([](const SeenRank& rank) { return rank.is_alive() && !rank.remains.program.empty(); });
  if (who.empty()) return std::nullopt;
  const SeenRanks living = context.alive();
  const std::size_t done = living.size() - who.size() + context.done;
  const Suspect suspect = suspect_of(who, context.ranks);
  const std::string subject = done == 0 && who.size() == 1 ? std::string("the program")
                              : done == 0                  ? fmt::format("all {} programs", who.size())
                                                           : fmt::format("the program of {}", names(who));
  Finding finding;
  finding.verdict = Verdict::fail;
  finding.reason =
      fmt::format("{} timed out after {} (limit {}), still running `{}`{}{}", subject, seconds_words(longest_idle(who)),
                  seconds_words(failure.deadline_s), who.front().remains.program,
                  is_stuck(who) ? ", which is stuck in the kernel" : "",
                  done == 0 ? "" : fmt::format("; {} ended", done == 1 ? "1 other" : fmt::format("{} others", done)));
  finding.remedy =
      "raise the timeout of the check (timeout, --timeout), or correct its program or options so that it ends";
  if (suspect == Suspect::nodes || is_stuck(who)) {
    finding.culprits = rank_culprits(who);
    finding.remedy = fmt::format("look at what the program does on {}: load, file system, device", nodes_of(who));
  } else if (suspect == Suspect::rank_0) {
    finding.culprits = {rank_0_culprit()};
    finding.remedy = rank_0_remedy(hosts_from(who.front().node, context.ranks));
  } else if (done > 0) {
    // No node is to blame by comparison with so few others.
    finding.culprits = rank_culprits(who);
    for (Culprit& culprit : finding.culprits) culprit.node.clear();
  } else {
    const std::string& line = who.front().remains.program;
    finding.culprits.push_back({CulpritKind::program, line.substr(0, line.find(' ')), "", -1});
  }
  return finding;
}

}  // namespace muster
