/// Variables by which the script around muster sets CPUs and GPUs of its own steps. They must not change muster's
/// launch, also where a step starts the daemons of mpirun: --exact, -c and one thread of each core give a step other
/// CPUs than the masks have, and --ntasks-per-gpu excludes --ntasks-per-node.
#pragma once

#include <array>
#include <string_view>

namespace muster::srun {

/// What srun's message begins with when it refuses options or variables, before it reaches any node.
inline constexpr std::string_view refusal = "srun: fatal: ";

/// For every launcher that starts a step.
inline constexpr std::array<std::string_view, 16> of_steps{
    "SRUN_CPUS_PER_TASK",     "SLURM_CPU_BIND",      "SLURM_CPU_BIND_TYPE",  "SLURM_CPU_BIND_LIST",
    "SLURM_CPU_BIND_VERBOSE", "SLURM_EXACT",         "SLURM_HINT",           "SLURM_THREADS_PER_CORE",
    "SLURM_GPU_BIND",         "SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_CPUS_PER_GPU",
    "SLURM_GPUS_PER_SOCKET",  "SLURM_TRES_PER_TASK", "SLURM_TRES_BIND",      "SLURM_LABELIO"};

/// For srun itself: Open MPI counts its slots by SLURM_CPUS_PER_TASK.
inline constexpr auto of_srun = [] {
  std::array<std::string_view, of_steps.size() + 1> names{"SLURM_CPUS_PER_TASK"};
  for (std::size_t i = 0; i < of_steps.size(); ++i) names[i + 1] = of_steps[i];
  return names;
}();

}  // namespace muster::srun
