// Whether each rank runs near its device, and whether all nodes give their devices out in the same order.
#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "probes/gpu_mapping/node_ranks.hpp"

namespace muster::gpu_mapping {

namespace {

enum class Place { near, far, unknown };

Place place_of(const RankView& rank) {
  const CpuMask domain = rank.cpus("device.cpus");
  const CpuMask mask = rank.cpus("mask");
  if (domain.empty() || mask.empty()) return Place::unknown;
  return mask.is_subset_of(domain) ? Place::near : Place::far;
}

std::string described(const RankView& rank) {
  const CpuMask mask = rank.cpus("mask");
  return fmt::format("local rank {} may run on CPUs {}, its GPU {} is at CPUs {}", rank.place->local_rank, mask.list(),
                     rank.fact("device.address"), rank.cpus("device.cpus").list());
}

/// A line to paste, where every rank's domain is told. Two ranks of one domain still have to share it out.
std::string remedy_for_far(const NodeRanks& node) {
  std::vector<std::string> lists;
  std::vector<std::string> masks;
  bool is_shared = false;
  for (const RankView& rank : node.ranks) {
    const CpuMask domain = rank.cpus("device.cpus");
    if (domain.empty()) return "bind each rank to CPUs of the NUMA domain of its GPU";
    is_shared |= std::find(masks.begin(), masks.end(), domain.hex()) != masks.end();
    lists.push_back(domain.list());
    masks.push_back(domain.hex());
  }
  return fmt::format(
      "bind the ranks to CPUs {}, in this order{}: srun --cpu-bind=mask_cpu:{}; or give each rank the GPU "
      "that is near",
      human_list(lists), is_shared ? ", those with the same ones to a part of them each" : "", join(masks, ","));
}

/// The addresses by local rank.
std::vector<std::string> order_of(const NodeRanks& node) {
  std::vector<std::string> order;
  for (const RankView& rank : node.ranks) order.push_back(rank.fact("device.address"));
  return order;
}

using Orders = std::map<std::vector<std::string>, std::vector<const NodeRanks*>>;

/// Of nodes that have as many ranks; those with a rank whose device is not its own, or not known, have their finding.
Orders orders_of(const Nodes& nodes, std::size_t ranks) {
  Orders orders;
  for (const NodeRanks& node : nodes) {
    const auto order = order_of(node);
    const bool is_told = std::find(order.begin(), order.end(), std::string()) == order.end();
    if (node.ranks.size() == ranks && is_told && !node.is_explained()) orders[order].push_back(&node);
  }
  return orders;
}

void judge_orders(const Orders& orders, Tally& tally) {
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
          {reason,
           sorted == usually
               ? "set the selecting variables and LOCAL_RANK alike on all nodes, in one wrapper for all ranks"
               : "run on nodes that are alike; where they should be, see which GPU is missing or moved on the odd "
                 "one"},
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

void judge_near(const CaseView& view, const Nodes& nodes, std::vector<Finding>& findings) {
  Tally tally;
  for (const NodeRanks& node : nodes) {
    std::vector<std::string> texts;
    std::vector<Culprit> culprits;
    for (const RankView& rank : node.ranks) {
      if (place_of(rank) != Place::far || rank.is_explained) continue;
      texts.push_back(described(rank));
      culprits.push_back(culprit_of(rank));
    }
    if (texts.empty()) continue;
    const bool is_required = view.params.text("near") == "required";
    tally.add({fmt::format("{} of {} {} not confined to the NUMA domain of {} GPU {}: {}", texts.size(),
                           node.ranks.size(), texts.size() == 1 ? "ranks is" : "ranks are",
                           texts.size() == 1 ? "its" : "their", on_nodes, human_list(texts, 2)),
               remedy_for_far(node), is_required ? Verdict::fail : Verdict::pass},
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

Nearness nearness_of(const Nodes& nodes) {
  Nearness nearness;
  for (const NodeRanks& node : nodes)
    for (const RankView& rank : node.ranks) {
      const Place place = place_of(rank);
      ++(place == Place::near ? nearness.near : place == Place::far ? nearness.far : nearness.unknown);
    }
  return nearness;
}

}  // namespace muster::gpu_mapping
