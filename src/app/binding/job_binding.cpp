#include "app/binding/job_binding.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "app/binding/node_parts.hpp"
#include "app/inputs/machine_files.hpp"
#include "base/lists.hpp"
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
  bool has_core_numbers = false;  ///< hwloc counts the cores of `node` as a launcher there does
  CpuMask allowed;                ///< of the job on this node; empty: not known
  std::optional<int> granted;     ///< as in BindableNode
  bool is_asked_by_name = false;  ///< `profile` or `auto`: reported where it is not available
  bool is_cores = false;          ///< `cores`
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

/// `why` masks are not to be had; empty: nothing was asked for that cores do not give.
JobBinding to_cores(std::string why) {
  JobBinding binding;
  binding.why_cores = std::move(why);
  return binding;
}

JobBinding unless_refused(const Ground& ground, JobBinding binding) {
  std::string why = obstacle(ground, binding);
  return why.empty() ? binding : to_cores(std::move(why));
}

/// Published masks name no GPUs: rank i takes GPU i by policy `gpu`, the nearest one by `cores`; -1: none.
int gpu_of(const Ground& ground, std::size_t rank) {
  const bool is_there = !ground.node || rank < ground.node->gpus.size();
  if (ground.policy == BindPolicy::gpu) return is_there ? static_cast<int>(rank) : -1;
  return ground.policy == BindPolicy::cores && ground.node ? nearest_gpu(*ground.node, ground.masks[rank]) : -1;
}

RankBinding of_seat(const Ground& ground, const RankPlacement& seat) {
  if (!ground.node) return {seat.cpus.list(), seat.cpus.hex(), seat.gpu};
  RankBinding rank = rank_binding(*ground.node, seat);
  if (!ground.has_core_numbers || ground.node->layout.whole_cores(seat.cpus) != seat.cpus) rank.cores.clear();
  return rank;
}

/// Programs take the GPU of their local rank, unless a variable selects another. None is set where ranks would share a
/// GPU: then those without one of their own report it.
std::string gpu_variable(const Ground& ground, const std::vector<RankBinding>& ranks) {
  bool is_in_order = true;
  std::set<int> taken;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].gpu < 0 || !taken.insert(ranks[i].gpu).second) return {};
    is_in_order &= ranks[i].gpu == static_cast<int>(i);
  }
  return is_in_order || !ground.node ? std::string() : std::string(visible_variable(ground.node->vendor));
}

JobBinding of_seats(const Ground& ground, const Placement& placement) {
  JobBinding binding{BindKind::masks, ground.source, {}, {}, ground.launcher_selects_gpus};
  for (const RankPlacement& seat : placement.ranks) binding.ranks.push_back(of_seat(ground, seat));
  binding.gpu_variable = gpu_variable(ground, binding.ranks);
  return binding;
}

JobBinding of_masks(const Ground& ground) {
  Placement placement;
  for (std::size_t rank = 0; rank < ground.masks.size(); ++rank)
    placement.ranks.push_back({ground.masks[rank], gpu_of(ground, rank), -1});
  if (ground.node) give_nics(*ground.node, placement);
  return of_seats(ground, placement);
}

/// A mapping binds to whole cores.
bool has_whole_cores(const NodeParts& node, const Placement& placement) {
  return std::all_of(placement.ranks.begin(), placement.ranks.end(),
                     [&](const RankPlacement& seat) { return node.layout.whole_cores(seat.cpus) == seat.cpus; });
}

JobBinding of_placement(const Ground& ground, int ranks) {
  const auto placement = place_ranks(*ground.node, {ranks, ground.policy, 0, ground.smt, {}});
  if (!placement) return to_cores(fmt::format("{}: {}", ground.source, placement.error().what));
  JobBinding binding = of_seats(ground, *placement);
  if (has_whole_cores(*ground.node, *placement)) binding.openmpi_mapping = mpirun_mapping(*ground.node, *placement);
  return binding;
}

/// Why there are no masks for these ranks; empty: none were asked for by name.
std::string why_no_masks(const Ground& ground, const RanksSpec& spec, int ranks) {
  if (!ground.is_asked_by_name) return {};
  if (spec.kind == RanksSpec::Kind::one_per_core)
    return fmt::format("{} binds ranks of GPUs, and these are one per core", ground.source);
  if (!ground.masks.empty())
    return fmt::format("{} has masks for {} ranks of a node, not {}", ground.source, ground.masks.size(), ranks);
  return fmt::format("{} finds no GPU that ranks could be near to", ground.source);
}

