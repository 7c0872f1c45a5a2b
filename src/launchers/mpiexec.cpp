#include "launchers/mpirun/family.hpp"

namespace muster {

extern constexpr LauncherSpec launcher_mpiexec =
    mpirun::member("mpiexec", "mpiexec of MPICH, Intel MPI or Open MPI, where mpirun is missing or of another MPI.",
                   mpirun::hydra_words);

}  // namespace muster
