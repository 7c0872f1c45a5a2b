/// Which launcher's line a rank was started by, from the variables that launchers set.
#pragma once

#include <string>

namespace muster {

/// Name of the launcher, for programs that start others beside them.
inline constexpr const char* env_launcher = "MUSTER_LAUNCHER";

/// Intel MPI's mpirun or mpiexec, which are not bound by the options of MPICH's.
inline constexpr const char* intel_mpi = "Intel MPI";

/// `srun`, `mpirun` (Open MPI's), `mpiexec` (MPICH's Hydra), `Intel MPI`, `flux`, `ibrun`; empty: not known. Of
/// launchers one inside another it is the inner one, but for ibrun, which wraps an mpirun of its own choice.
[[nodiscard]] std::string launcher_of_rank();

}  // namespace muster
