#include "app/job_binding.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "app/machine_files.hpp"
#include "base/text.hpp"
#include "device/bind_lines.hpp"
#include "device/placement.hpp"
#include "model/plan.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

/// What ranks are placed by; the same for every launch of a run.
struct Ground {
  std::string source;
  std::optional<NodeParts> node;  ///< empty: ranks are bound to cores as the launcher counts them
  BindPolicy policy = BindPolicy::gpu;
  bool smt = false;
  std::vector<CpuMask> masks;  ///< published ones, by local rank
  bool launcher_selects_gpus = false;
  CpuMask allowed;             ///< of the job on this node; empty: not known
  std::optional<int> granted;  ///< as in BindableNode
};

/// Why a job on part of a node can't have these masks; empty: nothing speaks against them.
std::string obstacle(const Ground& ground, const JobBinding& binding) {
  CpuMask all;
  for (const RankBinding& rank : binding.ranks)
    if (const auto mask = CpuMask::parse_list(rank.cpus)) all = all | *mask;
  if (ground.granted && all.count() > *ground.granted)
    return fmt::format("{} needs {} CPUs of a node, and the job has {}", ground.source, all.count(), *ground.granted);
  if (!ground.allowed.empty() && !all.is_subset_of(ground.allowed))
    return fmt::format("{} needs CPUs {}, and the job has {}", ground.source, all.list(), ground.allowed.list());
  return {};
}

JobBinding unless_refused(const Ground& ground, JobBinding binding) {
  std::string why = obstacle(ground, binding);
  if (why.empty()) return binding;
  return {BindKind::cores, std::move(why), {}, {}, false};
}

/// Published masks name no GPUs: rank i takes GPU i by policy `gpu`, the nearest one by `cores`; -1: none.
int gpu_of(const Ground& ground, std::size_t rank) {
  if (ground.policy == BindPolicy::gpu) return static_cast<int>(rank);
  return ground.policy == BindPolicy::cores && ground.node ? nearest_gpu(*ground.node, ground.masks[rank]) : -1;
}

JobBinding of_masks(const Ground& ground) {
  JobBinding binding{BindKind::masks, ground.source, {}, {}, ground.launcher_selects_gpus};
  for (std::size_t rank = 0; rank < ground.masks.size(); ++rank)
    binding.ranks.push_back({ground.masks[rank].list(), ground.masks[rank].hex(), gpu_of(ground, rank)});
  return binding;
}

JobBinding of_placement(const Ground& ground, int ranks) {
  const auto placement = place_ranks(*ground.node, {ranks, ground.policy, 0, ground.smt, {}});
  if (!placement) return {};
  JobBinding binding{
      BindKind::masks, ground.source, {}, mpirun_mapping(*ground.node, *placement), ground.launcher_selects_gpus};
  for (const RankSeat& seat : placement->ranks) binding.ranks.push_back({seat.cpus.list(), seat.cpus.hex(), seat.gpu});
  return binding;
}

JobBinding bind_job(const Ground& ground, const RanksSpec& spec, int ranks) {
  using Kind = RanksSpec::Kind;
  if (spec.kind == Kind::one_per_node) return {BindKind::node, {}, {}, {}, false};
  if (spec.kind != Kind::one_per_core) {
    if (!ground.masks.empty() && ground.masks.size() == static_cast<std::size_t>(ranks))
      return unless_refused(ground, of_masks(ground));
    if (ground.node && !ground.node->gpus.empty()) return unless_refused(ground, of_placement(ground, ranks));
  }
  // One rank on one core of many would measure that core.
  return ranks == 1 ? JobBinding{BindKind::node, {}, {}, {}, false} : JobBinding();
}

const PartitionProfile* with_binding(const SystemProfile& system) {
  for (const PartitionProfile& partition : system.partitions)
    if (partition.node.bind && (!partition.node.bind->policy.empty() || !partition.node.bind->masks.empty()))
      return &partition;
  return nullptr;
}

/// The devices of this node, as far as this job may use it; nullopt: no GPU.
std::optional<NodeParts> own_parts() {
  auto layout = read_layout("");
  const auto inventory = read_inventory("/");
  if (!layout || !inventory) return std::nullopt;
  NodeParts node = parts_of(std::move(*layout), *inventory);
  if (node.gpus.empty()) return std::nullopt;
  node.may = node_cpus();
  return node;
}

void reserve(const PartitionProfile& partition, NodeParts& node) {
  if (partition.node.reserved_cores.empty()) return;
  node.reserved = {};
  for (const int core : partition.node.reserved_cores) node.reserved.add(core);
}

Ground of_profile(const SystemProfile& system, const PartitionProfile& partition) {
  const BindExpectation& wanted = *partition.node.bind;
  Ground ground;
  ground.source = "profile " + system.name;
  ground.smt = wanted.smt;
  ground.policy = parse_bind_policy(wanted.policy).value_or(BindPolicy::gpu);
  ground.launcher_selects_gpus = wanted.select == "map_gpu";
  for (const std::string& text : wanted.masks)
    if (auto mask = CpuMask::parse_hex(text)) ground.masks.push_back(std::move(*mask));
  if (partition.machine.empty()) return ground;
  if (const auto described = load_machine(partition.machine)) {
    ground.node = parts_of(*described);
    reserve(partition, *ground.node);
  }
  return ground;
}

Ground of_this_node(const SystemProfile& system) {
  Ground ground;
  ground.source = "auto";
  ground.node = own_parts();
  if (ground.node)
    for (const PartitionProfile& partition : system.partitions) reserve(partition, *ground.node);
  return ground;
}

}  // namespace

Result<BindJob> choose_binding(const std::string& wish, const SystemProfile& system, const BindableNode& node) {
  static const std::vector<std::string> known{"none", "profile", "auto", "cores"};
  if (!wish.empty() && std::find(known.begin(), known.end(), wish) == known.end())
    return fail(ErrorKind::usage, "--bind",
                fmt::format("unknown binding \"{}\"{}; write none, profile, auto or cores", printable_line(wish, 40),
                            suggestion(wish, known)));
  if (wish == "none")
    return BindJob([](const RanksSpec&, int) { return JobBinding{BindKind::none, "--bind none", {}, {}, false}; });
  const PartitionProfile* partition = with_binding(system);
  if (wish == "profile" && partition == nullptr)
    return fail(ErrorKind::usage, "--bind",
                fmt::format("the profile {} has no [partition.node.bind]; write auto or cores", system.name));
  Ground ground;
  if (partition != nullptr && (wish.empty() || wish == "profile"))
    ground = of_profile(system, *partition);
  else if (node.is_here && (wish.empty() || wish == "auto"))
    ground = of_this_node(system);
  ground.granted = node.granted;
  if (node.is_here) ground.allowed = node_cpus();
  return BindJob([shared = std::make_shared<const Ground>(std::move(ground))](const RanksSpec& spec, int ranks) {
    return bind_job(*shared, spec, ranks);
  });
}

}  // namespace muster
