#include "probes/cpu_affinity/node_masks.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/bind_lines.hpp"
#include "device/placement.hpp"
#include "measure/bind_words.hpp"

namespace muster::affinity {

namespace {

std::string text_fact(const Observation& seen, std::string_view key) {
  const std::string* text = seen.fact(key);
  return text == nullptr ? std::string() : *text;
}

CpuMask mask_fact(const Observation& seen, std::string_view key) {
  const auto mask = CpuMask::parse_list(text_fact(seen, key));
  return mask ? *mask : CpuMask();
}

RankMask rank_of(const Observation& seen, int number) {
  RankMask rank;
  rank.rank = number;
  rank.mask = mask_fact(seen, "mask");
  rank.cores = mask_fact(seen, "cores");
  rank.asked = mask_fact(seen, "asked");
  rank.asked_by = printable_line(text_fact(seen, "asked_by"), 100);
  rank.binder = text_fact(seen, "binder");
  rank.asked_for = printable_line(text_fact(seen, "asked_for"), 100);
  rank.nic_policy = text_fact(seen, "nic_policy");
  for (const std::string& list : split(text_fact(seen, "threads"), ';'))
    if (const auto mask = CpuMask::parse_list(list)) rank.threads.push_back(*mask);
  rank.gpu = text_fact(seen, "gpu");
  rank.gpu_because = text_fact(seen, "gpu_because");
  rank.memory_policy = text_fact(seen, "memory_policy");
  rank.memory = mask_fact(seen, "memory_allowed");
  rank.quota = std::strtod(text_fact(seen, "cpu_quota").c_str(), nullptr);
  rank.quota_group = text_fact(seen, "cpu_quota_group");
  return rank;
}

void add_node_facts(const Observation& seen, NodeMasks& node) {
  node.cpus = node.cpus | mask_fact(seen, "node_cpus");
  node.cores = node.cores | mask_fact(seen, "node_cores");
  if (node.launcher.empty()) node.launcher = text_fact(seen, "launcher");
  node.is_inside_step |= text_fact(seen, "inside") == "srun";
  if (node.layout.empty()) node.layout = parse_layout(seen.facts);
  if (node.gpus.empty()) node.gpus = split(text_fact(seen, "gpus"), ',');
}

void finish_node(const CaseView& view, NodeMasks& node) {
  for (const int core : view.node.reserved_cores) node.reserved.add(core);
  node.reserved = node.layout.whole_cores(node.reserved);
}

NodeParts parts_of(const CaseView& view, const NodeMasks& node) {
  NodeParts parts;
  parts.layout = node.layout;
  parts.may = node.cpus;
  parts.reserved = node.reserved;
  if (view.node.gpus) parts.vendor = view.node.gpus->vendor;
  std::vector<std::string> addresses = node.gpus;
  for (const RankMask& rank : node.ranks)
    if (!rank.gpu.empty() && !is_in(rank.gpu, addresses)) addresses.push_back(rank.gpu);
  for (const std::string& address : addresses) {
    const auto near = node.layout.nearby.find(address);
    parts.gpus.push_back({address, {}, near == node.layout.nearby.end() ? CpuMask() : near->second, 0});
  }
  return parts;
}

/// A GPU that the environment gives a rank stays its own. Where it gives none, the profile determines the binding.
PlacementRequest request_for(const CaseView& view, const NodeMasks& node, const NodeParts& parts) {
  PlacementRequest request;
  request.ranks = static_cast<int>(node.ranks.size());
  request.cores = static_cast<int>(view.params.integer("cores"));
  request.smt = view.node.bind && view.node.bind->smt;
  request.policy = usual_policy(parts);
  const bool is_any = view.params.text("devices") == "any";
  const bool is_settled =
      std::any_of(node.ranks.begin(), node.ranks.end(), [](const RankMask& rank) { return !rank.gpu.empty(); });
  const auto policy = view.node.bind ? parse_bind_policy(view.node.bind->policy) : std::nullopt;
  if (policy && !is_any && !is_settled && !parts.gpus.empty()) {
    request.policy = *policy;
    return request;
  }
  request.gpu_of_rank.assign(node.ranks.size(), -1);
  if (is_any) return request;
  for (const RankGpu& gpu : gpus_of_ranks(node))
    for (std::size_t i = 0; i < parts.gpus.size(); ++i)
      if (parts.gpus[i].address == gpu.address)
        request.gpu_of_rank[static_cast<std::size_t>(gpu.rank - node.ranks.data())] = static_cast<int>(i);
  return request;
}

/// How the ranks get their GPUs, where the profile gives them out in another order than their own.
std::string gpus_in_line(const CaseView& view, const NodeMasks& node, const NodeParts& parts,
                         const Placement& placement, const PlacementRequest& request) {
  bool in_order = !request.gpu_of_rank.empty();
  for (std::size_t i = 0; i < placement.ranks.size() && !in_order; ++i)
    if (placement.ranks[i].gpu != static_cast<int>(i)) {
      const BindWords& words = bind_words(node.launcher);
      if (words.local_rank == "SLURM_LOCALID" && view.node.bind->select == "map_gpu") return srun_gpus(placement);
      return gpu_wrapper(placement, visible_variable(parts.vendor), words.local_rank);
    }
  return {};
}

}  // namespace

std::vector<NodeMasks> masks_by_node(const CaseView& view, Findings& findings) {
  std::map<int, NodeMasks> nodes;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    const RankPlace& place = view.ranks[i];
    NodeMasks& node = nodes[place.node_index];
    node.host = place.host;
    add_node_facts(*seen, node);
    RankMask rank = rank_of(*seen, place.rank);
    if (!rank.mask.empty()) {
      node.ranks.push_back(std::move(rank));
      continue;
    }
    Finding finding = about(node, {place.rank}, fmt::format("rank {} on {} reported no mask", place.rank, node.host),
                            "report this: the observation is incomplete");
    finding.verdict = Verdict::unmeasured;
    findings.push_back(std::move(finding));
  }
  std::vector<NodeMasks> list;
  for (auto& entry : nodes) {
    if (entry.second.ranks.empty()) continue;
    finish_node(view, entry.second);
    list.push_back(std::move(entry.second));
  }
  return list;
}

