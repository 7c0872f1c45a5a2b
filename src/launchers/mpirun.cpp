#include "launchers/mpirun/family.hpp"

namespace muster {

extern const LauncherSpec launcher_mpirun{
    .name = "mpirun",
    .summary = "mpirun of Open MPI or MPICH, on this machine or on nodes reached by ssh.",
    .program = "mpirun",
    .ask = mpirun::ask,
    .identify = mpirun::identify,
    .command = mpirun::command,
    .read_notice = mpirun::read_notice,
    .reach = mpirun::reach,
};

}  // namespace muster
