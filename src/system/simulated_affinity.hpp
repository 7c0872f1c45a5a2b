/// How a launch on a simulated machine binds ranks to CPUs that are not here: launcher, daemons and ranks run with a
/// library that answers for these CPUs (simulation/stand_ins/affinity/affinity.cpp), so that a rank has the mask that its launcher
/// gave it. docs/machines.md
#pragma once

#include "base/files.hpp"
#include "muster/launcher.hpp"

namespace muster {

/// CPUs of the simulated machine, for that library; set: sched_setaffinity and sched_getaffinity are answered by it.
inline constexpr const char* env_affinity_cpus = "MUSTER_AFFINITY_CPUS";
/// Where it records what was set; all processes of a node need the same.
inline constexpr const char* env_affinity_folder = "MUSTER_AFFINITY_FOLDER";
inline constexpr const char* affinity_library = "libmuster_affinity.so";

struct SimulatedLaunch {
  Environment ranks;     ///< for the launcher and all ranks
  Environment launcher;  ///< for the launcher alone: the topology by which it maps
};

/// `machine`: the folder that a machine was written to; `records`: for MUSTER_AFFINITY_FOLDER, unless it is set. Empty
/// where `library` or the CPUs of the machine are missing.
[[nodiscard]] SimulatedLaunch simulated_launch(const fs::path& machine, const fs::path& library,
                                               const fs::path& records);

/// Whether that library answers for this process.
[[nodiscard]] bool has_simulated_affinity();

/// The agent's part, after MPI has started: the launcher's variables would show hwloc CPUs that are not here.
void forget_simulated_topology();

}  // namespace muster
