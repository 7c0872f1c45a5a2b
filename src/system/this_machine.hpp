/// The machine that this process takes itself to be on: the real one, or one that was written from a description
/// (docs/machines.md). Code that reads /sys, /proc, /dev, its own mask or its limits for a check queries here where
/// they are, and need not know which it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_mask.hpp"
#include "base/files.hpp"
#include "muster/observation.hpp"
#include "muster/probe.hpp"

namespace muster {

/// Names the folder of a written machine; all ranks have it. What is in FOLDER/<host name> goes first.
inline constexpr const char* env_machine = "MUSTER_MACHINE";
/// Names the folder of libraries that stand in for the vendors' on a simulated machine; without it there are none.
inline constexpr const char* env_drivers = "MUSTER_DRIVERS";
/// Set by `simulate`: the file from which those libraries know their devices, FOLDER/drivers.json.
inline constexpr const char* env_driver_sheet = "MUSTER_DRIVER_SHEET";

struct SimulatedInterface {
  std::string name;
  std::string inet;  ///< its address; empty: not given
  bool is_up = true;
};

struct ThisMachine {
  std::string simulated;  ///< `lumi-g`, `lumi-g with gpu_missing`; empty: the real one
  std::string topology;   ///< for read_layout; empty: hwloc asks the kernel
  fs::path root = "/";    ///< of /sys, /proc and /dev
  std::optional<CpuMask> mask;
  std::map<std::string, std::string> limits;  ///< `nofile`, `memlock`, `core`, where they are not the real ones
  std::vector<SimulatedInterface> interfaces;
  std::vector<Fact> facts;  ///< provenance in place of the kernel's
};

[[nodiscard]] const ThisMachine& this_machine();
/// Where /sys and the like are: `/`, the default of parameters, means this machine.
[[nodiscard]] std::string root_of(const std::string& parameter);
/// The CPUs that this rank may run on, on this machine.
[[nodiscard]] Result<CpuMask> own_mask();

/// Folder of the machine that `host` shall simulate, by MUSTER_MACHINE; empty: none.
[[nodiscard]] fs::path machine_folder(const std::string& host);
/// `lumi-g`, or `lumi-g with gpu_missing`: what is written there; of a folder with one for each node, the first of
/// them.
[[nodiscard]] Result<std::string> simulated_name(const fs::path& folder);
/// Ranks of a node that it has masks for; 0: any number.
[[nodiscard]] int simulated_ranks(const fs::path& folder);
/// From now on this process is on that machine, in that place; sets and unsets variables of its environment. To be
/// called once, before probes run and by a single thread. Fails with kind `file` when `folder` holds no machine, with
/// kind `usage` when it has no mask for that place.
[[nodiscard]] Result<void> simulate(const fs::path& folder, const RankPlace& place);

/// Writes machine, topology and all that `simulate` needs, as node `host`, into `folder`, which is new, empty, or holds
/// a machine that is replaced.
struct MachineDescription;
[[nodiscard]] Result<void> write_machine(const MachineDescription& machine, const std::string& host,
                                         const fs::path& folder);

}  // namespace muster
