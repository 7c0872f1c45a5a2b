// Made-up machines and environments, read as the probe reads them, and the judge's word on each.
#include <cstdlib>
#include <fmt/format.h>
#include <memory>

#include "device/inventory.hpp"
#include "device/machine_tree.hpp"
#include "measure/rank_gpus.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"
#include "system/layout.hpp"

namespace muster {
namespace {

using gpu_mapping::Variables;

const ProbeSpec& probe() {
  return *find_probe("gpu_mapping");
}

constexpr const char* eight_gpus = "gpus 8; nics 2; nic 1 numa=1; cpus 0-31 32-63";
// Buses and domains of an MI250X node: GCDs 0 and 1 are in domain 3.
constexpr const char* eight_gcds =
    "gpus 8 MI250X; gpu 0 at=c1 numa=3; gpu 1 at=c6 numa=3; gpu 2 at=c9 numa=1; gpu 3 at=ce numa=1; gpu 4 at=d1 "
    "numa=0; "
    "gpu 5 at=d6 numa=0; gpu 6 at=d9 numa=2; gpu 7 at=de numa=2; nics 4 hsn; nic 0 at=c5 numa=3; nic 1 at=cd numa=1; "
    "nic 2 at=d5 numa=0; nic 3 at=dd numa=2; cpus 0-15,64-79 16-31,80-95 32-47,96-111 48-63,112-127";

/// One rank: the machine it sees, its variables, where it may run.
struct Rank {
  Variables variables = {};
  std::string mask = "0-31";
  std::string machine = {};    ///< empty: the node's
  std::string processes = {};  ///< of torchrun; empty: the launch line has none
  std::string starter = {};    ///< in place of torchrun
};

class Job {
 public:
  Job() : Job("share", "refused") {}
  Job(const std::string& param, const std::string& value)
      : made_(probe(), {{param, value}}),
        habit_{made_.params().text("choice"), made_.params().text("share") == "allowed"} {}

  Job& node(const std::string& host, const std::string& machine, const std::vector<Rank>& ranks) {
    int local_rank = 0;
    for (const Rank& rank : ranks) {
      const MadeMachine tree(rank.machine.empty() ? machine : rank.machine);
      const auto inventory = read_inventory(tree.root().string());
      gpu_mapping::Asker asker{local_rank++, *CpuMask::parse_list(rank.mask), rank.variables};
      auto seen = gpu_mapping::observe(Machine(tree.root()), *inventory, asker, habit_);
      if (!rank.processes.empty()) seen.push_back({"torchrun", rank.processes});
      if (!rank.starter.empty()) seen.push_back({"torchrun.starter", rank.starter});
      made_.rank(host, std::move(seen));
    }
    return *this;
  }
  /// With a reason why the profile's word on them is not verified.
  Job& promise(int gpus, const std::string& doubt = {}) {
    ExpectedNode node;
    node.gpus = GpuExpectation{gpus, {}, {}};
    if (!doubt.empty()) node.unverified["gpus"] = doubt;
    made_.node(node);
    return *this;
  }
  [[nodiscard]] ProbeJudgement judge() const { return made_.judge(); }

 private:
  MadeCase made_;
  gpu_mapping::Habit habit_;
};

/// n ranks, half of them in each domain of `eight_gpus`.
std::vector<Rank> ranks(int n, const Variables& variables = {}) {
  std::vector<Rank> some;
  for (int i = 0; i < n; ++i) some.push_back({variables, i < n / 2 ? "0-31" : "32-63"});
  return some;
}

/// As `ranks`, with `name` set to each of the values in turn.
std::vector<Rank> ranks_with(const std::string& name, const std::vector<std::string>& values,
                             const Variables& others = {}) {
  std::vector<Rank> some;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Variables variables = others;
    variables[name] = values[i];
    some.push_back({variables, i < values.size() / 2 ? "0-31" : "32-63"});
  }
  return some;
}

std::vector<std::string> numbers(int n) {
  std::vector<std::string> texts;
  for (int i = 0; i < n; ++i) texts.push_back(std::to_string(i));
  return texts;
}

void expect_only(const ProbeJudgement& judgement, const std::string& reason, const std::string& culprit,
                 const std::string& remedy, Verdict verdict = Verdict::fail) {
  ASSERT_EQ(judgement.findings.size(), 1u) << (judgement.findings.size() > 1 ? judgement.findings[1].reason : "");
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.reason, reason);
  EXPECT_EQ(finding.verdict, verdict);
  EXPECT_NE(finding.remedy.find(remedy), std::string::npos) << finding.remedy;
  ASSERT_FALSE(finding.culprits.empty());
  EXPECT_EQ(finding.culprits[0].name, culprit);
  EXPECT_TRUE(judgement.evidence.empty());
}

void expect_pass(const ProbeJudgement& judgement, const std::string& first) {
  for (const Finding& finding : judgement.findings) EXPECT_EQ(finding.verdict, Verdict::pass) << finding.reason;
  ASSERT_FALSE(judgement.evidence.empty());
  EXPECT_EQ(judgement.evidence[0], first);
}