JobBinding bind_job(const Ground& ground, const RanksSpec& spec, int ranks) {
  using Kind = RanksSpec::Kind;
  if (spec.kind == Kind::one_per_node) return {BindKind::node, {}, {}, {}};
  if (spec.kind != Kind::one_per_core) {
    if (!ground.masks.empty() && ground.masks.size() == static_cast<std::size_t>(ranks))
      return unless_refused(ground, of_masks(ground));
    // One rank on a node of several GPUs is there for the node, as with --ranks-per-node 1.
    const bool is_for_node = ranks == 1 && ground.node && ground.node->gpus.size() > 1;
    if (ground.node && !ground.node->gpus.empty() && !is_for_node)
      return unless_refused(ground, of_placement(ground, ranks));
  }
  // One rank on one core of many would measure that core.
  if (ranks == 1) return {BindKind::node, {}, {}, {}};
  return ground.is_cores ? JobBinding{BindKind::cores, ground.source, {}, {}}
                         : to_cores(why_no_masks(ground, spec, ranks));
}

const PartitionProfile* with_binding(const SystemProfile& system) {
  for (const PartitionProfile& partition : system.partitions)
    if (partition.node.bind && (!partition.node.bind->policy.empty() || !partition.node.bind->masks.empty()))
      return &partition;
  return nullptr;
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
    // Where the system keeps cores for itself, hwloc does not count them, or does: that depends on how it keeps them.
    ground.has_core_numbers = ground.node->reserved.empty();
  }
  return ground;
}

/// Of a node elsewhere nothing can be read here, unless it may be asked.
bool is_read_here(const BindableNode& node) {
  return node.is_here || (!node.ask && !node.simulated.empty());
}

/// Which CPUs of a node the job has, as far as that is known here.
void take_limits(const BindableNode& node, Ground& ground) {
  ground.granted = node.granted;
  if (!node.simulated.empty())
    ground.allowed = node_cpus(node.simulated / "root");
  else if (node.is_here)
    ground.allowed = node_cpus();
}

/// Those of the described node, else of this one.
std::optional<NodeParts> parts_with_reserved(const PartitionProfile& partition, const BindableNode& node) {
  std::optional<NodeParts> parts;
  if (!partition.machine.empty()) {
    if (const auto described = load_machine(partition.machine)) parts = parts_of(*described);
  } else if (is_read_here(node)) {
    parts = cores_of_this_node(node.simulated);
  }
  if (parts) reserve(partition, *parts);
  return parts;
}

/// Why the launcher's shares hold the cores that the profile reserves as well.
JobBinding with_reserved(JobBinding binding, const SystemProfile& system, std::string_view why) {
  if (!binding.why_cores.empty()) binding.why_cores += "; ";
  binding.why_cores += fmt::format("the cores that profile {} reserves count as well, as {}", system.name, why);
  return binding;
}

/// Shares of the cores by masks, for a launcher that would also count the cores that the profile reserves. `binding`
/// as it is where it reserves none; with the reason where masks are not to be had.
JobBinding around_reserved(const SystemProfile& system, const BindableNode& node, JobBinding binding, int ranks) {
  for (const PartitionProfile& partition : system.partitions) {
    if (partition.node.reserved_cores.empty()) continue;
    Ground ground;
    ground.node = parts_with_reserved(partition, node);
    if (!ground.node)
      return with_reserved(std::move(binding), system,
                           "the cores of a node are not known here: start muster on a node of the job, or name a "
                           "description of the node in the profile (machine)");
    ground.source = fmt::format("{} except those reserved by profile {}",
                                binding.source.empty() ? "cores" : binding.source, system.name);
    take_limits(node, ground);
    const bool smt = !partition.node.bind || partition.node.bind->smt;
    const auto placement = place_ranks(*ground.node, {ranks, BindPolicy::compact, 0, smt, {}});
    if (!placement) break;
    JobBinding masks = of_seats(ground, *placement);
    if (const std::string why = obstacle(ground, masks); !why.empty())
      return with_reserved(std::move(binding), system, "masks of the others can't be had: " + why);
    masks.why_cores = std::move(binding.why_cores);
    return masks;
  }
  return binding;
}

Ground of_node(const SystemProfile& system, const BindableNode& node) {
  Ground ground;
  ground.source = "auto";
  ground.node = is_read_here(node) ? parts_of_this_node(node.simulated) : node.ask();
  if (ground.node) {
    for (const PartitionProfile& partition : system.partitions) reserve(partition, *ground.node);
    // A control group that takes cores from the job changes the numbers of the others.
    ground.has_core_numbers = ground.node->usable() == ground.node->layout.cpus();
  }
  return ground;
}

/// What ranks of a line of the user's own are placed by: also a node without a GPU, or without a profile.
Ground of_line(const SystemProfile& system, const BindableNode& node) {
  Ground ground;
  if (const PartitionProfile* partition = with_binding(system))
    ground = of_profile(system, *partition);
  else if (is_read_here(node))
    ground = of_node(system, node);
  if (ground.source.empty()) ground.source = "auto";
  if (!ground.node && is_read_here(node)) ground.node = parts_of_this_node(node.simulated);
  if (!ground.node && is_read_here(node)) ground.node = cores_of_this_node(node.simulated);
  for (const PartitionProfile& partition : system.partitions) {
    if (!ground.node) ground.node = parts_with_reserved(partition, node);
    if (ground.node) reserve(partition, *ground.node);
  }
  return ground;
}

