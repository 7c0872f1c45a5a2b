/// Variables that launchers set for ranks, and how their programs are called: one list for all that look at them. A
/// launcher that is added is added here (docs/extending.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace muster {

/// How much a launcher's variables count. The launcher's own ones are unambiguous. PMI's may be left over from a
/// launcher around this one, and Slurm's are, wherever mpirun runs below a batch script or in one task of srun.
enum class Weight : std::uint8_t { own, pmi, slurm };

/// By which a rank knows its place. Names are empty where the launcher sets no such variable, or none that can be
/// trusted.
struct LauncherVariables {
  std::string_view who;
  Weight weight = Weight::own;
  std::string_view rank;
  std::string_view world_size;
  std::string_view local_rank;
  std::string_view local_size;
};
/// From the most specific to the least.
[[nodiscard]] std::span<const LauncherVariables> launcher_variables();

/// Whether a launcher sets the variable for each rank: a launcher or an MPI library below the rank would take it for
/// its own. Settings of the user and what describes the job are not.
[[nodiscard]] bool is_set_for_rank(std::string_view name);
/// Whether it is any launcher's, settings and the job's included.
[[nodiscard]] bool is_of_launcher(std::string_view name);

/// Name of the launcher (LauncherSpec::name) that a program is, by its path: `/usr/bin/mpirun.openmpi` and `prterun`
/// are `mpirun`, `mpiexec.hydra` is `mpiexec`. Also of launchers for which there is no LauncherSpec (`aprun`). Empty:
/// it is another program.
[[nodiscard]] std::string_view launcher_of_program(std::string_view path);

}  // namespace muster