TEST(GpuMapping, OneRankForEachGpuPasses) {
  const auto judgement = Job().node("a", eight_gpus, ranks(8)).node("b", eight_gpus, ranks(8)).promise(8).judge();
  expect_pass(judgement, "16 ranks on 2 nodes use 16 GPUs, each its own, in the same order on all nodes");
  EXPECT_TRUE(judgement.findings.empty());
  ASSERT_EQ(judgement.evidence.size(), 3u);
  EXPECT_EQ(judgement.evidence[1], "16 of 16 ranks run in the NUMA domain of their GPU");
  EXPECT_EQ(judgement.evidence[2].rfind("assumed: CUDA_DEVICE_ORDER is not PCI_BUS_ID", 0), 0u);
  const auto ordered = Job().node("a", eight_gpus, ranks(8, {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}})).judge();
  EXPECT_EQ(ordered.evidence.size(), 2u) << "nothing is assumed";
}

TEST(GpuMapping, WrappersThatLeaveEachRankOneGpuPass) {
  const auto judgement = Job().node("a", eight_gpus, ranks_with("CUDA_VISIBLE_DEVICES", numbers(8))).promise(8).judge();
  expect_pass(judgement, "8 ranks on 1 node use 8 GPUs, each its own");
  EXPECT_TRUE(judgement.findings.empty());
}

TEST(GpuMapping, NoGpuAndNoneExpectedIsSkipped) {
  expect_finding(Job().node("a", "nics 1", {{}}).judge(), Verdict::skip, "no GPU on this node and none expected");
  expect_finding(Job().node("a", "nics 1", {{}}).node("b", "nics 1", {{}}).judge(), Verdict::skip,
                 "no GPU on these 2 nodes and none expected");
}

TEST(GpuMapping, NoGpuThatSomebodyExpects) {
  expect_only(Job().node("a", "nics 1", {{}}).promise(8).judge(), "no GPU on a, 8 expected by the profile", "a",
              "login node");
  expect_finding(Job().node("a", "nics 1", {{}}).promise(8, "from a data sheet").judge(), Verdict::skip,
                 "no GPU on this node and none expected");
  expect_only(Job().node("a", "nics 1", {{{{"SLURM_GPUS_ON_NODE", "4"}}}}).judge(),
              "no GPU on a, 4 granted by the job (SLURM_GPUS_ON_NODE=4)", "a", "device_visibility");
  expect_only(Job().node("a", "gpus 1", {{}}).node("b", "nics 1", {{}}).judge(),
              "no GPU on b, though another node has some", "b", "login node");
}

TEST(GpuMapping, GpusThatCanNotBeUsed) {
  expect_only(Job().node("a", "gpus 2; gpu 0 lost; gpu 1 driver=none", {{}}).judge(),
              "no GPU on a can be used by local rank 0: 2 GPUs are there, but lost, without a driver or refused",
              "rank 0", "device_visibility");
}

TEST(GpuMapping, GpusThatTheControlGroupCloses) {
  MadeCase made(probe());
  made.rank("a", std::vector<Fact>{{"bus", "shown"}, {"closed", "0000:1b:00.0 0000:2b:00.0"}, {"mask", "0"}});
  expect_only(made.judge(), "the job's control group closes all 2 GPUs on a to local rank 0", "rank 0",
              "--gpus-per-node");
}

TEST(GpuMapping, AListThatEndsEarly) {
  const auto judged = [](const std::string& list) {
    return Job("idle", "allowed").node("a", eight_gpus, ranks(2, {{"CUDA_VISIBLE_DEVICES", list}})).judge();
  };
  expect_only(judged("0,4,9,1"),
              "of local ranks 0 and 1 on a, CUDA_VISIBLE_DEVICES=\"0,4,9,1\": \"9\" is beyond the 8 GPUs (0 to 7), so "
              "the list ends after 2 of its entries",
              "CUDA_VISIBLE_DEVICES", "only GPUs that the node has");
  expect_only(judged("0,4,-1,1"),
              "of local ranks 0 and 1 on a, CUDA_VISIBLE_DEVICES=\"0,4,-1,1\": \"-1\" is negative, so the list ends "
              "after 2 of its entries",
              "CUDA_VISIBLE_DEVICES", "only GPUs that the node has");
  expect_pass(judged("0,4"), "2 ranks on 1 node use 2 GPUs, each its own");
}

TEST(GpuMapping, AListThatHidesAllIsTheOnlyFinding) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "it is empty"},
      {"NoDevFiles", "\"NoDevFiles\" is not a GPU"},
      {"-1", "\"-1\" is negative"},
      {"8", "\"8\" is beyond the 8 GPUs (0 to 7)"},
      {"3,3", "\"3\" names a GPU twice"},
      {"GPU-nobody", "\"GPU-nobody\" is the UUID of no GPU here"},
      {"GPU-", "\"GPU-\" is not a UUID"},
      {"GPU-made", "\"GPU-made\" fits several GPUs"},
      {"MIG-GPU-nobody/1/0", "\"GPU-nobody\" is the UUID of no GPU here"},
  };
  for (const auto& [list, why] : cases)
    expect_only(Job().node("a", eight_gpus, ranks(8, {{"CUDA_VISIBLE_DEVICES", list}})).promise(8).judge(),
                fmt::format("of all 8 ranks on a, CUDA_VISIBLE_DEVICES=\"{}\" hides every GPU: {}", list, why),
                "CUDA_VISIBLE_DEVICES", "unset CUDA_VISIBLE_DEVICES");
}

