// Whether each rank runs near its device, and whether all nodes give their devices out in the same order.
#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/placement.hpp"
#include "measure/bind_words.hpp"
#include "measure/node_ranks.hpp"

namespace muster::gpu_mapping {

namespace {

Nearness place_of(const RankView& rank) {
  return nearness_of(rank.cpus("mask"), rank.cpus("device.cpus"));
}

bool is_far(const RankView& rank) {
  const Nearness place = place_of(rank);
  return place == Nearness::touching || place == Nearness::apart;
}

/// ` (NUMA domain 3)`; empty where the node reported none.
std::string domains_in(const Layout& layout, const CpuMask& mask) {
  const CpuMask domains = layout.domains_of(mask);
  return domains.empty() ? std::string()
                         : fmt::format(" (NUMA domain{} {})", domains.count() == 1 ? "" : "s", domains.list());
}

std::string described(const Layout& layout, const RankView& rank) {
  const CpuMask mask = rank.cpus("mask");
  const CpuMask near = rank.cpus("device.cpus");
  return fmt::format("local rank {} may run on CPUs {}{}, its GPU {} is at CPUs {}{}", rank.place->local_rank,
                     mask.list(), domains_in(layout, mask), rank.fact("device.address"), near.list(),
                     domains_in(layout, near));
}

/// The node from the report of its first rank; without cores: it reported no layout.
NodeParts parts_of(const CaseView& view, const NodeRanks& node) {
  NodeParts parts;
  parts.layout = parse_layout(node.ranks[0].seen->facts);
  parts.may = node.ranks[0].cpus("node_cpus");
  for (const int core : view.node.reserved_cores) parts.reserved.add(core);
  for (const RankView& rank : node.ranks) {
    const std::string address = rank.fact("device.address");
    const auto near = parts.layout.nearby.find(address);
    parts.gpus.push_back({address, {}, near == parts.layout.nearby.end() ? rank.cpus("device.cpus") : near->second, 0});
  }
  return parts;
}

std::vector<CpuMask> masks_of(const NodeRanks& node) {
  std::vector<CpuMask> masks;
  for (const RankView& rank : node.ranks) masks.push_back(rank.cpus("mask"));
  return masks;
}

/// As `muster bind` would bind these ranks to these GPUs.
std::string line_for_far(const CaseView& view, const NodeRanks& node) {
  const NodeParts parts = parts_of(view, node);
  if (parts.layout.empty()) return {};
  PlacementRequest request;
  request.ranks = static_cast<int>(node.ranks.size());
  request.smt = view.node.bind && view.node.bind->smt;
  std::vector<int> numbers;
  for (std::size_t i = 0; i < node.ranks.size(); ++i) {
    request.gpu_of_rank.push_back(static_cast<int>(i));
    numbers.push_back(node.ranks[i].place->rank);
  }
  const auto placement = place_ranks(parts, request);
  if (!placement) return {};
  return fmt::format(
      "bind each rank next to its GPU: {}; or give each rank the GPU that is near",
      launch_line(node.ranks[0].fact("launcher"), parts, *placement, numbers, printable_line(node.host, 60)));
}

/// A line to paste, where every rank's domain is known. Without a layout two ranks of one domain still have to share it
/// out.
std::string remedy_for_far(const CaseView& view, const NodeRanks& node) {
  if (std::string line = line_for_far(view, node); !line.empty()) return line;
  std::vector<std::string> lists;
  JobBinding binding;
  bool is_shared = false;
  std::vector<int> numbers;
  for (const RankView& rank : node.ranks) {
    const CpuMask domain = rank.cpus("device.cpus");
    if (domain.empty()) return "bind each rank to CPUs of the NUMA domain of its GPU";
    is_shared |= is_in(domain.list(), lists);
    lists.push_back(domain.list());
    binding.ranks.push_back({domain.list(), domain.hex()});
    numbers.push_back(rank.place->rank);
  }
  return fmt::format("bind the ranks to CPUs {}, in this order{}: {}; or give each rank the GPU that is near",
                     human_list(lists), is_shared ? ", those with the same ones to a part of them each" : "",
                     bind_words(node.ranks[0].fact("launcher")).masks(binding, numbers, printable_line(node.host, 60)));
}

/// The addresses by local rank.
std::vector<std::string> order_of(const NodeRanks& node) {
  std::vector<std::string> order;
  for (const RankView& rank : node.ranks) order.push_back(rank.fact("device.address"));
  return order;
}

using InjectedFaults = std::map<std::vector<std::string>, std::vector<const NodeRanks*>>;

/// Of nodes that have as many ranks; those with a rank whose device is not its own, or not known, have their finding.
InjectedFaults orders_of(const Nodes& nodes, std::size_t ranks) {
  InjectedFaults orders;
  for (const NodeRanks& node : nodes) {
    const auto order = order_of(node);
    const bool is_reported = !is_in(std::string(), order);
    if (node.ranks.size() == ranks && is_reported && !node.is_explained()) orders[order].push_back(&node);
  }
  return orders;
}

void judge_orders(const InjectedFaults& orders, Tally& tally) {
  if (orders.size() < 2) return;
  std::vector<std::pair<std::vector<std::string>, std::vector<const NodeRanks*>>> groups(orders.begin(), orders.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const auto& [usual, most] = groups[0];
  const bool has_majority = most.size() > groups[1].second.size();
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const auto& [order, some] = groups[i];
    const auto differ = std::mismatch(order.begin(), order.end(), usual.begin());
    auto sorted = order;
    auto usually = usual;
    std::sort(sorted.begin(), sorted.end());
    std::sort(usually.begin(), usually.end());
    const std::string others =
        has_majority && most.size() > 1 ? fmt::format("{} other nodes", most.size()) : most[0]->host;
    const std::string reason =
        fmt::format("local rank {} has GPU {} {}, but {} on {}{}", differ.first - order.begin(), *differ.first,
                    on_nodes, *differ.second, others, sorted == usually ? ": the same GPUs in another order" : "");
    for (const NodeRanks* node : some) {
      std::vector<Culprit> culprits{culprit_of(*node)};
      if (!has_majority && node == some[0]) culprits.insert(culprits.begin(), culprit_of(*most[0]));
      tally.add(
          {reason, sorted == usually
                       ? "set the selecting variables and LOCAL_RANK alike on all nodes, in one wrapper for all ranks"
                       : "run on nodes that are alike; where they should be, find the GPU that is missing or moved on "
                         "the outlier"},
          node->host, culprits);
    }
  }
}

}  // namespace

void note_cages(const Nodes& nodes, std::vector<Finding>& findings) {
  Tally tally;
  for (const NodeRanks& node : nodes) {
    std::set<std::string> gpus;
    for (const RankView& rank : node.ranks)
      if (rank.gpus.size() == 1 && !rank.is_explained) gpus.insert(rank.gpus[0]);
    if (node.ranks.size() < 2 || gpus.size() != node.ranks.size()) continue;
    // No remedy: the frame shows none of a note.
    tally.add({fmt::format("a control group {} leaves each rank one GPU: direct copies between GPUs of two ranks (CUDA "
                           "and HIP IPC) may fail there, as with --gpus-per-task and --gpu-bind",
                           on_nodes),
               {},
               Verdict::pass},
              node.host, {});
  }
  tally.move_to(findings);
}

namespace {

/// Where its task has several, torchrun leaves each process all CPUs of the task.
bool has_several_processes(const RankView& rank) {
  return rank.processes().value_or(2) > 1;
}

}  // namespace

void judge_near(const CaseView& view, const Nodes& nodes, std::vector<Finding>& findings) {
  Tally tally;
  for (const NodeRanks& node : nodes) {
    if (std::any_of(node.ranks.begin(), node.ranks.end(), has_several_processes)) {
      tally.add({fmt::format("{} starts its processes {} on all CPUs of their task: none is confined to the NUMA "
                             "domain of its GPU",
                             starter_on(node).command, on_nodes),
                 "", Verdict::pass},
                node.host, {});
      continue;
    }
    std::vector<std::string> texts;
    std::vector<Culprit> culprits;
    const NodeParts parts = parts_of(view, node);
    for (const RankView& rank : node.ranks) {
      if (!is_far(rank) || rank.is_explained) continue;
      texts.push_back(described(parts.layout, rank));
      culprits.push_back(culprit_of(rank));
    }
    if (texts.empty()) continue;
    const bool is_noted = view.node.bind && view.node.bind->is_far_noted && are_shares_in_order(parts, masks_of(node));
    const bool is_required = view.params.text("near") == "required" && !is_noted;
    tally.add({fmt::format("{} of {} {} not confined to the NUMA domain of {} GPU {}: {}", texts.size(),
                           node.ranks.size(), texts.size() == 1 ? "ranks is" : "ranks are",
                           texts.size() == 1 ? "its" : "their", on_nodes, human_list(texts, 2)),
               remedy_for_far(view, node), is_required ? Verdict::fail : Verdict::pass},
              node.host, is_required ? culprits : std::vector<Culprit>());
  }
  tally.move_to(findings);
}

void judge_order(const Nodes& nodes, std::vector<Finding>& findings) {
  std::set<std::size_t> sizes;
  for (const NodeRanks& node : nodes) sizes.insert(node.ranks.size());
  Tally tally;
  for (const std::size_t ranks : sizes) judge_orders(orders_of(nodes, ranks), tally);
  tally.move_to(findings);
}

NearTally near_tally(const Nodes& nodes) {
  NearTally tally;
  for (const NodeRanks& node : nodes)
    for (const RankView& rank : node.ranks) {
      const Nearness place = place_of(rank);
      ++(place == Nearness::inside ? tally.near : place == Nearness::unknown ? tally.unknown : tally.far);
    }
  return tally;
}

}  // namespace muster::gpu_mapping
