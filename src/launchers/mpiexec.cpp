#include "launchers/mpirun/family.hpp"

namespace muster {

extern const LauncherSpec launcher_mpiexec{
    .name = "mpiexec",
    .summary = "mpiexec of MPICH or Open MPI, where mpirun is missing or of another MPI.",
    .program = "mpiexec",
    .ask = mpirun::ask,
    .identify = mpirun::identify,
    .command = mpirun::command,
    .read_notice = mpirun::read_notice,
    .reach = mpirun::reach,
};

}  // namespace muster