TEST(GpuMapping, AllRanksOnOneGpu) {
  expect_only(Job().node("a", eight_gpus, ranks(8, {{"CUDA_VISIBLE_DEVICES", "0"}})).promise(8).judge(),
              "all 8 ranks on a use the same GPU 0000:1b:00.0: CUDA_VISIBLE_DEVICES=0 leaves them no other", "rank 0",
              "wrapper");
  expect_only(Job().node("a", eight_gpus, ranks(8, {{"LOCAL_RANK", "0"}})).judge(),
              "all 8 ranks on a use the same GPU 0000:1b:00.0: LOCAL_RANK is 0 for each of them", "rank 0",
              "inside the launcher");
  expect_only(Job("choice", "first").node("a", eight_gpus, ranks(2)).judge(),
              "local ranks 0 and 1 on a use the same GPU 0000:1b:00.0", "rank 0", "a GPU of its own");
}

TEST(GpuMapping, TheSameUnderTwoNamesIsFound) {
  std::vector<Rank> two = ranks_with("CUDA_VISIBLE_DEVICES", {"3", "GPU-one"});
  const std::string machine = "gpus 4; gpu 3 uuid=GPU-one-two; cpus 0-31 32-63";
  two[0].mask = "32-63";
  expect_only(Job("idle", "allowed").node("a", machine, two).judge(),
              "local ranks 0 and 1 on a use the same GPU 0000:4b:00.0", "rank 0", "share = allowed");
}

TEST(GpuMapping, SharingCanBeAllowed) {
  std::vector<Rank> four = ranks(4);
  for (std::size_t i = 0; i < 4; ++i) four[i].mask = i % 2 == 0 ? "0-31" : "32-63";
  const auto judgement = Job("share", "allowed").node("a", "gpus 2; cpus 0-31 32-63", four).judge();
  ASSERT_EQ(judgement.evidence.size(), 3u);
  EXPECT_EQ(judgement.evidence[0], "4 ranks on 1 node use 2 GPUs");
}

TEST(GpuMapping, MoreRanksThanGpus) {
  expect_only(Job("near", "reported").node("a", "gpus 4", ranks(6)).judge(),
              "6 ranks on a see 4 GPUs: none is left for local ranks 4 and 5", "rank 4", "as many ranks");
}

TEST(GpuMapping, LocalRankPointsOutside) {
  const auto good = ranks_with("LOCAL_RANK", {"0", "1"});
  const std::string machine = "gpus 2; cpus 0-31 32-63";
  expect_pass(Job().node("a", machine, good).judge(), "2 ranks on 1 node use 2 GPUs, each its own");
  expect_only(Job().node("a", machine, ranks_with("LOCAL_RANK", {"0", "5"})).judge(),
              "LOCAL_RANK 5 points outside of the 2 GPUs that local rank 1 on a sees", "rank 1", "from 0");
  for (const char* value : {"-1", "two", "1x", ""})
    expect_only(Job().node("a", machine, ranks_with("LOCAL_RANK", {"0", value})).judge(),
                fmt::format("LOCAL_RANK of local rank 1 on a is \"{}\"", value), "LOCAL_RANK", "from 0");
}

TEST(GpuMapping, OneGpuForEachRankAndLocalRankBeyondIt) {
  std::vector<Rank> caged = ranks(2, {{"LOCAL_RANK", "0"}});
  caged[1].variables["LOCAL_RANK"] = "1";
  caged[0].machine = "gpus 1; gpu 0 at=1b; cpus 0-31 32-63";
  caged[1].machine = "gpus 1; gpu 0 at=2b numa=1; cpus 0-31 32-63";
  caged[0].mask = "32-63";
  expect_only(Job().node("a", "", caged).judge(),
              "each rank on a sees one GPU of its own, so LOCAL_RANK of local rank 1 points to nothing", "rank 1",
              "device 0");
  const std::string each = "2 ranks on 1 node use 2 GPUs, each its own";
  const auto first = Job("choice", "first").node("a", "", caged).judge();
  expect_pass(first, each);
  ASSERT_EQ(first.findings.size(), 1u) << "a note on IPC";
  EXPECT_EQ(first.findings[0].reason.rfind("a control group on a leaves each rank one GPU", 0), 0u);
  for (Rank& rank : caged) rank.variables.clear();
  expect_pass(Job().node("a", "", caged).judge(), each);
  EXPECT_EQ(Job("choice", "local_rank").node("a", "", caged).judge().findings.at(0).verdict, Verdict::fail);
}

TEST(GpuMapping, IdleGpus) {
  const std::string three = "gpus 3; cpus 0-31 32-63";
  const auto two = ranks_with("LOCAL_RANK", {"0", "2"});
  const std::string reason = "2 ranks use 2 of 3 GPUs on a: unused: 0000:2b:00.0";
  expect_only(Job().node("a", three, two).promise(3).judge(), reason, "GPU 0000:2b:00.0", "one rank for each GPU");
  expect_only(Job("idle", "refused").node("a", three, two).judge(), reason, "GPU 0000:2b:00.0", "idle = allowed");
  const auto noted = Job().node("a", three, two).judge();
  expect_pass(noted, "2 ranks on 1 node use 2 GPUs, each its own");
  ASSERT_EQ(noted.findings.size(), 1u);
  EXPECT_EQ(noted.findings[0].reason, reason);
  const auto unverified = Job().node("a", three, two).promise(3, "from a data sheet").judge();
  ASSERT_EQ(unverified.findings.size(), 1u);
  EXPECT_EQ(unverified.findings[0].verdict, Verdict::pass) << "nothing fails by what nobody has verified";
  EXPECT_TRUE(Job("idle", "allowed").node("a", three, two).promise(3).judge().findings.empty());
}