/// What `muster bind` has for `ranks` ranks of a node, or why it has nothing.
JobBinding line_of_bind(const Ground& ground, int ranks) {
  const auto nothing = [](std::string why) {
    return JobBinding{BindKind::none, {}, {}, {}, false, {}, std::move(why)};
  };
  const bool is_published = !ground.masks.empty() && ground.masks.size() == static_cast<std::size_t>(ranks);
  if (!is_published && !ground.node)
    return nothing("the cores of a node are not known here; run muster bind on a node of the job");
  JobBinding binding;
  if (is_published) {
    binding = of_masks(ground);
  } else {
    const bool has_gpus = !ground.node->gpus.empty();
    const bool gives_gpus = ground.policy == BindPolicy::gpu || ground.policy == BindPolicy::cores;
    PlacementRequest request{ranks, gives_gpus && !has_gpus ? usual_policy(*ground.node) : ground.policy, 0,
                             ground.smt};
    // One rank on a node of several GPUs is there for the node: muster bind --gpus-per-rank.
    if (ranks == 1 && has_gpus && gives_gpus) request.gpus_per_rank = static_cast<int>(ground.node->gpus.size());
    const auto placement = place_ranks(*ground.node, request);
    if (!placement) return nothing(placement.error().what);
    binding = of_seats(ground, *placement);
    if (has_whole_cores(*ground.node, *placement)) binding.openmpi_mapping = mpirun_mapping(*ground.node, *placement);
  }
  std::string why = obstacle(ground, binding);
  return why.empty() ? binding : nothing(std::move(why));
}

/// What each word means on this system. The node is read when a launch first needs it.
class Bindings {
 public:
  Bindings(std::string name, SystemProfile system, const BindableNode& node)
      : option_(std::move(name)), system_(std::move(system)), node_(node) {}

  [[nodiscard]] Result<JobBinding> bind(const BindRequest& request) {
    const bool is_ours = option_.empty() && !request.binding.empty();
    const std::string& name = is_ours ? request.binding : option_;
    const std::string source = is_ours ? "bind = \"none\" of the check" : "--bind none";
    if (request.is_for_line) return line_of_bind(ground_of_line(), request.ranks_per_node);
    if (name == "none") return JobBinding{BindKind::none, source, {}, {}};
    if (name == "profile" && with_binding(system_) == nullptr)
      return fail(ErrorKind::usage, "bind",
                  fmt::format("the check requests the profile's binding, and the profile {} has no "
                              "[partition.node.bind]",
                              system_.name));
    JobBinding binding = bind_job(ground(name), request.ranks, request.ranks_per_node);
    const bool is_around = binding.kind == BindKind::cores && node_.counts_reserved_cores;
    return is_around ? around_reserved(system_, node_, std::move(binding), request.ranks_per_node) : binding;
  }

 private:
  const Ground& ground(const std::string& name) {
    const auto [at, is_new] = grounds_.try_emplace(name);
    if (!is_new) return at->second;
    const PartitionProfile* partition = with_binding(system_);
    if (partition != nullptr && (name.empty() || name == "profile"))
      at->second = of_profile(system_, *partition);
    else if ((is_read_here(node_) || node_.ask) && (name.empty() || name == "auto"))
      at->second = of_node(system_, node_);
    at->second.is_asked_by_name = name == "profile" || name == "auto";
    at->second.is_cores = name == "cores";
    if (at->second.source.empty()) at->second.source = option_ == "cores" ? "--bind cores" : option_;
    take_job(at->second);
    return at->second;
  }

  const Ground& ground_of_line() {
    if (!line_) {
      line_ = of_line(system_, node_);
      take_job(*line_);
    }
    return *line_;
  }

  void take_job(Ground& ground) const {
    take_limits(node_, ground);
    if (ground.allowed.empty() && ground.source == "auto" && ground.node) ground.allowed = ground.node->may;
  }

  std::string option_;
  SystemProfile system_;
  BindableNode node_;
  std::map<std::string, Ground> grounds_;
  std::optional<Ground> line_;
};

}  // namespace

Result<BindJob> choose_binding(const std::string& name, const SystemProfile& system, const BindableNode& node) {
  static const std::vector<std::string> known{"none", "profile", "auto", "cores"};
  if (!name.empty() && !is_in(name, known))
    return fail(ErrorKind::usage, "--bind",
                fmt::format("unknown binding \"{}\"{}", printable_line(name, 40), suggestion(name, known)));
  if (name == "profile" && with_binding(system) == nullptr)
    return fail(ErrorKind::usage, "--bind",
                fmt::format("the profile {} has no [partition.node.bind]; write auto or cores", system.name));
  auto bindings = std::make_shared<Bindings>(name, system, node);
  return BindJob([bindings](const BindRequest& request) { return bindings->bind(request); });
}

}  // namespace muster
