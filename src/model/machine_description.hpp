/// One type of node as a readable file describes it: simulation/machines/<name>.toml, docs/machines.md. Made up, so
/// that checks can be seen to pass and to fail on a machine that is not here. Parsed by src/config, written as files by
/// src/system.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_mask.hpp"
#include "muster/launcher.hpp"
#include "muster/result.hpp"

namespace muster {

struct DescribedDomain {
  int number = 0;  ///< the kernel's
  CpuMask cpus;    ///< none: memory alone, such as a GPU's
  std::uint64_t memory = 0;
  friend bool operator==(const DescribedDomain&, const DescribedDomain&) = default;
};

struct DescribedGpu {
  std::string address;  ///< `0000:c1:00.0`
  int domain = -1;      ///< NUMA domain as reported by the kernel; -1: unknown
  CpuMask near;         ///< the nearest CPUs
  std::vector<std::string> files;
  std::string file_mode = "0666";  ///< `none`: the files are missing
  int lanes = 16;                  ///< PCIe lanes in use
  bool is_whole = false;           ///< not partitioned, though the others are
  bool is_lost = false;            ///< answers on the bus with ones only
  friend bool operator==(const DescribedGpu&, const DescribedGpu&) = default;
};

/// Links between two GPUs, as many in each direction.
struct DescribedLinks {
  std::string from;  ///< address of one
  std::string to;    ///< and of the other
  int count = 0;
  friend bool operator==(const DescribedLinks&, const DescribedLinks&) = default;
};

/// What all GPUs of the node have in common, and each one in the order in which its driver counts them.
struct DescribedGpus {
  std::string vendor;  ///< GpuVendor::name
  std::string model;   ///< as the runtime names it
  std::string id;      ///< `1002:7408`
  std::string driver_version;
  std::string firmware;
  std::uint64_t memory = 0;
  std::vector<DescribedGpu> devices;
  std::vector<DescribedLinks> links;  ///< between them, without a processor's help: xGMI
  int partitions = 1;                 ///< of AMD: parts of each, a node of KFD's each
  bool is_partition_low = false;      ///< its number is in the lowest bits of `location_id`, not in the highest
  std::string compute_partition;      ///< `SPX`, `CPX`, ...; empty: unknown
  std::string memory_partition;       ///< `NPS1`, `NPS4`
  std::vector<std::string> driver;    ///< what stand-ins of the vendor's libraries do, a line each; docs/machines.md
  friend bool operator==(const DescribedGpus&, const DescribedGpus&) = default;
};

struct DescribedNic {
  std::string kind;     ///< `slingshot`, `infiniband`, `ethernet`
  std::string name;     ///< interface `hsn0`, `ib0`
  std::string device;   ///< `cxi0`, `mlx5_0`; empty: an interface alone
  std::string address;  ///< empty: no device of its own (a bond)
  std::string id;       ///< `17db:0501`
  std::string driver_version;
  std::string state = "up";  ///< `up`, `down`
  std::string inet;          ///< its address; `{node}` is the node's number
  int domain = -1;
  CpuMask near;
  double rate = 0;  ///< Gbit/s
  friend bool operator==(const DescribedNic&, const DescribedNic&) = default;
};

/// What is wrong with a node. Applied by name.
struct MachineFault {
  std::string name;
  std::string summary;
  std::vector<int> gpu_missing;          ///< nothing knows it any more
  std::vector<int> gpu_lost;             ///< it answers with ones only
  std::vector<int> gpu_without_file;     ///< its device files are missing
  std::vector<int> gpu_closed;           ///< its device files are for root alone
  std::vector<int> gpu_narrow;           ///< half its lanes
  std::vector<int> gpu_whole;            ///< not partitioned
  std::vector<std::string> nic_missing;  ///< by interface or device
  std::vector<std::string> nic_down;
  std::vector<std::string> nic_slow;      ///< half the rate
  std::vector<std::string> nics_swapped;  ///< two of them have each other's names and addresses
  std::vector<std::string> library_missing;
  int masks_shifted = 0;       ///< rank i has the mask of rank i + n
  int masks_moved = 0;         ///< every mask n CPUs further up
  std::vector<CpuMask> masks;  ///< instead of the machine's; empty: those
  double cpu_quota = 0;
  std::string kernel;
  std::string driver_version;  ///< of the GPUs
  std::string gpu_model;
  std::vector<std::string> driver;  ///< lines added to those of the GPUs
  Environment environment;          ///< set, whatever else set it
  std::vector<std::string> unset;   ///< not set, whatever else set it
  std::map<std::string, std::string> limits;
  friend bool operator==(const MachineFault&, const MachineFault&) = default;
};

struct MachineDescription {
  std::string name;
  std::string summary;
  std::vector<std::string> sources;     ///< where its facts are from
  std::vector<std::string> unverified;  ///< facts not confirmed on hardware
  std::string architecture;             ///< `x86_64`, `aarch64`
  std::string kernel;
  std::string board;        ///< as the firmware names it; empty: unknown
  bool is_virtual = false;  ///< a virtual machine
  std::string cpu_model;
  int packages = 1;
  int cores = 0;                ///< of all packages, numbered from 0
  int smt = 1;                  ///< CPU n, n + cores, ... are siblings
  CpuMask reserved;             ///< cores kept for the system, by their first CPU
  std::vector<CpuMask> caches;  ///< CPUs of each last-level cache
  std::uint64_t cache_bytes = 0;
  std::vector<DescribedDomain> domains;
  DescribedGpus gpus;
  std::vector<DescribedNic> nics;
  std::vector<std::string> libraries;  ///< that a loader would find, beside the system's: `librccl-net.so`
  std::string launcher;                ///< who starts ranks there: `srun`, `mpirun`, ...; empty: not given
  std::vector<CpuMask> masks;          ///< by local rank; empty: what the real launcher gives
  Environment environment;             ///< of each rank; `{rank}` and the like are filled
  std::map<std::string, std::vector<std::string>> by_rank;  ///< variables whose value follows from the local rank
  double cpu_quota = 0;                                     ///< of the job's control group, in CPUs; 0: none
  std::map<std::string, std::string> limits;                ///< `nofile`, `memlock`, `core`: a number or `unlimited`
  std::vector<MachineFault> faults;                         ///< that may be asked for
  std::vector<std::string> applied_faults;                  ///< names of those that were applied
  Environment forced;                                       ///< by faults: goes before what is really set
  std::vector<std::string> unset;                           ///< by faults
  std::string file;
  friend bool operator==(const MachineDescription&, const MachineDescription&) = default;

  /// The CPU numbers of core `number`: it and its siblings.
  [[nodiscard]] CpuMask core(int number) const;
  /// All siblings of the CPUs in `mask`.
  [[nodiscard]] CpuMask whole_cores(const CpuMask& mask) const;
  [[nodiscard]] CpuMask cpus() const;
};

/// The machine with these faults, in their order. Fails with kind `usage` for a name that it does not have, or for a
/// fault that speaks of something that an earlier one took away.
[[nodiscard]] Result<MachineDescription> with_faults(MachineDescription machine, std::span<const std::string> names);

}  // namespace muster