// `srun -N 2 --ntasks-per-node=1 torchrun --nproc-per-node=8`: its processes take the GPUs.
TEST(GpuMapping, ProcessesOfTorchrunUseTheGpus) {
  const auto judged = [](const std::string& processes, const Variables& variables = {}) {
    const std::vector<Rank> one{{variables, "0-63", "", processes}};
    return Job().node("a", eight_gpus, one).node("b", eight_gpus, one).promise(8).judge();
  };
  for (const char* right : {"8", "gpu", "?$GPUS"}) {
    const auto judgement = judged(right);
    ASSERT_EQ(judgement.findings.size(), 1u) << right;
    EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass) << judgement.findings[0].reason;
    EXPECT_EQ(judgement.findings[0].reason,
              "torchrun starts its processes on a and b on all CPUs of their task: none is confined to the NUMA domain "
              "of its GPU");
  }
  EXPECT_EQ(judged("").findings.at(0).reason.rfind("1 rank uses 1 of 8 GPUs on a and b", 0), 0u);
  const auto four = judged("4").findings.at(0);
  EXPECT_EQ(four.verdict, Verdict::fail);
  EXPECT_EQ(four.reason.rfind("the processes of torchrun use 4 of 8 GPUs on a and b: unused: ", 0), 0u) << four.reason;
  EXPECT_NE(four.remedy.find("--nproc-per-node=8"), std::string::npos);
  const auto caged = judged("8", {{"CUDA_VISIBLE_DEVICES", "0,1"}}).findings.at(0);
  EXPECT_EQ(caged.reason, "torchrun starts 8 processes in a task that sees 2 GPUs on a and b: LOCAL_RANK 2 has none");
  EXPECT_NE(caged.remedy.find("--nproc-per-node=2"), std::string::npos);
}

// `srun -N 2 --ntasks-per-node=1 accelerate launch --num_processes 8 --num_machines 2`: 4 of 8 on each node.
TEST(GpuMapping, ProcessesOfAccelerateAndDeepspeed) {
  const auto judged = [](const std::string& starter, const std::string& processes) {
    const std::vector<Rank> one{{{}, "0-63", "", processes, starter}};
    return Job().node("a", eight_gpus, one).node("b", eight_gpus, one).promise(8).judge().findings.at(0);
  };
  EXPECT_EQ(judged("accelerate", "8").verdict, Verdict::pass);
  EXPECT_EQ(judged("deepspeed", "gpu").verdict, Verdict::pass);
  for (const char* half : {"4", "gpu/2"}) {
    const auto accelerate = judged("accelerate", half);
    EXPECT_EQ(accelerate.verdict, Verdict::fail);
    EXPECT_EQ(accelerate.reason.rfind("the processes of accelerate launch use 4 of 8 GPUs on a and b", 0), 0u);
    EXPECT_NE(accelerate.remedy.find("--num_processes=16, the sum over all nodes"), std::string::npos);
    // The GPUs are healthy.
    for (const Culprit& culprit : accelerate.culprits) EXPECT_EQ(culprit.kind, CulpritKind::launcher);
  }
  EXPECT_NE(judged("deepspeed", "4").remedy.find("--num_gpus=8"), std::string::npos);
}

// Each task starts its share of the processes, and all take the first GPUs.
TEST(GpuMapping, TorchrunsWithTheirShareNeedGpusOfTheirOwn) {
  const std::vector<Rank> two(2, {{}, "0-63", "", "4"});
  const auto judgement = Job("share", "allowed").node("a", eight_gpus, two).promise(8).judge();
  ASSERT_FALSE(judgement.findings.empty());
  EXPECT_EQ(judgement.findings[0].reason.rfind("the processes of torchrun use 4 of 8 GPUs on a", 0), 0u);
  EXPECT_EQ(judgement.findings[0].remedy.find("--nproc-per-node"), std::string::npos);
  EXPECT_NE(judgement.findings[0].remedy.find("GPUs of its own (--gpus-per-task=4)"), std::string::npos);
  const std::vector<Rank> half(2, {{}, "0-63", "", "2"});
  const auto fewer = Job("share", "allowed").node("a", eight_gpus, half).promise(8).judge();
  ASSERT_FALSE(fewer.findings.empty());
  EXPECT_EQ(fewer.findings[0].remedy.find("GPUs of its own"), std::string::npos) << fewer.findings[0].remedy;
  EXPECT_NE(fewer.findings[0].remedy.find("--nproc-per-node=4 in each task"), std::string::npos);
}

