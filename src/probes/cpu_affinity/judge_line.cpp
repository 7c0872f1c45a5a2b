// The user's own launch line beside what `muster bind` would write: a note, for what is wrong with a mask the other
// judges report; a failure where ranks have few of the cores that a profile gives them.
#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "device/placement.hpp"
#include "measure/bind_words.hpp"
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

/// `48 of the 56 cores that muster bind assigns are idle`; empty: none.
std::string idle_cost(int idle, int assigned) {
  if (idle == 0) return {};
  const std::string cores =
      assigned == 1
          ? "the core"
          : fmt::format("{}the {} cores", idle == assigned ? "all of " : fmt::format("{} of ", idle), assigned);
  return fmt::format("{} that muster bind assigns {} idle", cores, idle == 1 ? "is" : "are");
}

/// `16 cores that it leaves out are in use`; empty: none.
std::string left_out_cost(int cores) {
  if (cores == 0) return {};
  return fmt::format("{} that muster bind leaves out {} in use", counted(static_cast<std::size_t>(cores), "core"),
                     cores == 1 ? "is" : "are");
}

/// Whether the rank has less than half of the cores that a profile gives it.
bool is_starved(const NodeMasks& node, const RankMask& rank) {
  if (rank.binder != "line" || !rank.asked_by.starts_with("profile ")) return false;
  return rank.cores.count() * 2 < (rank.asked & node.cores).count();
}

/// What the difference costs; empty: nothing that could be counted.
std::string cost_of(const NodeMasks& node) {
  CpuMask used, offered;
  for (const RankMask& rank : node.ranks) {
    used = used | rank.cores;
    offered = offered | (rank.asked & node.cores);
  }
  const int in_use = (used & offered).count();
  std::vector<std::string> costs{place_cost(ranks_at(node, Nearness::apart), "far from"),
                                 place_cost(ranks_at(node, Nearness::touching), "not confined to the NUMA domain of"),
                                 idle_cost(offered.count() - in_use, offered.count()),
                                 left_out_cost(used.count() - in_use), sharing_cost(node)};
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
  findings.push_back(make_note(fmt::format(
      "on {} the launch line binds {} of {} ranks otherwise than muster bind would: {}{}", node.host,
      differences.size(), node.ranks.size(), human_list(differences, 8), cost.empty() ? "" : "; cost: " + cost)));
}

void judge_starved(const CaseView& view, const NodeMasks& node, Findings& findings) {
  // That number is the demand then.
  if (view.params.integer("cores") != 0) return;
  std::vector<int> ranks;
  std::vector<std::string> words;
  int most = 0;
  CpuMask idle, used;
  for (const RankMask& rank : node.ranks) used = used | rank.cores;
  for (const RankMask& rank : node.ranks) {
    const CpuMask assigned = rank.asked & node.cores;
    idle = idle | assigned;
    if (!is_starved(node, rank)) continue;
    ranks.push_back(rank.rank);
    words.push_back(fmt::format("rank {} has {} of {}", rank.rank, rank.cores.count(), assigned.count()));
    most = std::max(most, assigned.count());
  }
  if (ranks.empty()) return;
  const int assigned = idle.count();
  const std::string cost = idle_cost(assigned - (idle & used).count(), assigned);
  findings.push_back(about(
      node, ranks,
      fmt::format("on {} the launch line gives {} less than half of the cores of {}: {}{}", node.host,
                  counted(ranks.size(), "rank"), node.ranks.front().asked_by, human_list(words, 8),
                  cost.empty() ? "" : "; " + cost),
      with_line(view, node, fmt::format("request {} cores per rank: {}", most, width_in_words(node.launcher, most)))));
}

}  // namespace muster::affinity
