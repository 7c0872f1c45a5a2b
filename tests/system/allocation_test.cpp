#include "system/allocation.hpp"

#include <gtest/gtest.h>
#include <map>

namespace muster {
namespace {

using Environment = std::map<std::string, std::string>;

Result<std::optional<Allocation>> found_in(const Environment& environment) {
  return find_allocation([&](const std::string& name) -> std::optional<std::string> {
    const auto at = environment.find(name);
    return at == environment.end() ? std::nullopt : std::optional<std::string>(at->second);
  });
}

std::optional<int> tasks_in(Environment environment, const char* nodes = "nid[001-004]") {
  environment.insert({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", nodes}});
  const auto found = found_in(environment);
  return found && *found ? (*found)->tasks_per_node : std::optional<int>(-1);
}

TEST(Allocation, NoJobIsAround) {
  for (const Environment& environment :
       {Environment{}, Environment{{"SLURM_JOB_ID", "12"}}, Environment{{"SLURM_JOB_NODELIST", "n1"}},
        Environment{{"SLURM_JOB_ID", ""}, {"SLURM_JOB_NODELIST", "n1"}}}) {
    const auto found = found_in(environment);
    ASSERT_TRUE(found);
    EXPECT_FALSE(*found);
  }
}

TEST(Allocation, CpusAreThoseOfTheNodeWithTheFewest) {
  const auto cpus_in = [](const char* text) {
    const auto found =
        found_in({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "nid[001-003]"}, {"SLURM_JOB_CPUS_PER_NODE", text}});
    return (*found)->cpus_per_node;
  };
  EXPECT_EQ(cpus_in("112(x3)"), 112);
  EXPECT_EQ(cpus_in("72(x2),36"), 36);
  EXPECT_EQ(cpus_in("8"), 8);
  for (const char* damaged : {"", "x", "8,", "-1", "8(x2),y"}) EXPECT_EQ(cpus_in(damaged), std::nullopt) << damaged;
}

TEST(Allocation, ASlurmJob) {
  // As salloc -N 4 --ntasks-per-node=2 sets them.
  const auto found = found_in({{"SLURM_JOB_ID", "12"},
                               {"SLURM_JOB_NODELIST", "nid[001,003-004],login1"},
                               {"SLURM_NTASKS_PER_NODE", "2"},
                               {"SLURM_TASKS_PER_NODE", "2(x4)"}});
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found, (Allocation{"Slurm", "12", {"nid001", "nid003", "nid004", "login1"}, 2}));
}

TEST(Allocation, TasksAreThoseThatSomebodyAskedFor) {
  EXPECT_EQ(tasks_in({{"SLURM_NTASKS", "8"}, {"SLURM_TASKS_PER_NODE", "2(x4)"}}), 2);
  EXPECT_EQ(tasks_in({{"SLURM_NTASKS", "3"}, {"SLURM_TASKS_PER_NODE", "3"}}, "nid001"), 3);
  // What would fit, without a request of anybody.
  EXPECT_EQ(tasks_in({{"SLURM_TASKS_PER_NODE", "64(x4)"}}), std::nullopt);
  EXPECT_EQ(tasks_in({{"SLURM_NTASKS", "7"}, {"SLURM_TASKS_PER_NODE", "2(x3),1"}}), std::nullopt);
  EXPECT_EQ(tasks_in({{"SLURM_NTASKS_PER_NODE", "many"}}), std::nullopt);
  EXPECT_EQ(tasks_in({}), std::nullopt);
}

TEST(Allocation, AListThatCannotBeReadIsAnErrorThatNamesTheVariable) {
  const auto found = found_in({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "nid[001-"}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().where, "SLURM_JOB_NODELIST");
}

TEST(Allocation, NamesOfNodesAreHostNames) {
  for (const char* list :
       {"-oProxyCommand=id", "nid001,-oProxyCommand=id", "nid[1-2],n;id", "n/[1-2]", "root@n1", ","}) {
    const auto found = found_in({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", list}});
    ASSERT_FALSE(found) << list;
    EXPECT_EQ(found.error().where, "SLURM_JOB_NODELIST");
  }
  const auto found = found_in({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "nid[1-2],n;id"}});
  EXPECT_EQ(found.error().what, "\"n;id\", name 3 of the list, is not a host name: character 2 is \";\"");
}

}  // namespace
}  // namespace muster
