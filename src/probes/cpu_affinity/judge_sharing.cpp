// What the masks of a node are to each other: disjoint, or all the same.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "measure/bind_words.hpp"
#include "probes/cpu_affinity/node_masks.hpp"

namespace muster::affinity {

namespace {

std::string remedy_bind(const NodeMasks& node) {
  return "bind ranks to cores of their own: " + option_in_words(node.launcher, &BindWords::cores);
}

bool all_equal(const NodeMasks& node) {
  return std::all_of(node.ranks.begin(), node.ranks.end(),
                     [&](const RankMask& rank) { return rank.mask == node.ranks.front().mask; });
}

/// Every pair that shares CPUs, in words, and who is in one.
struct Overlaps {
  std::vector<std::string> pairs;
  std::vector<int> ranks;
  bool has_same_single_core = false;
};

Overlaps find_overlaps(const NodeMasks& node) {
  Overlaps found;
  for (std::size_t a = 0; a < node.ranks.size(); ++a) {
    for (std::size_t b = a + 1; b < node.ranks.size(); ++b) {
      const RankMask& one = node.ranks[a];
      const RankMask& other = node.ranks[b];
      if (!one.mask.intersects(other.mask)) continue;
      found.pairs.push_back(
          fmt::format("ranks {} and {} share {}", one.rank, other.rank, named("CPU", one.mask & other.mask)));
      found.ranks.insert(found.ranks.end(), {one.rank, other.rank});
      found.has_same_single_core |= one.mask == other.mask && one.cores.count() == 1;
    }
  }
  return found;
}

Finding too_many(const NodeMasks& node, std::string_view what) {
  const int cores = node.cores.count();
  Finding finding = about(node, {},
                          fmt::format("{} ranks have {} {} on {}: {}", node.ranks.size(), cores,
                                      cores == 1 ? "core" : "cores", node.host, what),
                          "request fewer ranks per node to check their binding");
  finding.verdict = Verdict::skip;
  return finding;
}

bool is_crowded(const NodeMasks& node) {
  const int cores = node.cores.count();
  return cores > 0 && static_cast<int>(node.ranks.size()) > cores;
}

/// All ranks of the node may run on each CPU that is not kept for the system.
bool is_unbound(const NodeMasks& node) {
  return all_equal(node) && (node.ranks.front().mask | node.reserved) == (node.cpus | node.reserved);
}

Finding unbound(const CaseView& view, const NodeMasks& node) {
  const CpuMask& mask = node.ranks.front().mask;
  return about(
      node, all_ranks(node),
      fmt::format("{} ranks on {} are not bound: each may run on all CPUs of the node{} ({})", node.ranks.size(),
                  node.host, mask == node.cpus ? "" : " that are not reserved", mask.list()),
      with_line(view, node, remedy_bind(node)));
}

/// A launcher inside another gives its ranks what the outer one gave it: one core, of several that are there.
Finding nested(const CaseView& view, const NodeMasks& node, const Overlaps& overlaps) {
  return about(node, overlaps.ranks,
               fmt::format("on {} {}: the signature of a launcher started inside another", node.host,
                           human_list(overlaps.pairs)),
               with_line(view, node,
                         "start the launcher outside of another one's ranks (not mpirun inside srun), or unbind the "
                         "outer one: srun --cpu-bind=none, --overlap"));
}

void judge_disjoint(const CaseView& view, const NodeMasks& node, Findings& findings, bool& is_last) {
  const Overlaps overlaps = find_overlaps(node);
  if (overlaps.pairs.empty()) return;
  // The CPUs of these ranks are not representative of the node: nothing further is judged.
  is_last = true;
  // Where Slurm confines a task to its core, that core is all that a launcher inside it sees of the node.
  const bool is_confined = overlaps.has_same_single_core && node.is_inside_step;
  if (is_crowded(node) && !is_confined) return findings.push_back(too_many(node, "masks can't be disjoint"));
  if (is_confined) return findings.push_back(nested(view, node, overlaps));
  if (is_unbound(node)) return findings.push_back(unbound(view, node));
  if (overlaps.has_same_single_core) return findings.push_back(nested(view, node, overlaps));
  is_last = false;
  findings.push_back(about(node, overlaps.ranks, fmt::format("on {} {}", node.host, human_list(overlaps.pairs)),
                           with_line(view, node, remedy_bind(node))));
}

void judge_exact(const NodeMasks& node, Findings& findings) {
  if (all_equal(node)) return;
  std::map<std::string, std::vector<int>> groups;
  for (const RankMask& rank : node.ranks) groups[rank.mask.list()].push_back(rank.rank);
  const auto largest = std::max_element(groups.begin(), groups.end(),
                                        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<std::string> odd;
  std::vector<int> ranks;
  for (const auto& [mask, members] : groups) {
    if (mask == largest->first) continue;
    for (const int rank : members) odd.push_back(fmt::format("rank {} has {}", rank, mask));
    ranks.insert(ranks.end(), members.begin(), members.end());
  }
  findings.push_back(
      about(node, ranks,
            fmt::format("masks on {} differ: {} {} have {}, but {}", node.host, largest->second.size(),
                        largest->second.size() == 1 ? "rank" : "ranks", largest->first, human_list(odd)),
            "give all ranks of a node the same CPUs: " + option_in_words(node.launcher, &BindWords::unbound)));
}

}  // namespace

void judge_sharing(const CaseView& view, const NodeMasks& node, Findings& findings, bool& is_last) {
  const std::string& sharing = view.params.text("sharing");
  if (sharing == "disjoint") judge_disjoint(view, node, findings, is_last);
  if (sharing == "exact") judge_exact(node, findings);
}

void judge_siblings(const CaseView& view, const NodeMasks& node, Findings& findings) {
  if (view.params.text("smt") != "apart") return;
  std::map<int, std::vector<const RankMask*>> users;
  for (const RankMask& rank : node.ranks)
    for (const int core : rank.cores.cpus()) users[core].push_back(&rank);
  std::vector<std::string> shared;
  std::vector<int> ranks;
  for (const auto& [core, members] : users) {
    if (members.size() < 2) continue;
    std::vector<std::string> names;
    bool has_same = false;
    for (const RankMask* rank : members) {
      names.push_back(std::to_string(rank->rank));
      ranks.push_back(rank->rank);
      for (const RankMask* other : members) has_same |= other != rank && rank->mask.intersects(other->mask);
    }
    shared.push_back(
        fmt::format("ranks {} share core {}{}", human_list(names), core, has_same ? "" : ", on threads of their own"));
  }
  if (shared.empty()) return;
  if (is_crowded(node)) return findings.push_back(too_many(node, "they can't have a core each"));
  findings.push_back(about(
      node, ranks, fmt::format("on {} {}", node.host, human_list(shared)),
      with_line(view, node, "give each rank whole cores: " + option_in_words(node.launcher, &BindWords::whole_cores))));
}

}  // namespace muster::affinity
