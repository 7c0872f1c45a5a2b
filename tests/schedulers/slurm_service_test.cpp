// Nodes out of service and back, as a real Slurm 22.05 tells of them (answers/nodes_service.txt).
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "muster/scheduler.hpp"

namespace muster {
namespace {

const SchedulerSpec& slurm() {
  return *find_scheduler("slurm");
}

std::vector<NodeService> reported() {
  const auto text = read_file(fs::path(MUSTER_SOURCE_DIR) / "tests/schedulers/answers/nodes_service.txt");
  EXPECT_TRUE(text.has_value());
  return slurm().read_service(text ? *text : "");
}

TEST(SlurmService, TellsStateReasonWhoAndWhen) {
  const auto nodes = reported();
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[0].node, "nid001");
  EXPECT_EQ(nodes[0].host, "nid001");
  EXPECT_EQ(nodes[0].state, "IDLE+DRAIN");
  EXPECT_TRUE(nodes[0].is_drained);
  EXPECT_FALSE(nodes[0].is_down);
  EXPECT_EQ(nodes[0].by, "root");
  EXPECT_EQ(nodes[0].since.size(), 19u);
  EXPECT_EQ(nodes[3].state, "MIXED+DRAIN");
  EXPECT_TRUE(nodes[3].is_drained);
  EXPECT_EQ(nodes[3].reason, "busy");
  EXPECT_EQ(nodes[4], (NodeService{"nid005", "nid005", "IDLE", false, false, "", "", ""}));
}

TEST(SlurmService, OneControllerIsEnough) {
  EXPECT_EQ(slurm().greet_service(), (Argv{"scontrol", "ping"}));
  EXPECT_TRUE(slurm().is_greeted("Slurmctld(primary) at login1 is UP\n", 0));
  EXPECT_TRUE(slurm().is_greeted("Slurmctld(primary) at a is DOWN\nSlurmctld(backup) at b is UP\n", 1));
  EXPECT_FALSE(slurm().is_greeted("Slurmctld(primary) at login1 is DOWN\n", 1));
  EXPECT_FALSE(slurm().is_greeted("", 1));
}

TEST(SlurmService, AReasonMayHaveAnyCharacter) {
  EXPECT_EQ(reported()[0].reason, "muster[3f2a9c-6461]: clocks: clock = 5 s 'behind' | [x] (+-1 ms), Comment=foo");
  EXPECT_EQ(reported()[1].reason, "cable [see mail@ops] torn");
}

TEST(SlurmService, ACommentBehindTheReasonIsNoPartOfIt) {
  EXPECT_EQ(reported()[2].reason, "fan is loud");
}

TEST(SlurmService, WhatIsDownIsNotDrained) {
  EXPECT_TRUE(reported()[1].is_down);
  EXPECT_FALSE(reported()[1].is_drained);
}

TEST(SlurmService, StatesOfOtherVersions) {
  const auto state = [](const std::string& text) {
    return slurm().read_service("NodeName=a NodeHostName=b State=" + text + " ThreadsPerCore=1\n").at(0);
  };
  EXPECT_TRUE(state("IDLE*+DRAIN").is_drained);
  EXPECT_TRUE(state("DOWN*").is_down);
  EXPECT_TRUE(state("IDLE+CLOUD+POWERED_DOWN").is_down);
  EXPECT_TRUE(state("ALLOCATED+DRAIN+MAINTENANCE").is_drained);
  EXPECT_FALSE(state("IDLE+NOT_RESPONDING").is_drained);
  EXPECT_FALSE(state("MIXED+PLANNED").is_down);
  EXPECT_TRUE(slurm().read_service("Node nid009 not found\n").empty());
}

TEST(SlurmService, CommandsAreArguments) {
  EXPECT_EQ(slurm().ask_service("nid001").argv, (Argv{"scontrol", "--oneliner", "--all", "show", "node", "nid001"}));
  EXPECT_EQ(slurm().ask_service("").argv.back(), "node");
  EXPECT_EQ(slurm().drain("nid001", "two words; $(x)"),
            (Argv{"scontrol", "update", "nodename=nid001", "state=drain", "reason=two words; $(x)"}));
  EXPECT_EQ(slurm().resume("nid001"), (Argv{"scontrol", "update", "nodename=nid001", "state=resume"}));
}

}  // namespace
}  // namespace muster