// `srun --ntasks-per-node=2 torchrun --standalone --nproc-per-node=8`.
TEST(GpuMapping, TorchrunsOfOneNodeShareItsGpus) {
  const auto judged = [](const std::string& processes, const std::vector<std::string>& visible) {
    std::vector<Rank> tasks;
    for (const std::string& list : visible)
      tasks.push_back({list.empty() ? Variables{} : Variables{{"CUDA_VISIBLE_DEVICES", list}}, "0-63", "", processes});
    return Job("idle", "allowed").node("a", eight_gpus, tasks).node("b", eight_gpus, tasks).judge();
  };
  const auto all = judged("8", {"", ""});
  ASSERT_FALSE(all.findings.empty());
  EXPECT_EQ(all.findings[0].verdict, Verdict::fail);
  EXPECT_EQ(all.findings[0].reason,
            "2 torchruns on one node share 8 GPUs on a and b: LOCAL_RANK 0 of each takes the first GPU that its task "
            "sees; F02");
  EXPECT_NE(all.findings[0].remedy.find("--ntasks-per-node=1"), std::string::npos);
  // Of a number that the line does not show, the first process is certain.
  EXPECT_EQ(judged("?$GPUS", {"", ""}).findings.at(0).reason.rfind("2 torchruns on one node share 1 GPU on a and b", 0),
            0u);
  EXPECT_EQ(judged("2", {"0,1", "1,2"}).findings.at(0).reason.rfind("2 torchruns on one node share 1 GPU on", 0), 0u);
  for (const Finding& finding : judged("4", {"0,1,2,3", "4,5,6,7"}).findings)
    EXPECT_EQ(finding.verdict, Verdict::pass) << finding.reason;
}

TEST(GpuMapping, OnlyTheJobsShareIsMissed) {
  const auto judged = [](const std::string& granted) {
    return Job("idle", "refused")
        .node("a", eight_gpus, ranks_with("LOCAL_RANK", {"0", "4"}, {{"SLURM_GPUS_ON_NODE", granted}}))
        .judge();
  };
  EXPECT_TRUE(judged("2").findings.empty());
  expect_only(judged("3"), "2 ranks use 2 of 3 GPUs on a", "a", "one rank for each GPU");
}

TEST(GpuMapping, RocrThenHip) {
  const auto judged = [](const std::string& rocr, const std::string& name, const std::string& value) {
    std::vector<Rank> one = {{{{"ROCR_VISIBLE_DEVICES", rocr}, {name, value}}, "0-15"}};
    return Job().node("a", eight_gcds, one).judge();
  };
  expect_only(judged("4", "HIP_VISIBLE_DEVICES", "4"),
              "of local rank 0 on a, HIP_VISIBLE_DEVICES=\"4\" counts within the one GPU (0) that "
              "ROCR_VISIBLE_DEVICES=\"4\" leaves: none is left",
              "HIP_VISIBLE_DEVICES", "unset HIP_VISIBLE_DEVICES");
  expect_only(judged("3,4,5", "CUDA_VISIBLE_DEVICES", "1"),
              "of local rank 0 on a, CUDA_VISIBLE_DEVICES=\"1\" counts within the 3 GPUs (0 to 2) that "
              "ROCR_VISIBLE_DEVICES=\"3,4,5\" leaves: 0000:d1:00.0 is left",
              "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES alone");
  expect_pass(judged("4", "HIP_VISIBLE_DEVICES", "0"), "1 rank on 1 node uses 1 GPU");
  expect_pass(judged("4", "HIP_VISIBLE_DEVICES", ""), "1 rank on 1 node uses 1 GPU");
  expect_pass(judged("4", "GPU_DEVICE_ORDINAL", "7"), "1 rank on 1 node uses 1 GPU");
}

TEST(GpuMapping, RocrAndHipLists) {
  const auto judged = [](const std::string& name, const std::string& value) {
    std::vector<Rank> one = {{{{name, value}}, "0-15,64-79"}};
    return Job().node("a", eight_gcds + std::string("; gpu 4 uuid=10"), one).judge();
  };
  expect_only(
      judged("ROCR_VISIBLE_DEVICES", "4,4"),
      "of local rank 0 on a, ROCR_VISIBLE_DEVICES=\"4,4\": \"4\" names a GPU twice, so the list ends after 1 of "
      "its entries",
      "ROCR_VISIBLE_DEVICES", "only GPUs that the node has");
  expect_only(judged("HIP_VISIBLE_DEVICES", "4,4"),
              "of local rank 0 on a, HIP_VISIBLE_DEVICES=\"4,4\": \"4\" names a GPU twice, which counts once",
              "HIP_VISIBLE_DEVICES", "every GPU once");
  expect_only(judged("ROCR_VISIBLE_DEVICES", ""),
              "of local rank 0 on a, ROCR_VISIBLE_DEVICES=\"\" hides every GPU: it is empty", "ROCR_VISIBLE_DEVICES",
              "unset");
  expect_only(judged("HIP_VISIBLE_DEVICES", "04"),
              "of local rank 0 on a, HIP_VISIBLE_DEVICES=\"04\" hides every GPU: \"04\" is not a GPU",
              "HIP_VISIBLE_DEVICES", "unset");
  for (const char* good : {"4", "0x4", "GPU-000000000000000a", "GPU-000000000000000A"})
    expect_pass(judged("ROCR_VISIBLE_DEVICES", good), "1 rank on 1 node uses 1 GPU");
  std::vector<Rank> both = {{{{"HIP_VISIBLE_DEVICES", "4"}, {"CUDA_VISIBLE_DEVICES", "5"}}, "0-15"}};
  expect_only(Job().node("a", eight_gcds, both).judge(),
              "of local rank 0 on a, HIP_VISIBLE_DEVICES=\"4\" and CUDA_VISIBLE_DEVICES=\"5\" differ: HIP follows the "
              "former",
              "HIP_VISIBLE_DEVICES", "one of them");
}

