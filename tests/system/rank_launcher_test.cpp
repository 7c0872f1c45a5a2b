// Which launcher's words a remedy is written in: from the variables of a rank.
#include "system/rank_launcher.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace muster {
namespace {

/// launcher_of_rank() in a rank that has these variables and none of another launcher.
std::string with(const std::vector<std::pair<const char*, const char*>>& variables) {
  for (const char* name : {env_launcher, "PMIX_NAMESPACE", "FLUX_TASK_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID",
                           "I_MPI_HYDRA_UUID", "SLURM_STEP_ID"})
    ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  return launcher_of_rank();
}

TEST(LauncherOfRank, IsTheInnerOne) {
  EXPECT_EQ(with({}), "");
  EXPECT_EQ(with({{"SLURM_STEP_ID", "0"}}), "srun");
  EXPECT_EQ(with({{"SLURM_STEP_ID", "0"}, {"OMPI_COMM_WORLD_RANK", "0"}}), "mpirun");
  EXPECT_EQ(with({{"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"OMPI_COMM_WORLD_RANK", "0"}}), "srun");
  EXPECT_EQ(with({{"SLURM_STEP_ID", "0"}, {"MPI_LOCALRANKID", "0"}}), "mpiexec");
  EXPECT_EQ(with({{"FLUX_TASK_RANK", "0"}}), "flux");
  EXPECT_EQ(with({{env_launcher, "ibrun"}, {"OMPI_COMM_WORLD_RANK", "0"}}), "ibrun");
}

TEST(LauncherOfRank, IntelsHydraHasANameOfItsOwn) {
  EXPECT_EQ(with({{"MPI_LOCALRANKID", "0"}, {"I_MPI_HYDRA_UUID", "0a65"}}), intel_mpi);
}

}  // namespace
}  // namespace muster
