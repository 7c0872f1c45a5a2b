#include "launchers/mpirun/family.hpp"

namespace muster {

extern constexpr LauncherSpec launcher_mpirun =
    mpirun::member("mpirun", "mpirun of Open MPI, MPICH or Intel MPI, on this machine or on nodes reached by ssh.",
                   mpirun::openmpi_words);

}  // namespace muster
