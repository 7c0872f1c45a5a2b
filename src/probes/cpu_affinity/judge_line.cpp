// The user's own launch line beside what `muster bind` would write: a note, for what is wrong with a mask the other
// judges report.
#include <fmt/format.h>

#include "base/text.hpp"
#include "device/placement.hpp"
#include "probes/cpu_affinity/node_masks.hpp"

namespace muster::affinity {

namespace {

/// The same cores with more of their hardware threads cost nothing.
bool differs(const NodeMasks& node, const RankMask& rank) {
  if (rank.binder != "line" || rank.asked.empty()) return false;
  const bool has_same_cores = node.layout.whole_cores(rank.asked) == node.layout.whole_cores(rank.mask);
  return rank.asked != rank.mask && !(has_same_cores && rank.asked.is_subset_of(rank.mask));
}

std::vector<std::string> ranks_at(const NodeMasks& node, Nearness place) {
  std::vector<std::string> ranks;
  for (const RankGpu& gpu : gpus_of_ranks(node))
    if (nearness_of(gpu.rank->mask, gpu.near) == place) ranks.push_back(std::to_string(gpu.rank->rank));
  return ranks;
}

/// `2 ranks far from their GPU: 0 and 1`; empty: none.
std::string place_cost(const std::vector<std::string>& ranks, std::string_view place) {
  if (ranks.empty()) return {};
  return fmt::format("{} {} {} GPU: {}", counted(ranks.size(), "rank"), place, ranks.size() == 1 ? "its" : "their",
                     human_list(ranks, 8));
}

/// `8 ranks share 64 cores`: ranks and cores that several have in common; empty: none.
std::string sharing_cost(const NodeMasks& node) {
  std::size_t sharing = 0;
  CpuMask shared;
  for (const RankMask& rank : node.ranks) {
    CpuMask common;
    for (const RankMask& other : node.ranks)
      if (&other != &rank) common = common | (other.cores & rank.cores);
    sharing += common.empty() ? 0 : 1;
    shared = shared | common;
  }
  if (sharing == 0) return {};
  return fmt::format("{} share {}", counted(sharing, "rank"),
                     counted(static_cast<std::size_t>(shared.count()), "core"));
}

/// What the difference costs; empty: nothing that could be counted.
std::string cost_of(const NodeMasks& node) {
  CpuMask used, offered;
  for (const RankMask& rank : node.ranks) {
    used = used | rank.cores;
    offered = offered | (rank.asked & node.cores);
  }
  const int in_use = (used & offered).count();
  std::vector<std::string> costs{
      place_cost(ranks_at(node, Nearness::apart), "far from"),
      place_cost(ranks_at(node, Nearness::touching), "not confined to the NUMA domain of"),
      in_use < offered.count() ? fmt::format("{} of {} cores idle", offered.count() - in_use, offered.count()) : "",
      in_use < used.count() ? counted(static_cast<std::size_t>(used.count() - in_use), "core") + " that bind leaves out"
                            : "",
      sharing_cost(node)};
  std::erase_if(costs, [](const std::string& cost) { return cost.empty(); });
  return join(costs, "; ");
}

}  // namespace

void judge_line(const CaseView&, const NodeMasks& node, Findings& findings) {
  std::vector<std::string> differences;
  for (const RankMask& rank : node.ranks)
    if (differs(node, rank))
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
