// GPUs and partitions as Slurm counts them: answers as a real Slurm 22.05 gave them, and the forms of its
// documentation.
#include <gtest/gtest.h>
#include <optional>

#include "muster/scheduler.hpp"

namespace muster {
namespace {

using Counted = std::vector<CountedGpus>;

const SchedulerSpec& slurm() {
  return *find_scheduler("slurm");
}

constexpr const char* two_partitions =
    "nid001|standard*|gpu:8\nnid001|debug|gpu:8\nnid002|standard*|gpu:h100:8(S:0-1)\nnid003|cpu|(null)\n";

TEST(SlurmGpus, OfTheDefaultPartitionOrOfTheOneThatIsNamed) {
  EXPECT_EQ(slurm().read_gpus(two_partitions, ""), (Counted{{"nid001", 8}, {"nid002", 8}}));
  EXPECT_EQ(slurm().read_gpus(two_partitions, "debug"), (Counted{{"nid001", 8}}));
  EXPECT_EQ(slurm().read_gpus(two_partitions, "cpu,debug"), (Counted{{"nid001", 8}, {"nid003", 0}}));
  EXPECT_EQ(slurm().read_gpus("nid001|standard|gpu:8\n", ""), Counted{}) << "no partition is the default";
}

int gpus_in(const std::string& gres) {
  const auto nodes = slurm().read_gpus("n|p*|" + gres + "\n", "");
  return nodes.size() == 1 ? nodes.front().count : -1;
}

TEST(SlurmGpus, GenericResources) {
  EXPECT_EQ(gpus_in("gpu:4"), 4);
  EXPECT_EQ(gpus_in("gpu"), 1);
  EXPECT_EQ(gpus_in("gpu:a100:2(S:0,1),gpu:v100:2(S:2,3)"), 4);
  EXPECT_EQ(gpus_in("nvme:2,gpu:h100:8(S:0-1)"), 8);
  EXPECT_EQ(gpus_in("(null)"), 0);
  EXPECT_EQ(gpus_in("shard:16,gpux:3"), 0);
}

TEST(SlurmGpus, AJobThatAsksForThem) {
  const std::string exclusive =
      "JobId=1 JobName=interactive JOB_GRES=gpu:16   Nodes=nid[001-002] CPU_IDs=0-1 GRES=gpu:8(IDX:0-7) Power= ";
  EXPECT_FALSE(slurm().asks_for_gpus(exclusive)) << "whole nodes, whose steps get no GPU";
  EXPECT_TRUE(slurm().asks_for_gpus(exclusive + "TresPerNode=gres:gpu:8 \n"));
  EXPECT_TRUE(slurm().asks_for_gpus(exclusive + "TresPerTask=gres/gpu:1\n")) << "as later versions write it";
  EXPECT_FALSE(slurm().asks_for_gpus(exclusive + "TresPerNode=gres:nvme:1 Comment=gpu\n"));
}

std::string chosen(const std::string& word) {
  const auto option = slurm().read_option(word);
  EXPECT_TRUE(option.has_value()) << word;
  return option ? slurm().gpu_option(std::vector{*option}) : "";
}

TEST(SlurmGpus, OptionsThatAskForThem) {
  EXPECT_EQ(chosen("gres=gpu:2"), "--gres");
  EXPECT_EQ(chosen("-G 4"), "--gpus");
  EXPECT_EQ(chosen("--gpus-per-task=1"), "--gpus-per-task");
  EXPECT_EQ(chosen("account=a"), "");
}

TEST(SlurmGpus, TheScriptAsksUnlessTheUserDoes) {
  JobRequest request;
  request.time_limit = {60};
  request.gpus_per_node = 8;
  EXPECT_NE(slurm().script(request).find("#SBATCH --gpus-per-node=8\n"), std::string::npos);
  request.options = {*slurm().read_option("gres=gpu:2")};
  EXPECT_EQ(slurm().script(request).find("--gpus-per-node"), std::string::npos);
}

TEST(SlurmPartitions, NodesAsTheyAreConfigured) {
  const auto nodes =
      slurm().read_configured("nid001|gpu*|2|28|2|gpu:h100:8(S:0-1)\nnid009|cpu|1|4+|1|(null)\nmalformed\n");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0], (ConfiguredNode{"nid001", "gpu", true, 56, 2, 8, "h100"}));
  EXPECT_EQ(nodes[1], (ConfiguredNode{"nid009", "cpu", false, 4, 1, 0, ""}));
  EXPECT_EQ(slurm().read_cluster("Configuration data\nBOOT_TIME = x\nClusterName             = virtual\n"), "virtual");
}

}  // namespace
}  // namespace muster
