#include "system/rank_launcher.hpp"

#include <cstdlib>
#include <string_view>

#include "base/environment.hpp"

namespace muster {

std::string launcher_of_rank() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  if (environment_text(env_launcher) == "ibrun") return "ibrun";
  // Open MPI sets its own variables in a task of srun, too.
  if (environment_text("PMIX_NAMESPACE").rfind("slurm.", 0) == 0) return "srun";
  if (environment_text(env_launcher) == "flux" && is_set("FLUX_TASK_RANK")) return "flux";
  if (is_set("OMPI_COMM_WORLD_RANK")) return "mpirun";
  if (is_set("MPI_LOCALRANKID")) return is_set("I_MPI_HYDRA_UUID") ? intel_mpi : "mpiexec";
  if (is_set("FLUX_TASK_RANK")) return "flux";
  return is_set("SLURM_STEP_ID") ? "srun" : "";
}

}  // namespace muster
