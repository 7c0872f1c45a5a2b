#include "probes/command/hidden.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/lists.hpp"

extern char** environ;

namespace muster::program {

namespace {

constexpr std::array<std::string_view, 5> launchers{"mpirun", "mpiexec", "orterun", "prterun", "srun"};

/// Prefixes of variables that Open MPI, PMIx, MPICH, Cray's PALS and Slurm set for a rank. Open MPI's own settings
/// (OMPI_MCA_btl) and Slurm's about the job stay.
constexpr std::array<std::string_view, 33> of_ranks{"OMPI_MCA_rmaps_base_mapping",
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
                                                    "SLURM_STEP",
                                                    "SLURM_CPU_BIND",
                                                    "SLURM_GPU_BIND",
                                                    "SLURM_PROCID",
                                                    "SLURM_LOCALID",
                                                    "SLURM_NODEID",
                                                    "SLURM_GTIDS",
                                                    "SLURM_MPI_TYPE"};

bool starts_ranks(std::string_view program) {
  const auto name = program.substr(program.rfind('/') + 1);
  return is_in(name, launchers);
}

}  // namespace

std::vector<std::string> hidden_from(const std::string& program) {
  std::vector<std::string> names{"MUSTER_KEY", "MUSTER_WIRE"};
  const bool is_launcher = starts_ranks(program);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const auto begins = [&](std::string_view start) { return variable.starts_with(start); };
    if (begins("TORCHELASTIC_") || (is_launcher && std::any_of(of_ranks.begin(), of_ranks.end(), begins)))
      names.emplace_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

}  // namespace muster::program