TEST(GpuMapping, GcdsAreNotInTheOrderOfTheCores) {
  const char* masks[] = {"49-55", "57-63", "17-23", "25-31", "1-7", "9-15", "33-39", "41-47"};
  std::vector<Rank> by_gpu = ranks_with("ROCR_VISIBLE_DEVICES", numbers(8));
  for (std::size_t i = 0; i < 8; ++i) by_gpu[i].mask = masks[i];
  expect_pass(Job().node("nid005038", eight_gcds, by_gpu).promise(8).judge(),
              "8 ranks on 1 node use 8 GPUs, each its own");
  std::vector<Rank> linear = ranks_with("ROCR_VISIBLE_DEVICES", numbers(8));
  for (int i = 0; i < 8; ++i) linear[static_cast<std::size_t>(i)].mask = fmt::format("{}-{}", 8 * i + 1, 8 * i + 7);
  const auto judgement = Job().node("nid005038", eight_gcds, linear).promise(8).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(
      judgement.findings[0].reason,
      "6 of 8 ranks are not confined to the NUMA domain of their GPU on nid005038: local rank 0 may run on CPUs "
      "1-7, its GPU 0000:c1:00.0 is at CPUs 48-63,112-127, local rank 1 may run on CPUs 9-15, its GPU 0000:c6:00.0 "
      "is at CPUs 48-63,112-127 and 4 more");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 6u) << "GCDs 2 and 3 are near by luck";
  EXPECT_NE(judgement.findings[0].remedy.find("--cpu-bind=mask_cpu:0xffff000000000000ffff000000000000,"),
            std::string::npos)
      << judgement.findings[0].remedy;
  std::vector<Rank> by_core = ranks_with("ROCR_VISIBLE_DEVICES", {"4", "5", "2", "3", "6", "7", "0", "1"});
  for (std::size_t i = 0; i < 8; ++i) by_core[i].mask = linear[i].mask;
  expect_pass(Job().node("nid005038", eight_gcds, by_core).promise(8).judge(),
              "8 ranks on 1 node use 8 GPUs, each its own");
}

/// Four GPUs, the first on the last NUMA domain, on a site whose own simple line leaves ranks far from them.
ProbeJudgement far_noted(const std::vector<std::string>& masks) {
  Layout layout = *read_layout("synthetic:pack:1 numa:4 core:16 pu:2(indexes=2*64:64*1)");
  std::vector<std::string> addresses;
  for (const char* bus : {"03", "41", "82", "c1"}) addresses.push_back(fmt::format("0000:{}:00.0", bus));
  for (std::size_t i = 0; i < 4; ++i) layout.nearby[addresses[i]] = layout.domains.at(3 - static_cast<int>(i));
  MadeCase made(probe());
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<Fact> facts{{"bus", "shown"},
                            {"mask", masks[i]},
                            {"device", addresses[i]},
                            {"device.address", addresses[i]},
                            {"device.cpus", layout.nearby[addresses[i]].list()}};
    for (const std::string& address : addresses) facts.push_back({"gpu", address + "; numa 0; x"});
    if (i == 0)
      for (const Fact& fact : to_facts(layout, addresses)) facts.push_back(fact);
    made.rank("nid001100", facts);
  }
  ExpectedNode node;
  node.bind = BindExpectation{"gpu", true, "wrapper", {}, true};
  made.node(node);
  return made.judge();
}

TEST(GpuMapping, OnlyTheSitesSimpleLineMayLeaveRanksFarFromTheirGpus) {
  const auto simple = far_noted({"0-15,64-79", "16-31,80-95", "32-47,96-111", "48-63,112-127"});
  ASSERT_EQ(simple.findings.size(), 1u);
  EXPECT_EQ(simple.findings[0].verdict, Verdict::pass);
  EXPECT_NE(simple.findings[0].reason.find("local rank 0 may run on CPUs 0-15,64-79 (NUMA domain 0), its GPU "
                                           "0000:03:00.0 is at CPUs 48-63,112-127 (NUMA domain 3)"),
            std::string::npos)
      << simple.findings[0].reason;
  const auto other = far_noted({"16-31,80-95", "0-15,64-79", "48-63,112-127", "32-47,96-111"});
  ASSERT_EQ(other.findings.size(), 1u);
  EXPECT_EQ(other.findings[0].verdict, Verdict::fail);
}

TEST(GpuMapping, WithTheNodesLayoutTheLineIsThatOfBind) {
  Layout layout = *read_layout("synthetic:pack:1 numa:4 l3:2 core:8 pu:2(indexes=2*64:64*1)");
  const char* const buses[] = {"c1", "c6", "c9", "ce", "d1", "d6", "d9", "de"};
  const std::size_t cache_of[] = {6, 7, 2, 3, 0, 1, 4, 5};
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < 8; ++i) {
    addresses.push_back(fmt::format("0000:{}:00.0", buses[i]));
    layout.nearby[addresses[i]] = layout.caches[cache_of[i]];
  }
  MadeCase made(probe());
  for (std::size_t i = 0; i < 8; ++i) {
    const CpuMask& domain = layout.domains.at(static_cast<int>(cache_of[i] / 2));
    std::vector<Fact> facts{{"bus", "shown"},
                            {"mask", fmt::format("{}-{}", 8 * i + 1, 8 * i + 7)},
                            {"device", addresses[i]},
                            {"device.address", addresses[i]},
                            {"device.cpus", domain.list()}};
    for (const std::string& address : addresses) facts.push_back({"gpu", address + "; numa 0; x"});
    if (i == 0)
      for (const Fact& fact : to_facts(layout, addresses)) facts.push_back(fact);
    made.rank("nid005038", facts);
  }
  ExpectedNode node;
  node.reserved_cores = {0, 8, 16, 24, 32, 40, 48, 56};
  made.node(node);
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].remedy,
            "bind each rank next to its GPU: srun --cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,"
            "0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000; or give each rank the GPU that is near");
}

