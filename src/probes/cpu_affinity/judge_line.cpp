// The user's own launch line beside what `muster bind` would write: a note, for what is wrong with a mask the other
// judges report.
#include <fmt/format.h>

#include "base/text.hpp"
#include "device/placement.hpp"
#include "probes/cpu_affinity/node_masks.hpp"

namespace muster::affinity {

namespace {

bool is_by_line(const RankMask& rank) {
  return rank.binder == "line" && !rank.asked.empty();
}

std::vector<std::string> far_ranks(const NodeMasks& node) {
  std::vector<std::string> ranks;
  for (const RankGpu& gpu : gpus_of_ranks(node))
    if (nearness_of(gpu.rank->mask, gpu.near) == Nearness::apart) ranks.push_back(std::to_string(gpu.rank->rank));
  return ranks;
}

/// Ranks that have a CPU in common with another one.
int ranks_that_share(const NodeMasks& node) {
  int sharing = 0;
  for (const RankMask& rank : node.ranks) {
    bool shares = false;
    for (const RankMask& other : node.ranks) shares = shares || (&other != &rank && other.mask.intersects(rank.mask));
    sharing += shares ? 1 : 0;
  }
  return sharing;
}

/// What the difference costs; empty: nothing that could be counted.
std::string cost_of(const NodeMasks& node) {
  CpuMask used, offered;
  for (const RankMask& rank : node.ranks) {
    used = used | rank.cores;
    offered = offered | (rank.asked & node.cores);
  }
  std::vector<std::string> costs;
  if (const auto far = far_ranks(node); !far.empty())
    costs.push_back(fmt::format("{} far from {} GPU: {}",
                                far.size() == 1 ? "1 rank" : fmt::format("{} ranks", far.size()),
                                far.size() == 1 ? "its" : "their", human_list(far, 8)));
  if (const int idle = offered.count() - (used & offered).count(); idle > 0)
    costs.push_back(fmt::format("{} of {} cores idle", idle, offered.count()));
  if (const int sharing = ranks_that_share(node); sharing > 0)
    costs.push_back(fmt::format("{} ranks share CPUs", sharing));
  return join(costs, "; ");
}

}  // namespace

void judge_line(const CaseView&, const NodeMasks& node, Findings& findings) {
  std::vector<std::string> differences;
  for (const RankMask& rank : node.ranks)
    if (is_by_line(rank) && rank.asked != rank.mask)
      differences.push_back(
          fmt::format("rank {} on {} (muster bind: {})", rank.rank, named("CPU", rank.mask), rank.asked.list()));
  if (differences.empty()) return;
  const std::string cost = cost_of(node);
  Finding note;
  note.verdict = Verdict::pass;
  note.reason = fmt::format("on {} the launch line binds {} of {} ranks otherwise than muster bind would: {}{}",
                            node.host, differences.size(), node.ranks.size(), human_list(differences, 8),
                            cost.empty() ? "" : "; cost: " + cost);
  findings.push_back(std::move(note));
}

}  // namespace muster::affinity
