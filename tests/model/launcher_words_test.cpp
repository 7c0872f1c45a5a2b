#include "model/launcher_words.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(LauncherWords, ProgramsByAnyOfTheirNames) {
  EXPECT_EQ(launcher_of_program("/usr/bin/mpirun.openmpi"), "mpirun");
  EXPECT_EQ(launcher_of_program("prterun"), "mpirun");
  EXPECT_EQ(launcher_of_program("/opt/intel/mpi/bin/mpiexec.hydra"), "mpiexec");
  EXPECT_EQ(launcher_of_program("ibrun"), "ibrun");
  for (const char* other : {"", "my-srun", "python3", "/srun/train", "srun-wrapper", "srun.sh", "./mpirun.py"})
    EXPECT_EQ(launcher_of_program(other), "") << other;
}

TEST(LauncherWords, WhatARankGotIsNotWhatTheUserSet) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE", "PMI_FD", "SLURM_PROCID", "SLURM_STEP_ID",
                           "FLUX_TASK_RANK", "JSM_NAMESPACE_RANK", "MPI_LOCALRANKID"})
    EXPECT_TRUE(is_set_for_rank(name)) << name;
  for (const char* name : {"OMPI_MCA_btl", "SLURM_JOB_ID", "SLURM_NNODES", "FLUX_URI", "FLUX_JOB_ID", "MV2_USE_CUDA",
                           "MPI_HOME", "MPICH_GPU_SUPPORT_ENABLED", "PATH"})
    EXPECT_FALSE(is_set_for_rank(name)) << name;
  for (const char* name : {"OMPI_MCA_btl", "SLURM_JOB_ID", "FLUX_URI", "PMI_RANK", "JSM_NAMESPACE_SIZE"})
    EXPECT_TRUE(is_of_launcher(name)) << name;
  for (const char* name : {"PATH", "OMP_NUM_THREADS", "NCCL_DEBUG", "MUSTER_KEY", "HYDRA_HOST_FILE"})
    EXPECT_FALSE(is_of_launcher(name)) << name;
}

TEST(LauncherWords, EachVariableOfARankIsSetForRanks) {
  for (const LauncherVariables& launcher : launcher_variables())
    for (const std::string_view name : {launcher.rank, launcher.world_size, launcher.local_rank, launcher.local_size})
      EXPECT_TRUE(name.empty() || is_set_for_rank(name)) << name;
}

}  // namespace
}  // namespace muster