TEST(GpuMapping, NearnessCanBeReportedOnly) {
  const std::vector<Rank> far = {{{}, "32-63"}, {{}, "0-31"}};
  const std::string machine = "gpus 2; cpus 0-31 32-63";
  EXPECT_EQ(Job().node("a", machine, far).judge().findings.at(0).verdict, Verdict::fail);
  const auto judgement = Job("near", "reported").node("a", machine, far).judge();
  expect_pass(judgement, "2 ranks on 1 node use 2 GPUs, each its own");
  EXPECT_EQ(judgement.findings.size(), 1u) << "the note";
  const std::vector<Rank> unbound = {{{}, "0-63"}, {{}, "0-63"}};
  EXPECT_EQ(Job().node("a", machine, unbound).judge().findings.at(0).verdict, Verdict::fail);
  const auto unknown = Job().node("a", "gpus 2; gpu 0 numa=-1; gpu 1 numa=-1", unbound).judge();
  ASSERT_GE(unknown.evidence.size(), 2u);
  EXPECT_EQ(unknown.evidence[1], "of 2 ranks the kernel does not report the CPUs near their GPU");
}

TEST(GpuMapping, TheOddNodeOut) {
  const std::string machine = "gpus 2; gpu 1 numa=0; cpus 0-31";
  const auto straight = ranks_with("CUDA_VISIBLE_DEVICES", {"0", "1"});
  auto bad = ranks_with("CUDA_VISIBLE_DEVICES", {"1", "0"});
  const auto near = [](std::vector<Rank> some) {
    for (Rank& rank : some) rank.mask = "0-31";
    return some;
  };
  expect_only(
      Job().node("a", machine, near(straight)).node("b", machine, near(bad)).node("c", machine, near(straight)).judge(),
      "local rank 0 has GPU 0000:2b:00.0 on b, but 0000:1b:00.0 on 2 other nodes: the same GPUs in another order", "b",
      "alike on all nodes");
  const std::string moved = "gpus 2; gpu 1 numa=0 at=99; cpus 0-31";
  const auto two = Job().node("a", machine, near(straight)).node("b", moved, near(straight)).judge();
  ASSERT_EQ(two.findings.size(), 1u);
  EXPECT_EQ(two.findings[0].culprits.size(), 2u) << "of two nodes nobody is the odd one";
  EXPECT_NE(two.findings[0].reason.find("local rank 1 has GPU"), std::string::npos);
  EXPECT_EQ(two.findings[0].reason.find("another order"), std::string::npos);
}

TEST(GpuMapping, OrdinalsOfUnlikeGpusAreUnknown) {
  const std::string mixed = "gpus 2; gpu 1 device=20b2; cpus 0-31 32-63";
  expect_only(
      Job().node("a", mixed, ranks(2)).judge(),
      "which GPU local ranks 0 and 1 on a use is unknown: the GPUs differ in model and CUDA_DEVICE_ORDER is not "
      "PCI_BUS_ID: CUDA counts the fastest first",
      "rank 0", "CUDA_DEVICE_ORDER=PCI_BUS_ID", Verdict::unmeasured);
  expect_pass(Job().node("a", mixed, ranks(2, {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}})).judge(),
              "2 ranks on 1 node use 2 GPUs, each its own");
  expect_only(Job().node("a", mixed, ranks(2, {{"CUDA_VISIBLE_DEVICES", "1"}})).judge(),
              "local ranks 0 and 1 on a use the same GPU cuda:1: CUDA_VISIBLE_DEVICES=1 leaves them no other", "rank 0",
              "wrapper");
  std::vector<Rank> named = ranks_with("CUDA_VISIBLE_DEVICES", {"GPU-a", "GPU-b"});
  expect_pass(Job().node("a", mixed + "; gpu 0 uuid=GPU-a1; gpu 1 uuid=GPU-b1", named).judge(),
              "2 ranks on 1 node use 2 GPUs, each its own");
}

TEST(GpuMapping, MigInstances) {
  const std::string machine = "gpus 2; gpu 0 uuid=GPU-a1; gpu 1 uuid=GPU-b1; gpu 1 numa=0; cpus 0-31";
  const auto judged = [&](const std::string& one, const std::string& other) {
    auto two = ranks_with("CUDA_VISIBLE_DEVICES", {one, other});
    for (Rank& rank : two) rank.mask = "0-31";
    return Job("idle", "allowed").node("a", machine, two).judge();
  };
  expect_pass(judged("MIG-GPU-a1/1/0", "MIG-GPU-a1/2/0"), "2 ranks on 1 node use 2 GPUs, each its own");
  EXPECT_EQ(judged("MIG-4f", "MIG-5f").findings.at(0).verdict, Verdict::unmeasured);
  expect_only(judged("MIG-4f", "MIG-4f"),
              "local ranks 0 and 1 on a use the same GPU MIG-4f: CUDA_VISIBLE_DEVICES=MIG-4f leaves them no other",
              "rank 0", "wrapper");
  EXPECT_EQ(judged("MIG-GPU-a1/1/0,MIG-GPU-a1/2/0", "MIG-GPU-b1/1/0").findings.at(0).reason,
            "of local rank 0 on a, CUDA_VISIBLE_DEVICES=\"MIG-GPU-a1/1/0,MIG-GPU-a1/2/0\": a program sees one MIG "
            "instance only, so the list ends after 1 of its entries");
}

