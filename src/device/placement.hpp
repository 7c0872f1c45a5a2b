/// Which cores, GPU and network card each rank of a node should have. Pure. `muster bind` shows it, and the judges of
/// cpu_affinity and gpu_mapping hold against it what they saw: the same answer for all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/inventory.hpp"
#include "model/machine_description.hpp"
#include "system/layout.hpp"

namespace muster {

/// A device, and the CPUs near to it.
struct NearDevice {
  std::string address;  ///< `0000:c1:00.0`
  std::string name;     ///< for people: `MI250X`, `hsn0`; untrusted
  CpuMask near;         ///< empty: unknown
  double rate = 0;      ///< of a network card, Gbit/s; 0: unknown
  friend bool operator==(const NearDevice&, const NearDevice&) = default;
};

/// A node as far as binding goes.
struct NodeParts {
  Layout layout;
  CpuMask may;                   ///< CPUs that this job may use; empty: all
  CpuMask reserved;              ///< kept for the system; the rest of a core that one of them is of counts too
  std::vector<NearDevice> gpus;  ///< in the order in which the runtime counts them
  std::vector<NearDevice> nics;
  std::string vendor;  ///< of the GPUs (GpuVendor::name); empty: unknown

  /// CPUs that ranks may have.
  [[nodiscard]] CpuMask usable() const;
};

/// `layout` and `inventory` joined. GPUs that can't be used are left out.
[[nodiscard]] NodeParts parts_of(Layout layout, const Inventory& inventory);

/// The contents of a topology file: the devices that are GPUs or network cards.
[[nodiscard]] NodeParts parts_of(Layout layout, const std::vector<TopologyDevice>& devices);
/// The contents of a machine description.
[[nodiscard]] NodeParts parts_of(const MachineDescription& machine);

enum class BindPolicy : std::uint8_t {
  gpu,      ///< rank i takes GPU i, and cores near to it
  cores,    ///< ranks follow the cores, and each takes the GPU that is near
  spread,   ///< no GPU; ranks as far from each other as can be
  compact,  ///< no GPU; one rank beside the other
};
[[nodiscard]] std::string_view to_string(BindPolicy policy);
[[nodiscard]] std::optional<BindPolicy> parse_bind_policy(std::string_view text);
/// `gpu` for a node with GPUs, else `spread`.
[[nodiscard]] BindPolicy usual_policy(const NodeParts& node);
/// One per GPU, without GPUs one per NUMA domain; no more than there are cores.
[[nodiscard]] int usual_ranks(const NodeParts& node);

struct PlacementRequest {
  int ranks = 1;
  BindPolicy policy = BindPolicy::gpu;
  int cores = 0;                      ///< for each rank; 0: its fair share
  bool smt = false;                   ///< all hardware threads of a core, not only the first
  int gpus_per_rank = 1;              ///< where the policy gives GPUs out
  std::vector<int> gpu_of_rank = {};  ///< settled already: index into `gpus`, -1: none; empty: the policy decides
};

struct RankPlacement {
  CpuMask cpus;
  int gpu = -1;                     ///< index; -1: none
  int nic = -1;                     ///< index of the nearest; -1: none is known to be near
  std::vector<int> more_gpus = {};  ///< where a rank has several: those behind its first
  friend bool operator==(const RankPlacement&, const RankPlacement&) = default;
};

/// All GPUs of a rank.
[[nodiscard]] std::vector<int> gpus_of(const RankPlacement& seat);

struct Placement {
  std::vector<RankPlacement> ranks;
  std::vector<std::string> remarks;  ///< who shares a GPU, who leaves the NUMA domain; printable
};

/// Fails with kind `usage` where nothing can be right: more ranks than cores, a GPU that has no core left near to it.
/// The error includes the remedy.
[[nodiscard]] Result<Placement> place_ranks(const NodeParts& node, const PlacementRequest& request);

/// Gives each seat, whose CPUs and GPU are settled, the network card nearest to its GPU, else to its CPUs; ranks of one
/// place take turns.
void give_nics(const NodeParts& node, Placement& placement);

/// The GPU nearest to these CPUs; -1: none is known to be near.
[[nodiscard]] int nearest_gpu(const NodeParts& node, const CpuMask& cpus);

/// Where a mask is, seen from what should be near.
enum class Nearness : std::uint8_t { inside, touching, apart, unknown };
[[nodiscard]] Nearness nearness_of(const CpuMask& mask, const CpuMask& near);

/// Whether `masks`, by local rank, are equal shares of all cores in their order, each with all its hardware threads:
/// what `srun -c N --cpu-bind=cores` gives on a whole node.
[[nodiscard]] bool are_shares_in_order(const NodeParts& node, const std::vector<CpuMask>& masks);

/// The numbers of the cores that `mask` touches, as hwloc counts them.
[[nodiscard]] CpuMask core_numbers(const Layout& layout, const CpuMask& mask);

}  // namespace muster
