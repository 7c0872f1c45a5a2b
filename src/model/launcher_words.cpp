#include "model/launcher_words.hpp"

#include <algorithm>
#include <iterator>

namespace muster {

namespace {

// docs/methods/environment.md names the source. Hydra's MPI_LOCALNRANKS is left out: some versions set it wrong.
constexpr LauncherVariables variables[] = {
    {"Open MPI", Weight::own, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MVAPICH2", Weight::own, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PALS", Weight::own, "PALS_RANKID", "", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
    {"Flux", Weight::own, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", ""},
    {"jsrun", Weight::own, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE"},
    {"PMIx", Weight::pmi, "PMIX_RANK", "", "", ""},
    {"PMI", Weight::pmi, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", ""},
    {"Slurm", Weight::slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""},
};

// Beginnings of names. checks/pytorch/relaunch.py has the same (house.launchers_test).
constexpr std::string_view of_ranks[] = {
    "OMPI_MCA_rmaps_base_mapping",
    "OMPI_MCA_rmaps_base_ranking",
    "OMPI_MCA_hwloc_base_binding",
    "OMPI_MCA_initial_wdir",
    "OMPI_MCA_mpi_oversubscribe",
    "OMPI_COMM_",
    "OMPI_MCA_ess",
    "OMPI_MCA_orte",
    "OMPI_MCA_pmix",
    "OMPI_APP_",
    "OMPI_ARGV",
    "OMPI_COMMAND",
    "OMPI_FIRST_RANKS",
    "OMPI_FILE_LOC",
    "OMPI_NUM_APP_CTX",
    "OMPI_UNIVERSE",
    "ORTE_",
    "PRTE_",
    "PMIX_",
    "PMI_",
    "PMI2_",
    "HYDI_",
    "MPI_LOCAL",
    "MV2_COMM_",
    "PALS_",
    "FLUX_TASK_",
    "FLUX_JOB_SIZE",
    "FLUX_JOB_NNODES",
    "JSM_NAMESPACE_",
    "SLURM_STEP",
    "SLURM_CPU_BIND",
    "SLURM_GPU_BIND",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_GTIDS",
    "SLURM_TASK_PID",
    "SLURM_DISTRIBUTION",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_MPI_TYPE",
};

constexpr std::string_view of_launchers[] = {"OMPI_", "ORTE_", "PRTE_", "PMIX_", "PMI",    "HYDI_",
                                             "MPI_",  "MV2_",  "PALS_", "FLUX_", "SLURM_", "JSM_"};

struct Program {
  std::string_view name;
  std::string_view launcher;
};

constexpr Program programs[] = {
    {"srun", "srun"},      {"ibrun", "ibrun"},    {"flux", "flux"},       {"mpirun", "mpirun"},
    {"orterun", "mpirun"}, {"prterun", "mpirun"}, {"mpiexec", "mpiexec"}, {"mpirun_rsh", "mpirun_rsh"},
    {"aprun", "aprun"},    {"jsrun", "jsrun"},
};

/// Behind the name, where systems have several: `mpirun.openmpi`. `srun.sh` is a script.
constexpr std::string_view suffixes[] = {".openmpi", ".mpich", ".hydra", ".gforker", ".prrte", ".real"};

bool begins_with_any(std::span<const std::string_view> beginnings, std::string_view name) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

std::span<const LauncherVariables> launcher_variables() {
  return variables;
}

bool is_set_for_rank(std::string_view name) {
  return begins_with_any(of_ranks, name);
}

bool is_of_launcher(std::string_view name) {
  return begins_with_any(of_launchers, name);
}

std::string_view launcher_of_program(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view suffix : suffixes)
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  const auto found =
      std::find_if(std::begin(programs), std::end(programs), [&](const Program& one) { return one.name == name; });
  return found == std::end(programs) ? std::string_view() : found->launcher;
}

}  // namespace muster