TEST(GpuMapping, SilenceAndDamageAreNoPass) {
  MadeCase silent(probe());
  silent.rank("a", std::nullopt);
  EXPECT_TRUE(silent.judge().evidence.empty());
  MadeCase empty(probe());
  empty.rank("a", std::vector<Fact>{});
  expect_finding(empty.judge(), Verdict::unmeasured, "local rank 0 reported nothing on its GPUs on a");
  MadeCase damaged(probe());
  damaged.rank("a", std::vector<Fact>{{"bus", "shown"}, {"gpu", "non\nsense"}});
  expect_finding(damaged.judge(), Verdict::unmeasured, "local rank 0 reported malformed data on a: non sense");
  MadeCase bus(probe());
  bus.rank("a", std::vector<Fact>{{"bus", "hidden"}});
  expect_finding(bus.judge(), Verdict::unmeasured, "local rank 0 sees no PCI bus on a");
  MadeCase half(probe());
  half.rank("a",
            std::vector<Fact>{{"bus", "shown"}, {"gpu", "0000:1b:00.0; numa 0; H100"}, {"device", "0000:1b:00.0"}});
  expect_finding(half.judge(), Verdict::unmeasured, "which GPU local rank 0 on a uses is unknown: it was not reported");
}

TEST(GpuMapping, OneFaultOnManyNodesIsSaidOnce) {
  Job job;
  for (const char* host : {"a", "b", "c"}) job.node(host, "gpus 2", ranks(2, {{"CUDA_VISIBLE_DEVICES", ""}}));
  const auto judgement = job.judge();
  expect_only(judgement, "of local ranks 0 and 1 on a, b and c, CUDA_VISIBLE_DEVICES=\"\" hides every GPU: it is empty",
              "CUDA_VISIBLE_DEVICES", "unset");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 3u) << "the variable on each node";
}

TEST(GpuMapping, AWrapperThatSetsBothIsOneFinding) {
  std::vector<Rank> some = ranks_with("ROCR_VISIBLE_DEVICES", numbers(8));
  for (Rank& rank : some) rank.variables["HIP_VISIBLE_DEVICES"] = rank.variables["ROCR_VISIBLE_DEVICES"];
  some[0].mask = "48-63";
  const auto judgement = Job().node("a", eight_gcds, some).promise(8).judge();
  expect_only(judgement,
              "of local ranks 1, 2, 3, 4, 5, 6 and 7 on a, for the first of them: HIP_VISIBLE_DEVICES=\"1\" counts "
              "within the one GPU (0) that ROCR_VISIBLE_DEVICES=\"1\" leaves: none is left",
              "HIP_VISIBLE_DEVICES", "unset HIP_VISIBLE_DEVICES");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 7u);
}

TEST(GpuMapping, NearestNic) {
  const auto nic_of = [](const std::string& machine, std::size_t gpu) {
    const MadeMachine made(machine);
    const auto inventory = read_inventory(made.root().string());
    return gpu_mapping::nearest_nics(*inventory, inventory->devices.at(gpu));
  };
  EXPECT_EQ(nic_of(eight_gcds, 0), "hsn0 (0000:c5:00.0), same NUMA domain");
  EXPECT_EQ(nic_of(eight_gcds, 4), "hsn2 (0000:d5:00.0), same NUMA domain");
  EXPECT_EQ(nic_of("gpus 2; gpu 1 switch=40; nics 2; nic 1 switch=40", 1), "mlx5_1 (0000:25:00.0), same switch");
  EXPECT_EQ(nic_of("gpus 2; nics 2; nic 0 rate=25", 0), "mlx5_1 (0000:25:00.0), same NUMA domain");
  EXPECT_EQ(nic_of("gpus 1; gpu 0 numa=1; nics 1", 0), "");
}

TEST(GpuMapping, RunTellsTheDevice) {
  const MadeMachine machine(eight_gpus);
  const MadeCase made(probe(), {{"root", machine.root().string()}});
  ASSERT_EQ(::setenv("CUDA_VISIBLE_DEVICES", "6,7", 1), 0);
  run_ranks(1, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    RankPlace place{.host = "a"};
    place.local_rank = 1;
    RunContext context{made.params(), place, recorder, comm, nullptr};
    const auto seen = probe().run(context);
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->readings.size(), 1u);
    EXPECT_EQ(seen->readings[0].summary.median, 2);
    EXPECT_EQ(*seen->fact("visible"), "0000:7b:00.0 0000:8b:00.0");
    EXPECT_EQ(*seen->fact("device.address"), "0000:8b:00.0");
    EXPECT_EQ(seen->fact("device.uuid")->rfind("GPU-made-up-", 0), 0u);
    EXPECT_EQ(*seen->fact("device.cpus"), "32-63");
    EXPECT_EQ(*seen->fact("device.nic"), "mlx5_1 (0000:25:00.0), same NUMA domain");
    EXPECT_EQ(*seen->fact("env.CUDA_VISIBLE_DEVICES"), "6,7");
    EXPECT_EQ(recorder.steps, (std::vector<std::string>{"inventory"}));
  });
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace muster
