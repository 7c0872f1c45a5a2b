// Nodes whose ranks report another name than the one by which they were asked for.
#include "run/node_names.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

World world_of(const std::vector<std::string>& hosts, const std::vector<std::string>& slurm_names = {}) {
  World world;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    world.nodes.push_back({hosts[i], {}});
    if (i < slurm_names.size()) world.nodes.back().facts.push_back({"slurm_node", slurm_names[i]});
  }
  return world;
}

std::vector<Culprit> node_culprits(const std::vector<std::string>& names) {
  std::vector<Culprit> culprits;
  for (const auto& name : names) culprits.push_back({CulpritKind::node, name, name, -1});
  return culprits;
}

const std::vector<std::string> asked{"n1", "n2", "n3"};

TEST(NodeNames, OwnNamesAreRight) {
  EXPECT_FALSE(wrong_names(asked, world_of({"n3", "n2.cluster", "n1"})));
  EXPECT_FALSE(wrong_names(asked, world_of({"n1", "other", "n3"}, {"n1", "n2", "n3"}))) << "Slurm calls it n2";
  EXPECT_FALSE(wrong_names(asked, world_of({"n1", "n2"}))) << "too few nodes are another matter";
}

TEST(NodeNames, AForeignNameIsTheNodesFault) {
  const auto finding = wrong_names(asked, world_of({"n1", "elsewhere", "n3"}));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(finding->reason, "ranks on n2 report the host name elsewhere");
  EXPECT_EQ(finding->culprits, node_culprits({"n2"}));
}

TEST(NodeNames, TheNameOfAnotherNodeIsSharedWithIt) {
  const auto finding = wrong_names(asked, world_of({"n1", "n3", "n3"}));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(finding->reason, "ranks on n2 report the host name n3, as ranks on n3 do: several nodes of one name");
  EXPECT_EQ(finding->culprits, node_culprits({"n2"}));
}

TEST(NodeNames, SlurmKnowsWhichOfThemIsRenamed) {
  const auto finding = wrong_names(asked, world_of({"n1", "n3", "n3"}, {"n1", "n3", "n2"}));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->culprits, node_culprits({"n2"}));
}

TEST(NodeNames, TheNameOfAnotherNodeWithAnotherDomainIsSharedWithIt) {
  for (const auto& hosts : {std::vector<std::string>{"n1", "n1.elsewhere", "n3"}, {"n1.elsewhere", "n1", "n3"}}) {
    const auto finding = wrong_names(asked, world_of(hosts));
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->culprits, node_culprits({"n2"}));
    EXPECT_EQ(finding->reason,
              "ranks on n2 report the host name n1.elsewhere, as ranks on n1.elsewhere do: several nodes of one name");
  }
}

TEST(NodeNames, OneNameInTwoDomainsIsThatOfTwoNodes) {
  EXPECT_FALSE(
      wrong_names({"n1.a", "n1.b", "10.0.0.1", "10.0.0.2"}, world_of({"n1.a", "n1.b", "10.0.0.1", "10.0.0.2"})));
}

TEST(NodeNames, AVariableOfARankNamesNoOtherNode) {
  for (const char* host : {"n3", "elsewhere"}) {
    // n2 has SLURMD_NODENAME=n1 or n3 beside that name.
    for (const char* slurm_name : {"n1", "n3"}) {
      const auto finding = wrong_names(asked, world_of({"n1", host, "n3"}, {"n1", slurm_name, "n3"}));
      ASSERT_TRUE(finding) << host << slurm_name;
      EXPECT_EQ(finding->culprits, node_culprits({"n2"})) << host << slurm_name;
    }
  }
}

TEST(NodeNames, TwoNodesMayShareAForeignName) {
  const auto finding = wrong_names(asked, world_of({"elsewhere", "elsewhere", "n3"}));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->reason, "ranks on n1 and n2 report the host name elsewhere");
  EXPECT_EQ(finding->culprits, node_culprits({"n1", "n2"}));
}

}  // namespace
}  // namespace muster
