// -J and scheduler_options become a job's options; a plan becomes time and tasks.
#include "run/job_options.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <ostream>

#include "base/text.hpp"
#include "run/choosing.hpp"

namespace muster {
namespace {

SystemProfile profile() {
  auto system = fake::make_system({"gpu"});
  system.partitions[0].scheduler_options = {"--partition=gpu", "--account={account}", "--gpus-per-node=8"};
  for (int i = 0; i < 3; ++i)
    system.places["scheduler_options of gpu " + std::to_string(i)] = "s.toml:7:" + std::to_string(20 + i);
  system.environments.push_back({"container", {"apptainer"}, {"apptainer", "exec", "{image}"}, {}});
  return system;
}

Result<JobChoice> choose(const SystemProfile& system, const std::string& environment, const Argv& chosen) {
  return choose_job_options(*find_scheduler("slurm"), system, environment, chosen);
}

std::string texts(const Result<JobChoice>& choice) {
  if (!choice) return to_string(choice.error());
  std::vector<std::string> all;
  for (const auto& option : choice->options) all.push_back(option.text);
  return join(all, " ");
}

struct ChoiceCase {
  Argv chosen;
  const char* options;
};
std::ostream& operator<<(std::ostream& out, const ChoiceCase& item) {
  return out << shell_line(item.chosen);
}

class JobOptions : public testing::TestWithParam<ChoiceCase> {};

TEST_P(JobOptions, ComeFromTheProfileAndFromTheUser) {
  EXPECT_EQ(texts(choose(profile(), "", GetParam().chosen)), GetParam().options);
}

const ChoiceCase choice_cases[] = {
    {{"account=x"}, "--partition=gpu --account=x --gpus-per-node=8"},
    {{"--account=x"}, "--partition=gpu --gpus-per-node=8 --account=x"},
    {{"-A", "x"}, "--partition=gpu --gpus-per-node=8 --account=x"},
    {{"account=x", "qos=debug", "qos=long"}, "--partition=gpu --account=x --gpus-per-node=8 --qos=long"},
    {{"account=x", "-p", "dev", "--no-requeue"}, "--account=x --gpus-per-node=8 --partition=dev --no-requeue"},
    {{"account=x", "--exclusive", "-C", "a&b"},
     "--partition=gpu --account=x --gpus-per-node=8 --exclusive --constraint=a&b"},
    {{}, "s.toml:7:21: nothing fills {account} in \"--account={account}\"; write -J account=VALUE"},
    {{"acount=x"}, "-J --acount=x: sbatch has no option --acount; did you mean \"--account\"?"},
    {{"account=x", "partitoin=x"}, "-J --partitoin=x: sbatch has no option --partitoin; did you mean \"--partition\"?"},
    {{"account=x", "gpu-per-node=8"},
     "-J --gpu-per-node=8: sbatch has no option --gpu-per-node; did you mean \"--gpus-per-node\"?"},
    // Of the plug-in of a site, and a name that sbatch completes.
    {{"account=x", "nosuch=x"}, "--partition=gpu --account=x --gpus-per-node=8 --nosuch=x"},
    {{"account=x", "--exclusiv"}, "--partition=gpu --account=x --gpus-per-node=8 --exclusiv"},
    {{"account=x", "--cpu-bind=none"},
     "-J --cpu-bind=none: --cpu-bind is an option of srun, not of sbatch; give it to the launcher inside the job: "
     "--launcher-option=--cpu-bind=none"},
    {{"account=x", "mpi=pmix"},
     "-J mpi=pmix: --mpi is an option of srun, not of sbatch; give it to the launcher inside the job: "
     "--launcher-option=--mpi=pmix"},
    {{"account=x", "x"},
     "-J x: is not an option of sbatch; write for example -J account=project_1 or -J=--account=project_1"},
};
INSTANTIATE_TEST_SUITE_P(Table, JobOptions, testing::ValuesIn(choice_cases));

TEST(JobOptionsOf, AnEnvironmentWithoutItsImageIsRefused) {
  auto system = profile();
  auto& shifter = system.environments.emplace_back();
  shifter.name = "shifter";
  shifter.wrapper = {"shifter"};
  shifter.scheduler_options = {"--image={image}", "--module=gpu,nccl-2.18"};
  system.places["scheduler_options of environment shifter 0"] = "s.toml:9:3";
  EXPECT_EQ(texts(choose(system, "shifter", {"account=x"})),
            "s.toml:9:3: nothing fills {image} in \"--image={image}\"; write -J image=VALUE");
  const auto choice = choose(system, "shifter", {"account=x", "image=nersc/pytorch:ngc-23.07-v0"});
  EXPECT_EQ(texts(choice),
            "--partition=gpu --account=x --gpus-per-node=8 --image=nersc/pytorch:ngc-23.07-v0 --module=gpu,nccl-2.18");
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->fills.empty()) << "its wrapper names no image";
  EXPECT_EQ(texts(choose(system, "", {"account=x"})), "--partition=gpu --account=x --gpus-per-node=8");
}

TEST(JobOptionsOf, TheImageIsForTheRunInside) {
  const auto choice = choose(profile(), "container", {"account=x", "image=/a.sif"});
  ASSERT_TRUE(choice.has_value()) << to_string(choice.error());
  EXPECT_EQ(choice->fills, Argv{"image=/a.sif"});
  EXPECT_EQ(texts(choice), "--partition=gpu --account=x --gpus-per-node=8");
  EXPECT_EQ(texts(choose(profile(), "container", {"account=x"})),
            "s.toml: environment container: nothing fills {image} in \"{image}\"; write -J image=VALUE");
  // Without that environment it is an option like any other.
  EXPECT_EQ(texts(choose(profile(), "", {"account=x", "image=a"})),
            "--partition=gpu --account=x --gpus-per-node=8 --image=a");
}

TEST(JobOptionsOf, WhatThePartitionRefusesIsSaidBeforeSubmission) {
  auto system = profile();
  system.partitions[0].scheduler_refuses = {"--gres", "--gpus-per-task", "--mem"};
  EXPECT_EQ(texts(choose(system, "", {"account=x", "mem=0"})),
            "-J --mem=0: s:gpu refuses jobs with --mem; leave it out");
  system.partitions[0].scheduler_options[2] = "--gres=gpu:1";
  EXPECT_EQ(texts(choose(system, "", {"account=x"})), "s.toml:7:22: s:gpu refuses jobs with --gres; leave it out");
}

TEST(JobOptionsOf, WhatIsNotRefusedIsTaken) {
  auto system = profile();
  system.partitions[0].scheduler_refuses = {"--gres"};
  EXPECT_TRUE(choose(system, "", {"account=x", "mem=0"}).has_value());
}

TEST(JobOptionsOf, AnOptionOfTheProfileThatCanNotBeIsBlamedOnIt) {
  auto system = profile();
  system.partitions[0].scheduler_options[2] = "--nodes=4";
  EXPECT_EQ(texts(choose(system, "", {"account=x"})),
            "s.toml:7:22: -J --nodes=4: --nodes is not to be chosen here: use muster's own --nodes");
}

TEST(JobOptionsOf, WhatLooksMisspeltMayBeAnOptionOfTheSite) {
  auto system = profile();
  EXPECT_FALSE(choose(system, "", {"account=x", "contraint=a"}));
  system.partitions[0].scheduler_options.push_back("--contraint=b");
  EXPECT_EQ(texts(choose(system, "", {"account=x", "contraint=a"})),
            "--partition=gpu --account=x --gpus-per-node=8 --contraint=a");
}

TEST(FillWrapper, TakesItsWordsOutOfTheOptions) {
  Argv wrapper{"apptainer", "exec", "--bind={folder}", "{image}", "{other}"};
  Argv options{"--mca", "image=/a.sif", "btl=tcp", "folder=/x", "-Jimage=no"};
  fill_wrapper(wrapper, options);
  EXPECT_EQ(wrapper, (Argv{"apptainer", "exec", "--bind=/x", "/a.sif", "{other}"}));
  EXPECT_EQ(options, (Argv{"--mca", "btl=tcp", "-Jimage=no"}));
}

Plan plan_of(std::vector<double> timeouts, RanksSpec ranks) {
  Plan plan;
  PlannedLaunch launch;
  for (const double timeout : timeouts) {
    Case item;
    item.timeout = {timeout};
    item.ranks = ranks;
    item.shape.ranks_per_node = ranks.count;
    launch.items.push_back({static_cast<int>(plan.cases.size()), 1});
    plan.cases.push_back(item);
  }
  plan.launches.push_back(launch);
  return plan;
}

TEST(TimeNeeded, IsWholeMinutesAndHoldsEveryDeadline) {
  const RanksSpec two{RanksSpec::Kind::per_node, 2};
  EXPECT_EQ(time_needed(plan_of({60, 60}, two)).value, 480);
  EXPECT_GE(time_needed(plan_of({3600}, two)).value, 3600 + 70);
  EXPECT_EQ(time_needed(plan_of({60, 60}, two)).value / 60, std::floor(time_needed(plan_of({60, 60}, two)).value / 60));
}

TEST(TasksPerNode, AreThoseOfTheLargestCaseWhereItIsKnown) {
  auto plan = plan_of({60, 60}, {RanksSpec::Kind::per_node, 2});
  EXPECT_EQ(tasks_per_node(plan, false), 2);
  plan.cases[1].shape.ranks_per_node = 8;
  EXPECT_EQ(tasks_per_node(plan, false), 8);
  plan.cases[1].ranks.kind = RanksSpec::Kind::one_per_core;
  EXPECT_EQ(tasks_per_node(plan, false), 0);
  EXPECT_EQ(tasks_per_node(plan, true), 8);
  plan.cases[1].unable = {{Verdict::skip, "needs 2 nodes", {}, ""}};
  EXPECT_EQ(tasks_per_node(plan, false), 2);
}

}  // namespace
}  // namespace muster
