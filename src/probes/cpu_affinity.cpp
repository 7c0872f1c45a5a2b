// Where the kernel lets each rank run. docs/methods/cpu_affinity.md
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "base/cpu_mask.hpp"
#include "base/text.hpp"
#include "muster/probe.hpp"
#include "stats/stats.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr ParamSpec params[] = {
    {"sharing",
     ParamType::text,
     "disjoint",
     "What the masks of one node shall be to each other.",
     "disjoint|exact|any",
     {},
     {}},
};

constexpr MetricSpec metrics[] = {
    {"cores", "cores", Better::neither, "Physical cores that the rank may run on.", false},
};

constexpr std::string_view remedy_bind = "bind ranks to cores: mpirun --bind-to core, srun --cpu-bind=cores";

Result<Observation> run(RunContext& context) {
  context.recorder.step("mask");
  const auto mask = CpuMask::of_this_thread();
  if (!mask) return tl::unexpected(mask.error());
  const CpuMask cores = cores_of(*mask);
  const double count = cores.count();
  Observation seen;
  seen.readings.push_back({"cores", {}, summarize(std::span(&count, 1))});
  seen.facts = {{"mask", mask->list()},
                {"mask_hex", mask->hex()},
                {"cores", cores.list()},
                {"node_cpus", node_cpus().list()},
                {"node_cores", cores_of(node_cpus()).list()}};
  return seen;
}

struct RankMask {
  int rank = 0;
  CpuMask mask;
  CpuMask cores;
};

/// The ranks of one node.
struct NodeMasks {
  std::string host;
  CpuMask cpus;   ///< of the node, as far as we may use it
  CpuMask cores;  ///< likewise, each by its lowest CPU
  std::vector<RankMask> ranks;
};

CpuMask mask_fact(const Observation& seen, std::string_view key) {
  const std::string* text = seen.fact(key);
  const auto mask = text == nullptr ? Result<CpuMask>(CpuMask()) : CpuMask::parse_list(*text);
  return mask ? *mask : CpuMask();
}

std::string rank_name(int rank) {
  return fmt::format("rank {}", rank);
}

Finding about(const NodeMasks& node, std::vector<int> ranks, std::string reason, std::string_view remedy) {
  Finding finding;
  finding.reason = std::move(reason);
  finding.remedy = remedy;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (const int rank : ranks) finding.culprits.push_back({CulpritKind::rank, rank_name(rank), node.host, rank});
  return finding;
}

bool all_equal(const NodeMasks& node) {
  return std::all_of(node.ranks.begin(), node.ranks.end(),
                     [&](const RankMask& rank) { return rank.mask == node.ranks.front().mask; });
}

std::vector<int> all_ranks(const NodeMasks& node) {
  std::vector<int> ranks;
  for (const RankMask& rank : node.ranks) ranks.push_back(rank.rank);
  return ranks;
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
      const CpuMask shared = one.mask & other.mask;
      found.pairs.push_back(fmt::format("ranks {} and {} share {} {}", one.rank, other.rank,
                                        shared.count() == 1 ? "CPU" : "CPUs", shared.list()));
      found.ranks.insert(found.ranks.end(), {one.rank, other.rank});
      found.has_same_single_core |= one.mask == other.mask && one.cores.count() == 1;
    }
  }
  return found;
}

/// nullopt: the masks of this node are disjoint.
std::optional<Finding> judge_disjoint(const NodeMasks& node) {
  const Overlaps overlaps = find_overlaps(node);
  if (overlaps.pairs.empty()) return std::nullopt;
  const int cores = node.cores.count();
  const int ranks = static_cast<int>(node.ranks.size());
  if (cores > 0 && ranks > cores) {
    Finding finding = about(node, {},
                            fmt::format("{} ranks have {} {} on {}: masks can't be disjoint", ranks, cores,
                                        cores == 1 ? "core" : "cores", node.host),
                            "ask for fewer ranks per node to check their binding");
    finding.verdict = Verdict::skip;
    return finding;
  }
  if (all_equal(node) && node.ranks.front().mask == node.cpus)
    return about(node, all_ranks(node),
                 fmt::format("{} ranks on {} are not bound: each may run on all CPUs of the node ({})", ranks,
                             node.host, node.cpus.list()),
                 remedy_bind);
  const std::string who = fmt::format("on {} {}", node.host, human_list(overlaps.pairs));
  if (overlaps.has_same_single_core)
    return about(node, overlaps.ranks, who + ": the signature of a launcher started inside another",
                 "start the launcher outside of another one's ranks (not mpirun inside srun), or unbind the outer one: "
                 "srun --cpu-bind=none, --overlap");
  return about(node, overlaps.ranks, who, remedy_bind);
}

/// nullopt: all masks of this node are the same.
std::optional<Finding> judge_exact(const NodeMasks& node) {
  if (all_equal(node)) return std::nullopt;
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
  return about(node, ranks,
               fmt::format("masks on {} differ: {} {} have {}, but {}", node.host, largest->second.size(),
                           largest->second.size() == 1 ? "rank" : "ranks", largest->first, human_list(odd)),
               "give all ranks of a node the same CPUs: mpirun --bind-to none, srun --cpu-bind=none");
}

std::vector<NodeMasks> masks_by_node(const CaseView& view, ProbeJudgement& judgement) {
  std::map<int, NodeMasks> nodes;
  for (std::size_t i = 0; i < view.ranks.size() && i < view.observed.size(); ++i) {
    const Observation* seen = view.observed[i];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    const RankPlace& place = view.ranks[i];
    NodeMasks& node = nodes[place.node_index];
    node.host = place.host;
    node.cpus = node.cpus | mask_fact(*seen, "node_cpus");
    node.cores = node.cores | mask_fact(*seen, "node_cores");
    RankMask rank{place.rank, mask_fact(*seen, "mask"), mask_fact(*seen, "cores")};
    if (rank.mask.empty()) {
      Finding finding = about(node, {rank.rank}, fmt::format("rank {} on {} told no mask", rank.rank, node.host),
                              "report this: the observation is incomplete");
      finding.verdict = Verdict::unmeasured;
      judgement.findings.push_back(std::move(finding));
      continue;
    }
    node.ranks.push_back(std::move(rank));
  }
  std::vector<NodeMasks> list;
  for (auto& entry : nodes)
    if (!entry.second.ranks.empty()) list.push_back(std::move(entry.second));
  return list;
}

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  const std::vector<NodeMasks> nodes = masks_by_node(view, judgement);
  const std::string& sharing = view.params.text("sharing");
  std::size_t masks = 0;
  for (const NodeMasks& node : nodes) {
    masks += node.ranks.size();
    std::optional<Finding> finding;
    if (sharing == "disjoint") finding = judge_disjoint(node);
    if (sharing == "exact") finding = judge_exact(node);
    if (finding) judgement.findings.push_back(std::move(*finding));
  }
  if (masks > 0 && judgement.findings.empty()) {
    const char* claim = sharing == "exact" ? "are the same on each node" : "are disjoint";
    if (sharing == "any") claim = "were read";
    judgement.evidence.push_back(fmt::format("{} {} on {} {} {}", masks, masks == 1 ? "mask" : "masks", nodes.size(),
                                             nodes.size() == 1 ? "node" : "nodes", claim));
  }
  return judgement;
}

}  // namespace

extern const ProbeSpec probe_cpu_affinity{
    .name = "cpu_affinity",
    .summary = "The CPUs that the kernel lets each rank run on.",
    .params = params,
    .metrics = metrics,
    .run = run,
    .judge = judge,
};

}  // namespace muster