std::string rank_name(int rank) {
  return fmt::format("rank {}", rank);
}

std::string named(std::string_view word, const CpuMask& set) {
  return fmt::format("{}{} {}", word, set.count() == 1 ? "" : "s", set.list());
}

Finding about(const NodeMasks& node, std::vector<int> ranks, std::string reason, std::string remedy) {
  Finding finding;
  finding.reason = std::move(reason);
  finding.remedy = std::move(remedy);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (const int rank : ranks) finding.culprits.push_back({CulpritKind::rank, rank_name(rank), node.host, rank});
  return finding;
}

std::vector<int> all_ranks(const NodeMasks& node) {
  std::vector<int> ranks;
  for (const RankMask& rank : node.ranks) ranks.push_back(rank.rank);
  return ranks;
}

namespace {

/// Rank i with GPU i, as programs take them, where no variable selects another; empty: there are fewer GPUs than ranks.
std::vector<std::string> gpus_in_order(const NodeMasks& node) {
  const bool is_open =
      std::all_of(node.ranks.begin(), node.ranks.end(), [](const RankMask& rank) { return rank.gpu.empty(); });
  if (!is_open || node.gpus.size() < node.ranks.size()) return {};
  return {node.gpus.begin(), node.gpus.begin() + static_cast<std::ptrdiff_t>(node.ranks.size())};
}

RankGpu gpu_at(const NodeMasks& node, std::size_t rank, std::string address, std::string because) {
  const auto near = node.layout.nearby.find(address);
  return {&node.ranks[rank], std::move(address), std::move(because),
          near == node.layout.nearby.end() ? CpuMask() : near->second};
}

}  // namespace

std::vector<RankGpu> gpus_of_ranks(const NodeMasks& node) {
  const std::vector<std::string> in_order =
      node.gpus.size() == node.ranks.size() ? gpus_in_order(node) : std::vector<std::string>();
  std::vector<RankGpu> found;
  std::map<std::string, int> users;
  for (std::size_t i = 0; i < node.ranks.size(); ++i) {
    RankGpu one = in_order.empty() ? gpu_at(node, i, node.ranks[i].gpu, node.ranks[i].gpu_because)
                                   : gpu_at(node, i, in_order[i], "one per rank, in their order");
    if (one.near.empty()) continue;
    ++users[one.address];
    found.push_back(std::move(one));
  }
  std::erase_if(found, [&](const RankGpu& one) { return users[one.address] != 1; });
  return found;
}

std::vector<RankGpu> first_gpus(const NodeMasks& node) {
  std::vector<RankGpu> found;
  if (node.gpus.size() <= node.ranks.size()) return found;
  const std::vector<std::string> in_order = gpus_in_order(node);
  for (std::size_t i = 0; i < in_order.size(); ++i)
    if (RankGpu one = gpu_at(node, i, in_order[i], "the GPU of its local rank"); !one.near.empty())
      found.push_back(std::move(one));
  return found;
}

namespace {

/// What the person who chose this binding has to change, up to the next imperative; empty: muster chose it.
std::string first_step(const NodeMasks& node) {
  for (const RankMask& rank : node.ranks) {
    if (rank.binder == "options")
      return "change the options given to the launcher (-J, or launcher_options of the profile): ";
    if (rank.binder == "line") return "change the launch line: ";
    if (!rank.asked_for.empty()) return fmt::format("remove {}, or ", rank.asked_for);
  }
  return {};
}

/// The options that would bind the ranks of this node right; empty: unknown.
std::string right_line(const CaseView& view, const NodeMasks& node) {
  // Ranks that stayed silent need masks, too: without them no line is right.
  std::size_t ranks_here = 0;
  for (const RankPlace& place : view.ranks) ranks_here += place.host == node.host;
  if (node.layout.empty() || ranks_here != node.ranks.size()) return {};
  const NodeParts parts = parts_of(view, node);
  const PlacementRequest request = request_for(view, node, parts);
  const auto placement = place_ranks(parts, request);
  if (!placement) return {};
  std::string line = launch_line(node.launcher, parts, *placement, all_ranks(node), printable_line(node.host, 60));
  if (const std::string gpus = gpus_in_line(view, node, parts, *placement, request); !gpus.empty()) line += " " + gpus;
  return line;
}

}  // namespace

std::string with_line(const CaseView& view, const NodeMasks& node, std::string text) {
  text = first_step(node) + text;
  const std::string line = right_line(view, node);
  return line.empty() ? text : fmt::format("{}; right on {}: {}", text, node.host, line);
}

}  // namespace muster::affinity
