#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "measure/network.hpp"
#include "measure/node_facts.hpp"
#include "measure/paths.hpp"
#include "measure/torchrun.hpp"
#include "measure/variables.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"

namespace muster {
namespace {

using namespace environment;

const ProbeSpec& probe() {
  return *find_probe("environment");
}

/// Variables of one rank, `NAME=value`; other facts as `key:value`, which replace the good machine's.
using Words = std::vector<std::string>;
using Given = std::vector<std::pair<std::string, std::string>>;

std::vector<Fact> facts_of(const std::string& host, const Words& words) {
  const std::string address = host == "a" ? "10.0.0.1" : "10.0.0.2";
  std::vector<Fact> facts;
  for (const std::string& word : words) {
    const auto at = word.find_first_of("=:");
    facts.push_back({(word[at] == '=' ? "env." : "") + word.substr(0, at), word.substr(at + 1)});
  }
  const std::vector<Fact> good = {{"machine", "boot " + host},
                                  {"interfaces", "eth0=" + address + ",lo=127.0.0.1"},
                                  {"limit.open_files", "4096"},
                                  {"limit.memlock", "unlimited"},
                                  {"limit.core", "0"}};
  facts.insert(facts.end(), good.begin(), good.end());  // the first of a key counts
  return facts;
}

/// Two ranks on `a`, two on `b`; `extra[i]` are the words of rank i.
class World {
 public:
  explicit World(Given params = {}, std::vector<std::string> hosts = {"a", "a", "b", "b"})
      : made_(probe(), std::move(params)), hosts_(std::move(hosts)), words_(hosts_.size()) {}

  World& on(std::size_t rank, const Words& words) {
    words_[rank].insert(words_[rank].end(), words.begin(), words.end());
    return *this;
  }
  World& everywhere(const Words& words) {
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) on(rank, words);
    return *this;
  }
  /// RANK and the rest, as they should be.
  World& torch() {
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank)
      on(rank, {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(hosts_.size()),
                "LOCAL_RANK=" + std::to_string(local(rank)), "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=a", "MASTER_PORT=29500",
                "master.addresses:10.0.0.1"});
    return on(0, {"master.port:free"});
  }
  ProbeJudgement judge() {
    std::vector<RankPlace> places;
    std::vector<Observation> seen(hosts_.size());
    std::vector<const Observation*> observed;
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
      RankPlace place;
      place.rank = static_cast<int>(rank);
      place.world_size = static_cast<int>(hosts_.size());
      place.local_rank = local(rank);
      place.local_size = static_cast<int>(std::count(hosts_.begin(), hosts_.end(), hosts_[rank]));
      place.node_index = hosts_[rank] == hosts_[0] ? 0 : 1;
      place.node_count = hosts_.back() == hosts_.front() ? 1 : 2;
      place.host = hosts_[rank];
      if (launch_size_ > 0) place.launch_size = launch_size_, place.launch_rank = first_ + place.rank;
      places.push_back(place);
      seen[rank].facts = facts_of(hosts_[rank], words_[rank]);
      observed.push_back(&seen[rank]);
    }
    if (silent_ >= 0) observed[static_cast<std::size_t>(silent_)] = nullptr;
    const ExpectedNode node;
    return probe().judge(CaseView{made_.params(), places, observed, node});
  }
  /// These ranks are a node's by itself: in the launch they are `first` and up, of `size`.
  World& part_of(int size, int first) {
    launch_size_ = size;
    first_ = first;
    return *this;
  }
  World& silent(int rank) {
    silent_ = rank;
    return *this;
  }

 private:
  int local(std::size_t rank) const {
    return static_cast<int>(
        std::count(hosts_.begin(), hosts_.begin() + static_cast<std::ptrdiff_t>(rank), hosts_[rank]));
  }
  MadeCase made_;
  std::vector<std::string> hosts_;
  std::vector<Words> words_;
  int silent_ = -1;
  int launch_size_ = 0;
  int first_ = 0;
};

void expect_fail(const ProbeJudgement& judgement, const std::string& reason) {
  expect_finding(judgement, Verdict::fail, reason);
}

bool has_note(const ProbeJudgement& judgement, const std::string& part) {
  for (const Finding& finding : judgement.findings)
    if (finding.verdict == Verdict::pass && finding.reason.find(part) != std::string::npos) return true;
  return false;
}

bool has_evidence(const ProbeJudgement& judgement, const std::string& sentence) {
  return std::find(judgement.evidence.begin(), judgement.evidence.end(), sentence) != judgement.evidence.end();
}

/// Two tasks on each of two nodes, or one; `options` of all of them.
ProbeJudgement torchruns(const Words& options, std::vector<std::string> hosts = {"a", "a", "b", "b"},
                         const std::vector<Words>& own = {}, Given params = {}) {
  World world(std::move(params), std::move(hosts));
  world.everywhere({"torchrun:torchrun train.py"}).everywhere(options);
  for (std::size_t rank = 0; rank < own.size(); ++rank) world.on(rank, own[rank]);
  return world.judge();
}

const std::vector<std::string> two_nodes{"a", "b"};

// `muster gate` measures spare nodes, too: what the line sets for the job of 1 of these 2 nodes is as right.
TEST(Environment, SizesOfAJobThatGetsFewerNodes) {
  const auto sizes = [](const std::string& size, const std::string& job_nodes) {
    World world({{"job_nodes", job_nodes}});
    // The first of each is the rank's.
    return world.everywhere({"WORLD_SIZE=" + size}).torch().judge();
  };
  EXPECT_TRUE(sizes("4", "1").findings.empty());
  EXPECT_TRUE(sizes("2", "1").findings.empty()) << sizes("2", "1").findings[0].reason;
  EXPECT_TRUE(sizes("4", "0").findings.empty());
  expect_fail(sizes("2", "0"), "WORLD_SIZE is \"2\" on all 4 ranks, but MPI's world size is 4");
  expect_fail(sizes("3", "1"), "WORLD_SIZE is \"3\" on all 4 ranks, but MPI's world size is 4");
  const auto agents = [](const std::string& nnodes, const std::string& job_nodes) {
    return torchruns({"torchrun.nnodes:" + nnodes, "torchrun.rdzv-backend:c10d", "torchrun.rdzv-endpoint:a:1"},
                     {"a", "a", "b", "b"}, {}, {{"job_nodes", job_nodes}, {"torch", "if set"}});
  };
  const auto wrong = [&](const std::string& nnodes, const std::string& job_nodes) {
    const auto judgement = agents(nnodes, job_nodes);
    return std::any_of(judgement.findings.begin(), judgement.findings.end(), [](const Finding& finding) {
      return finding.verdict == Verdict::fail && finding.reason.find("--nnodes") != std::string::npos;
    });
  };
  EXPECT_FALSE(wrong("4", "1"));
  EXPECT_FALSE(wrong("2", "1"));
  EXPECT_TRUE(wrong("2", "0"));
  EXPECT_TRUE(wrong("5", "1"));
}

// `environment_short` is of the nodes.
TEST(Environment, TheLineIsNotJudgedWhereTorchIsIgnored) {
  EXPECT_TRUE(torchruns({"torchrun.standalone:1"}, two_nodes, {}, {{"torch", "ignored"}}).findings.empty());
  World world({{"torch", "ignored"}}, {"a", "a"});
  const auto judgement = world.everywhere({"line.not_run:export RANK=$(./rank)"}).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
  World open({{"torch", "ignored"}}, {"a", "a"});
  EXPECT_EQ(open.everywhere({"line.not_run:$PROGRAM a"}).judge().findings.back().verdict, Verdict::pass);
}

TEST(Environment, TorchrunInEachTaskOfANodeFails) {
  const auto judgement = torchruns({"torchrun.nproc-per-node:4"});
  expect_fail(judgement,
              "the launch line starts \"torchrun train.py\" 2 times on each node, once in each task: each is a "
              "separate job (--nnodes is 1; F02), and all but the first on a node end with \"address already in use\"");
  EXPECT_NE(judgement.findings[0].remedy.find("--ntasks-per-node=1"), std::string::npos);
  expect_fail(torchruns({"torchrun.standalone:1", "torchrun.gpus:0000:c1:00.0 0000:c2:00.0"}),
              "the launch line starts \"torchrun train.py\" 2 times on each node, once in each task: each is a "
              "separate job on the same GPUs (--standalone; F02)");
}

// One worker each does not change that: --nnodes counts torchruns.
TEST(Environment, TorchrunsOfOneProcessEach) {
  expect_fail(torchruns({"torchrun.nproc-per-node:1", "torchrun.standalone:1"}),
              "the launch line starts \"torchrun train.py\" 2 times on each node, once in each task: each is a "
              "separate job (--standalone; F02)");
  const Words meeting{"torchrun.nproc-per-node:1", "torchrun.nnodes:4", "torchrun.rdzv-backend:c10d",
                      "torchrun.rdzv-endpoint:a:29500"};
  const std::vector<Words> apart{
      {"torchrun.gpus:c1"}, {"torchrun.gpus:c2"}, {"torchrun.gpus:c1"}, {"torchrun.gpus:c2"}};
  const auto good = torchruns(meeting, {"a", "a", "b", "b"}, apart);
  EXPECT_TRUE(good.findings.empty()) << good.findings[0].reason;
  EXPECT_TRUE(
      has_evidence(good,
                   "the launch line starts \"torchrun train.py\" 2 times on each node, once in each task, which "
                   "become one job of 4 torchruns"));
  // Without GPUs nothing is shared.
  EXPECT_TRUE(torchruns(meeting, {"a", "a", "b", "b"}, std::vector<Words>(4, {"torchrun.gpus:none"})).findings.empty());
  const auto same = torchruns(meeting, {"a", "a", "b", "b"}, std::vector<Words>(4, {"torchrun.gpus:c1 c2"}));
  ASSERT_EQ(same.findings.size(), 1u);
  EXPECT_EQ(same.findings[0].verdict, Verdict::fail);
  EXPECT_NE(
      same.findings[0].reason.find("LOCAL_RANK begins at 0 in each of the 2 tasks of a node, and they see the same "
                                   "GPUs: several processes on GPU c1"),
      std::string::npos)
      << same.findings[0].reason;
  const auto unknown = torchruns(meeting);
  ASSERT_EQ(unknown.findings.size(), 1u);
  EXPECT_EQ(unknown.findings[0].verdict, Verdict::pass);
}

TEST(Environment, HowManyTorchrunsAJobTakes) {
  const auto judged = [](const char* nnodes, const char* backend) {
    const auto judgement =
        torchruns({std::string("torchrun.nnodes:") + nnodes, std::string("torchrun.rdzv-backend:") + backend,
                   "torchrun.rdzv-endpoint:a:1", "torchrun.gpus:none"});
    return judgement.findings.empty() ? std::string() : judgement.findings[0].reason;
  };
  EXPECT_EQ(judged("4", "c10d"), "");
  EXPECT_EQ(judged("1:8", "c10d"), "");
  EXPECT_NE(judged("2", "c10d").find("--nnodes=2 admits 2 of these 4 to the job"), std::string::npos);
  EXPECT_NE(judged("1", "c10d").find("--nnodes=1 admits one of them to the job"), std::string::npos);
  EXPECT_NE(judged("5", "c10d").find("--nnodes=5 waits for more than these 4"), std::string::npos);
  EXPECT_NE(judged("1:8", "static").find("--nnodes=1:8 waits for more than these 4"), std::string::npos);
  EXPECT_NE(judged("?$N", "c10d").find("--nnodes is \"$N\", which is unknown"), std::string::npos);
}

TEST(Environment, TorchrunsThatDoNotMeet) {
  const auto reason = [](const ProbeJudgement& judgement) {
    return judgement.findings.empty() ? std::string() : judgement.findings[0].reason;
  };
  const Words fixed{"torchrun.nnodes:4", "torchrun.master-addr:a", "torchrun.gpus:none"};
  const auto numbers = [](const std::vector<std::string>& given) {
    std::vector<Words> words;
    for (const std::string& number : given) words.push_back({"torchrun.node-rank:" + number});
    return words;
  };
  const std::vector<std::string> four{"a", "a", "b", "b"};
  EXPECT_EQ(reason(torchruns(fixed, four, numbers({"0", "1", "2", "3"}))), "");
  EXPECT_NE(reason(torchruns(fixed, four, numbers({"0", "0", "1", "1"}))).find("2 of these 4 have --node-rank=0"),
            std::string::npos)
      << "$SLURM_NODEID";
  EXPECT_NE(reason(torchruns(fixed)).find("4 of these 4 have --node-rank=0"), std::string::npos);
  EXPECT_NE(reason(torchruns(fixed, four, numbers({"?$R", "?$R", "?$R", "?$R"}))).find("--node-rank is \"$R\""),
            std::string::npos);
  const Words meeting{"torchrun.nnodes:2", "torchrun.rdzv-backend:c10d"};
  EXPECT_EQ(reason(torchruns(meeting, two_nodes, std::vector<Words>(2, {"torchrun.rdzv-endpoint:a:1"}))), "");
  EXPECT_NE(reason(torchruns(meeting, two_nodes))
                .find("their rendezvous is at localhost, which is a different address on each node"),
            std::string::npos);
  EXPECT_NE(reason(torchruns(meeting, two_nodes, {{"torchrun.rdzv-endpoint:a:1"}, {"torchrun.rdzv-endpoint:b:1"}}))
                .find("--rdzv-endpoint is \"a:1\" in one task and \"b:1\" in another"),
            std::string::npos);
  const auto own = torchruns(meeting, two_nodes, {{"torchrun.rdzv-endpoint:a:1"}, {"torchrun.rdzv-endpoint:b:1"}});
  EXPECT_NE(reason(own).find("in another: each node names itself"), std::string::npos) << reason(own);
  EXPECT_NE(own.findings[0].remedy.find("--rdzv-endpoint=$HEAD:29500"), std::string::npos);
  const auto made = torchruns(
      {"torchrun.nnodes:2", "torchrun.rdzv-backend:c10d", "torchrun.rdzv-endpoint:a:1", "torchrun.rdzv-id:*$RANDOM"},
      two_nodes);
  EXPECT_NE(reason(made).find("--rdzv-id is \"$RANDOM\", another value in each task"), std::string::npos)
      << reason(made);
  EXPECT_NE(made.findings[0].remedy.find("--rdzv-id=$SLURM_JOB_ID"), std::string::npos);
  const auto literal = torchruns({"torchrun.nnodes:2", "torchrun.node-rank:!$SLURM_NODEID"}, two_nodes);
  EXPECT_NE(reason(literal).find("--node-rank is the text \"$SLURM_NODEID\": no shell puts in"), std::string::npos)
      << reason(literal);
  EXPECT_NE(literal.findings[0].remedy.find("bash -c 'torchrun --node-rank=$SLURM_NODEID ...'"), std::string::npos);
  EXPECT_NE(reason(torchruns({"torchrun.nnodes:2", "torchrun.standalone:1"}, two_nodes))
                .find("each waits for 2 torchruns at a rendezvous of its own (--standalone)"),
            std::string::npos);
}

// Silence would be a pass.
TEST(Environment, WhatTheShellOfTheLineDoesBeside) {
  const auto judged = [](const std::string& part) {
    World world({}, {"a", "a"});
    return world.everywhere({"line.not_run:" + part}).judge();
  };
  expect_finding(judged("source env.sh (RANK=$(./rank))"), Verdict::unmeasured,
                 "the shell of the launch line also runs \"source env.sh (RANK=$(./rank))\", which muster does not: "
                 "what the program finds then is not known");
  EXPECT_EQ(judged("$PROGRAM a").findings.back().verdict, Verdict::unmeasured);
  EXPECT_TRUE(has_note(judged("module load x"), "also runs \"module load x\", which muster does not; let the shell"));
}

TEST(Environment, TorchrunOnceOnEachNode) {
  const auto good =
      torchruns({"torchrun.nnodes:2", "torchrun.rdzv-backend:c10d", "torchrun.rdzv-endpoint:a:1"}, two_nodes);
  EXPECT_TRUE(good.findings.empty()) << good.findings[0].reason;
  EXPECT_TRUE(torchruns({"torchrun.standalone:1"}, {"a"}).findings.empty());
  EXPECT_TRUE(torchruns({"torchrun.nnodes:?$N"}, two_nodes).findings.empty()) << "as scripts have it";
  const auto apart = torchruns({"torchrun.standalone:1"}, two_nodes);
  expect_fail(apart,
              "the launch line starts \"torchrun train.py\" once on each of 2 nodes: each is a separate job "
              "(--standalone)");
  EXPECT_NE(apart.findings[0].remedy.find("--nnodes=2 --rdzv-backend=c10d"), std::string::npos);
}

TEST(Environment, TorchrunInATaskOfOneCore) {
  const auto on = [](const char* processes, const char* cpus) {
    return torchruns({"torchrun.standalone:1", processes, cpus}, {"a"});
  };
  const auto judgement = on("torchrun.nproc-per-node:8", "torchrun.cpus:1 128 1");
  expect_fail(
      judgement,
      "the launch line starts \"torchrun train.py\" once on each node: 8 processes in a task with CPUs 1 of 128");
  EXPECT_NE(judgement.findings[0].remedy.find("--cpus-per-task"), std::string::npos);
  EXPECT_TRUE(on("torchrun.nproc-per-node:8", "torchrun.cpus:56 128 1-56").findings.empty());
  EXPECT_TRUE(on("torchrun.nproc-per-node:8", "torchrun.cpus:2 2 0-1").findings.empty()) << "the node has no more";
  EXPECT_TRUE(on("torchrun.nproc-per-node:1", "torchrun.cpus:1 128 1").findings.empty());
  EXPECT_TRUE(on("torchrun.nproc-per-node:gpu", "torchrun.cpus:1 128 1").findings.empty());
}

// accelerate is given the processes of all machines, deepspeed starts one for each GPU.
TEST(Environment, ProcessesOfAccelerateAndDeepspeed) {
  using namespace environment;
  const auto processes = [](const std::string& options) {
    const auto facts = torchrun_processes(
        {{env_torchrun, "x"}, {env_torchrun_options, options}, {"PET_NPROC_PER_NODE", "7"}, {"ALL", "24"}});
    return facts.at(0).value;
  };
  EXPECT_EQ(processes(""), "7");
  EXPECT_EQ(processes("starter=accelerate|num-processes=16|nnodes=2"), "8");
  EXPECT_EQ(processes("starter=accelerate|num-processes=$ALL|nnodes=3"), "8");
  EXPECT_EQ(processes("starter=accelerate|num-processes=4"), "4");
  EXPECT_EQ(processes("starter=accelerate|num-processes=$N|nnodes=2"), "?$N");
  EXPECT_EQ(processes("starter=accelerate|num-processes=8|nnodes=$N"), "?$N");
  EXPECT_EQ(processes("starter=accelerate"), "gpu");
  EXPECT_EQ(processes("starter=accelerate|nnodes=2"), "gpu/2");
  EXPECT_EQ(processes("starter=deepspeed"), "gpu");
  EXPECT_EQ(processes("starter=deepspeed|nproc-per-node=4"), "4");
  EXPECT_EQ(torchrun_processes({{env_torchrun, "x"}, {env_torchrun_options, "starter=deepspeed"}}).at(1),
            (Fact{"torchrun.starter", "deepspeed"}));
  EXPECT_TRUE(torchrun_processes({}).empty());
}

// deepspeed keeps CUDA_VISIBLE_DEVICES only where it is given neither a number nor a file.
TEST(Environment, DevicesThatAProcessStarterPutsInPlaceOfTheTasks) {
  using namespace environment;
  const auto visible = [](const std::string& options) {
    const Variables all{{env_torchrun, "x"}, {env_torchrun_options, options}, {"CUDA_VISIBLE_DEVICES", "3"}};
    gpu_mapping::Variables selecting{{"CUDA_VISIBLE_DEVICES", "3"}};
    replace_devices(all, selecting);
    const auto found = selecting.find("CUDA_VISIBLE_DEVICES");
    return found == selecting.end() ? "none" : found->second;
  };
  EXPECT_EQ(visible("starter=deepspeed"), "3");
  EXPECT_EQ(visible("starter=deepspeed|nproc-per-node=2"), "0,1");
  EXPECT_EQ(visible("starter=deepspeed|nproc-per-node=2|devices=4,5"), "4,5");
  EXPECT_EQ(visible("starter=deepspeed|nproc-per-node?what --exclude leaves|devices?what --exclude leaves"), "none");
  EXPECT_EQ(visible("starter=accelerate|num-processes=2"), "3");
  EXPECT_EQ(visible("starter=accelerate|num-processes=2|devices=1,2"), "1,2");
  EXPECT_EQ(visible("nproc-per-node=2"), "3") << "torchrun";
  gpu_mapping::Variables selecting{{"CUDA_VISIBLE_DEVICES", "3"}};
  replace_devices({}, selecting);
  EXPECT_EQ(selecting.count("CUDA_VISIBLE_DEVICES"), 1u);
}

TEST(Environment, AccelerateAndDeepspeedHaveTheirOwnOptions) {
  const std::vector<std::string> two_nodes{"a", "b"};
  const auto numbers = [](const std::string& first, const std::string& second) {
    return std::vector<Words>{{"torchrun.node-rank:" + first}, {"torchrun.node-rank:" + second}};
  };
  const Words accelerate{"torchrun.starter:accelerate", "torchrun.nnodes:2", "torchrun.master-addr:a"};
  EXPECT_TRUE(torchruns(accelerate, two_nodes, numbers("0", "1")).findings.empty());
  const auto same = torchruns(accelerate, two_nodes, numbers("0", "0"));
  ASSERT_EQ(same.findings.size(), 1u);
  EXPECT_NE(same.findings[0].reason.find("2 of these 2 have --machine_rank=0"), std::string::npos);
  EXPECT_NE(same.findings[0].remedy.find("--machine_rank=$SLURM_PROCID"), std::string::npos);
  EXPECT_EQ(same.findings[0].remedy.find("rdzv"), std::string::npos);
  const auto alone = torchruns({"torchrun.starter:accelerate"}, two_nodes);
  ASSERT_EQ(alone.findings.size(), 1u);
  EXPECT_NE(alone.findings[0].reason.find("each is a separate job (--num_machines is 1)"), std::string::npos);
  EXPECT_NE(alone.findings[0].remedy.find("--num_machines=2 --machine_rank=$SLURM_NODEID"), std::string::npos);
  const auto deepspeed = torchruns({"torchrun.starter:deepspeed"}, two_nodes);
  ASSERT_EQ(deepspeed.findings.size(), 1u);
  EXPECT_NE(deepspeed.findings[0].reason.find("deepspeed without --no_ssh starts all of its nodes by itself"),
            std::string::npos);
  EXPECT_NE(deepspeed.findings[0].remedy.find("--no_ssh --node_rank=$SLURM_NODEID --hostfile=FILE"), std::string::npos);
  const auto in_file =
      torchruns({"torchrun.starter:accelerate", "torchrun.nnodes:?the value in the file of --config_file"});
  ASSERT_EQ(in_file.findings.size(), 1u);
  EXPECT_EQ(in_file.findings[0].verdict, Verdict::unmeasured);
  EXPECT_NE(in_file.findings[0].reason.find("--num_machines is the value in the file of --config_file, which is unknown"),
            std::string::npos);
}

TEST(Environment, OptionsOfTorchrunAreThoseOfTheTask) {
  const Variables variables{{"SLURM_PROCID", "3"}, {"PET_NNODES", "2"}, {"PET_RDZV_ID", "x"}, {"HOST", "a"}};
  const auto facts = torchrun_facts(
      "node-rank=$SLURM_PROCID|rdzv-id=7|master-addr=${HOST}|nproc-per-node=$N|rdzv-endpoint?$(hostname):1", variables);
  EXPECT_EQ(facts, (std::vector<Fact>{{"torchrun.master-addr", "a"},
                                      {"torchrun.nnodes", "2"},
                                      {"torchrun.node-rank", "3"},
                                      {"torchrun.nproc-per-node", "?$N"},
                                      {"torchrun.rdzv-endpoint", "?$(hostname):1"},
                                      {"torchrun.rdzv-id", "7"}}));
  EXPECT_TRUE(torchrun_facts("", {}).empty());
}

TEST(Environment, ABareEnvironmentPassesAndSaysSo) {
  const auto judgement = World().judge();
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.evidence,
            (std::vector<std::string>{"2 host names of 2 machines", "no launcher's variables are set",
                                      "torch.distributed's variables are set on no rank",
                                      "no variable is set that all ranks should have alike",
                                      "limits are nofile 4096, memlock unlimited and core 0"}));
}

TEST(Environment, AllOfTorchsVariablesRight) {
  const auto judgement = World().torch().judge();
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_TRUE(has_evidence(judgement,
                           "RANK, LOCAL_RANK, LOCAL_WORLD_SIZE, WORLD_SIZE, MASTER_ADDR and MASTER_PORT "
                           "agree with MPI on 4 ranks"));
  EXPECT_TRUE(has_evidence(judgement, "MASTER_ADDR \"a\" leads to rank 0's node a"));
  EXPECT_TRUE(has_evidence(judgement, "MASTER_PORT 29500 is free on rank 0's node a"));
}

TEST(Environment, RequiredVariablesThatAreMissing) {
  const auto judgement = World(Given{{"torch", "required"}}).judge();
  expect_fail(judgement,
              "RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set on no rank, and the check "
              "requires torch.distributed's variables");
}

TEST(Environment, RankZeroEverywhereIsSlurmsSignature) {
  World broken;
  broken.everywhere({"RANK=0", "WORLD_SIZE=4", "MASTER_ADDR=a", "MASTER_PORT=29500", "master.addresses:10.0.0.1",
                     "SLURM_PROCID=0", "OMPI_COMM_WORLD_SIZE=4"});
  broken.on(0, {"master.port:free"});
  const auto judgement = broken.judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  const Finding& rank = *std::find_if(judgement.findings.begin(), judgement.findings.end(),
                                      [](const Finding& one) { return one.verdict == Verdict::fail; });
  EXPECT_EQ(rank.reason,
            "RANK is \"0\" on all 4 ranks: the signature of variables taken from SLURM_PROCID where mpirun runs "
            "inside one Slurm task, as in sbatch; SLURM_PROCID is 0 on all of them too");
  EXPECT_EQ(rank.culprits, (std::vector<Culprit>{{CulpritKind::setting, "RANK", "", -1}}));
  EXPECT_TRUE(has_note(judgement, "SLURM_PROCID is \"0\" on all 4 ranks, not MPI's"));
}

TEST(Environment, AWrongRankIsNamedWithWhatMpiSays) {
  World world;
  for (std::size_t rank = 0; rank < 4; ++rank)
    world.on(rank, {"RANK=" + std::to_string(rank == 3 ? 1 : rank), "WORLD_SIZE=4", "MASTER_ADDR=a",
                    "MASTER_PORT=29500", "master.addresses:10.0.0.1"});
  world.on(0, {"master.port:free"});
  const auto judgement = world.judge();
  expect_fail(
      judgement,
      "RANK is \"1\" on rank 3 on b, where MPI has 3; RANK \"1\" occurs 2 times: rank 1 on a and rank 3 on b");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "RANK", "b", 3}}));
}

TEST(Environment, WorldSizeOfAnotherJob) {
  World world;
  world.everywhere({"WORLD_SIZE=16"});
  expect_fail(world.judge(), "WORLD_SIZE is \"16\" on all 4 ranks, but MPI's world size is 4");
}

TEST(Environment, LocalRankOutsideOfTheNode) {
  World world = World().on(2, {"LOCAL_RANK=2"});
  world.torch();
  const auto judgement = world.judge();
  expect_fail(judgement, "LOCAL_RANK is \"2\" on rank 2 on b, where MPI has 0");
}

TEST(Environment, NoNumber) {
  World world;
  world.on(1, {"RANK=one"}).torch();
  expect_fail(world.judge(), "RANK is \"one\" on rank 1 on a, where MPI has 1, and no number");
}

TEST(Environment, AVariableThatSomeRanksLack) {
  World world;
  for (const std::size_t rank : {0u, 1u, 2u}) world.on(rank, {"WORLD_SIZE=4"});
  expect_fail(world.judge(), "WORLD_SIZE is set on 3 of 4 ranks, but not on rank 3 on b");
  EXPECT_NE(world.judge().findings[0].remedy.find("mpirun -x WORLD_SIZE"), std::string::npos);
}

TEST(Environment, AVariableOfEachRankIsNotHandedOnByTheLauncher) {
  std::vector<std::string> remedies;
  World lacking;
  for (const std::size_t rank : {0u, 1u, 2u}) lacking.on(rank, {"LOCAL_RANK=" + std::to_string(rank % 2)});
  for (const Finding& finding : lacking.judge().findings)
    if (finding.reason.rfind("LOCAL_RANK is set on 3 of 4 ranks", 0) == 0) remedies.push_back(finding.remedy);
  ASSERT_EQ(remedies.size(), 1u);
  EXPECT_EQ(remedies[0].find("-x LOCAL_RANK"), std::string::npos) << "all ranks would have one value";
  EXPECT_NE(remedies[0].find("in the command that the launcher starts"), std::string::npos);
}

TEST(Environment, ALoopbackAddressIsOneFindingForAllNodes) {
  World world;
  world.everywhere({"MASTER_ADDR=localhost", "master.addresses:127.0.0.1"});
  std::size_t of_address = 0;
  for (const Finding& finding : world.judge().findings)
    of_address += finding.reason.find("resolves to 127.0.0.1, a loopback address: each node would wait for itself") !=
                  std::string::npos;
  EXPECT_EQ(of_address, 1u);
}

TEST(Environment, RankWithoutTheRest) {
  World world;
  for (std::size_t rank = 0; rank < 4; ++rank) world.on(rank, {"RANK=" + std::to_string(rank)});
  const auto judgement = world.judge();
  expect_fail(judgement,
              "WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set on no rank, but other variables of "
              "torch.distributed are");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 3u);
  EXPECT_TRUE(World(Given{{"torch", "ignored"}}).everywhere({"RANK=0"}).judge().findings.empty());
}

TEST(Environment, TheBatchScriptsHalfIsFine) {
  const auto judgement = World()
                             .everywhere({"MASTER_ADDR=a", "MASTER_PORT=29500", "master.addresses:10.0.0.1"})
                             .on(0, {"master.port:free"})
                             .judge();
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_TRUE(has_evidence(judgement, "MASTER_ADDR and MASTER_PORT are the same on all 4 ranks, RANK is set on none"));
}

/// Only the rendezvous is set: `address` for everybody, resolving to `found` on a and on b.
ProbeJudgement meeting(const std::string& address, const std::string& on_a, const std::string& on_b) {
  World world;
  world.everywhere({"MASTER_ADDR=" + address});
  for (std::size_t rank = 0; rank < 4; ++rank) world.on(rank, {"master.addresses:" + (rank < 2 ? on_a : on_b)});
  return world.judge();
}

TEST(Environment, WhereTheMasterAddressLeads) {
  EXPECT_TRUE(meeting("a", "127.0.1.1", "10.0.0.1").findings.empty()) << "a's own /etc/hosts is not a fault";
  EXPECT_TRUE(meeting("a", "10.0.0.1", "192.168.9.9,10.0.0.1").findings.empty()) << "one of the addresses will do";
  expect_fail(
      meeting("localhost", "127.0.0.1", "127.0.0.1"),
      "MASTER_ADDR \"localhost\" on all 2 ranks on b resolves to 127.0.0.1, a loopback address: each node would "
      "wait for itself");
  expect_fail(meeting("b", "10.0.0.2", "10.0.0.2"),
              "MASTER_ADDR \"b\" on all 4 ranks resolves to 10.0.0.2, an address of b, but rank 0 is on a");
  expect_fail(
      meeting("x", "10.9.9.9", "10.9.9.9"),
      "MASTER_ADDR \"x\" on all 4 ranks resolves to 10.9.9.9, no address of rank 0's node a nor of another node "
      "of the job");
}

TEST(Environment, AnAddressThatEveryNodeHas) {
  World bridge;
  bridge.everywhere({"MASTER_ADDR=172.17.0.1", "master.addresses:172.17.0.1"});
  bridge.on(0, {"interfaces:docker0=172.17.0.1,eth0=10.0.0.1"}).on(2, {"interfaces:docker0=172.17.0.1,eth0=10.0.0.2"});
  expect_fail(bridge.judge(),
              "MASTER_ADDR \"172.17.0.1\" on all 2 ranks on b resolves to 172.17.0.1, which b has too: "
              "it would wait for itself");
}

TEST(Environment, AHostListIsNoAddress) {
  World world;
  world.everywhere({"MASTER_ADDR=nid[001-004]", "master.error:Name or service not known"});
  const auto judgement = world.judge();
  expect_fail(judgement, "MASTER_ADDR \"nid[001-004]\" on all 4 ranks does not resolve (Name or service not known)");
  EXPECT_NE(judgement.findings[0].remedy.find("host list"), std::string::npos);
}

TEST(Environment, EachNodeNamingItself) {
  World world;
  for (std::size_t rank = 0; rank < 4; ++rank)
    world.on(rank, {rank < 2 ? "MASTER_ADDR=a" : "MASTER_ADDR=b", "master.addresses:10.0.0.1"});
  const auto judgement = world.judge();
  expect_fail(judgement,
              "MASTER_ADDR is \"a\" on all 2 ranks on a, but \"b\" on all 2 ranks on b: each node names itself");
}

TEST(Environment, ThePort) {
  const auto with_port = [](const std::string& port, const std::string& state) {
    return World().everywhere({"MASTER_PORT=" + port}).on(0, {"master.port:" + state}).judge();
  };
  expect_fail(with_port("29500", "in use"), "MASTER_PORT 29500 is in use on rank 0's node a");
  expect_fail(with_port("80", "Permission denied"),
              "MASTER_PORT 80 can't be bound on rank 0's node a: Permission denied");
  expect_fail(with_port("70000", ""), "MASTER_PORT is \"70000\", no port from 1 to 65535");
  expect_fail(with_port("29x", ""), "MASTER_PORT is \"29x\", no port from 1 to 65535");
  EXPECT_TRUE(has_note(with_port("29500", "lingering"), "ended a moment ago"));
}

TEST(Environment, LauncherVariablesThatDisagree) {
  World world;
  for (std::size_t rank = 0; rank < 4; ++rank) world.on(rank, {"PMI_RANK=" + std::to_string(rank == 2 ? 9 : rank)});
  expect_fail(world.judge(), "PMI_RANK is \"9\" on rank 2 on b, where MPI has 2");
  World nested;
  nested.everywhere({"OMPI_COMM_WORLD_RANK=0"});
  expect_fail(nested.judge(),
              "OMPI_COMM_WORLD_RANK is \"0\" on all 4 ranks, left over from Open MPI around this launch");
}

TEST(Environment, OfANodeByItselfLaunchersSpeakOfTheWholeLaunch) {
  World world({}, {"c", "c"});
  world.part_of(8, 4);
  for (std::size_t rank = 0; rank < 2; ++rank)
    world.on(rank, {"OMPI_COMM_WORLD_RANK=" + std::to_string(rank + 4), "OMPI_COMM_WORLD_SIZE=8",
                    "OMPI_COMM_WORLD_LOCAL_RANK=" + std::to_string(rank), "RANK=" + std::to_string(rank + 4),
                    "WORLD_SIZE=8", "MASTER_ADDR=a", "MASTER_PORT=29500", "master.addresses:10.0.0.9"});
  const auto judgement = world.judge();
  EXPECT_TRUE(has_evidence(judgement, "the variables of Open MPI agree with MPI"));
  EXPECT_TRUE(has_note(judgement, "--per-node does not judge them"));
  for (const Finding& finding : judgement.findings) EXPECT_EQ(finding.verdict, Verdict::pass) << finding.reason;
  World wrong({}, {"c", "c"});
  wrong.part_of(8, 4).everywhere({"OMPI_COMM_WORLD_SIZE=2"});
  auto refused = wrong.judge();
  std::erase_if(refused.findings, [](const Finding& finding) { return finding.verdict == Verdict::pass; });
  expect_fail(refused, "OMPI_COMM_WORLD_SIZE is \"2\" on all 2 ranks, left over from Open MPI around this launch");
}

TEST(Environment, LeftOversOfALauncherAroundThisOneAreNotes) {
  for (const char* outer : {"SLURM_PROCID", "PMI_RANK"}) {
    World world;
    world.everywhere({std::string(outer) + "=0"});
    for (std::size_t rank = 0; rank < 4; ++rank) world.on(rank, {"OMPI_COMM_WORLD_RANK=" + std::to_string(rank)});
    const auto judgement = world.judge();
    EXPECT_EQ(judgement.findings.size(), 1u);
    EXPECT_TRUE(has_note(judgement, std::string(outer) + " is \"0\" on all 4 ranks, not MPI's"));
    EXPECT_TRUE(has_evidence(judgement, "the variables of Open MPI agree with MPI"));
  }
}

TEST(Environment, TwoMachinesOfOneName) {
  World world({}, {"a", "a", "a"});
  world.on(2, {"machine:boot other"});
  const auto judgement = world.judge();
  expect_fail(judgement, "2 machines call themselves a: ranks 0 and 1 and rank 2");
  EXPECT_EQ(judgement.findings[0].culprits.at(0).kind, CulpritKind::node);
}

TEST(Environment, VariablesThatDiffer) {
  World world;
  world.on(0, {"NCCL_DEBUG=INFO"}).on(3, {"NCCL_DEBUG=WARN"});
  const auto judgement = world.judge();
  expect_fail(judgement, "NCCL_DEBUG is \"INFO\" on 3 of 4 ranks, but \"WARN\" on rank 3 on b");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "NCCL_DEBUG", "b", 3}}));
  World allowed(Given{{"may_differ", "NCCL_DEBUG"}});
  EXPECT_TRUE(allowed.on(0, {"NCCL_DEBUG=INFO"}).on(3, {"NCCL_DEBUG=WARN"}).judge().findings.empty());
}

TEST(Environment, SettingsInFilesOfOneNodeThatDiffer) {
  const Words tcp{"settings:1", "setting.UCX_TLS:tcp", "setting_place.UCX_TLS:/etc/ucx/ucx.conf:3"};
  World world({}, {"a", "a", "a", "b"});
  const auto judgement = world.on(0, {"settings:0"}).on(3, tcp).judge();
  expect_fail(judgement,
              "UCX_TLS in files of the nodes is not set on all 3 ranks on a, but \"tcp\" on rank 3 on b "
              "(/etc/ucx/ucx.conf:3)");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "UCX_TLS", "", -1}}))
      << "one node each, however many ranks";
  World allowed(Given{{"may_differ", "UCX_TLS"}}, {"a", "a", "b", "b"});
  EXPECT_TRUE(allowed.on(0, {"settings:0"}).on(2, tcp).judge().findings.empty());
  World tie({}, {"a", "a", "b", "b"});
  EXPECT_EQ(tie.on(0, {"settings:0"}).on(2, tcp).judge().findings[0].culprits,
            (std::vector<Culprit>{{CulpritKind::setting, "UCX_TLS", "", -1}}));
  World silent({}, {"a", "a", "b", "b"});
  const auto unknown = silent.on(2, tcp).judge();
  ASSERT_EQ(unknown.findings.size(), 1u);
  EXPECT_TRUE(has_note(unknown, "settings in files of the nodes are not compared"));
}

TEST(Environment, AdaptersInFilesMayDifferAndWhatIsAlikeIsEvidence) {
  const auto of_node = [](const std::string& adapter) {
    return Words{"settings:2", "setting.OMPI_MCA_btl:^openib", "setting_place.OMPI_MCA_btl:/etc/m.conf:1",
                 "setting.UCX_NET_DEVICES:" + adapter, "setting_place.UCX_NET_DEVICES:/etc/ucx/ucx.conf:1"};
  };
  World world({}, {"a", "a", "b", "b"});
  const auto judgement = world.on(0, of_node("mlx5_0:1")).on(2, of_node("mlx5_2:1")).judge();
  EXPECT_TRUE(has_note(judgement,
                       "UCX_NET_DEVICES in files of the nodes is \"mlx5_0:1\" on all 2 ranks on a "
                       "(/etc/ucx/ucx.conf:1), but \"mlx5_2:1\" on all 2 ranks on b"));
  EXPECT_EQ(judgement.findings.size(), 1u);
  EXPECT_TRUE(has_evidence(judgement, "files of the nodes set OMPI_MCA_btl=^openib for MPI"));
}

TEST(Environment, RankZeroMayBeTheOddOne) {
  World world({}, {"a", "a", "a"});
  world.on(0, {"FI_X=1"}).on(1, {"lacks.FI_X:not set"}).on(2, {"lacks.FI_X:not set"});
  expect_fail(world.judge(), "FI_X is not set on 2 of 3 ranks, but \"1\" on rank 0 on a");
}

TEST(Environment, ANodeThatGotNoneIsOneFinding) {
  World world({}, {"a", "a", "a", "b", "b"});
  world.on(0, {"NCCL_NET=x", "UCX_TLS=y"});
  for (const std::size_t rank : {3u, 4u}) world.on(rank, {"lacks.NCCL_NET:not set", "lacks.UCX_TLS:not set"});
  const auto judgement = world.judge();
  expect_fail(judgement, "NCCL_NET and UCX_TLS are not set on all 2 ranks on b, but on all others");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "NCCL_NET", "b", -1}}));
}

TEST(Environment, Traps) {
  const std::string hsn = "interfaces:hsn0=10.0.0.1,lo=127.0.0.1";
  World memhooks;
  memhooks.everywhere({hsn}).on(0, {"FI_MR_CACHE_MONITOR=memhooks"});
  expect_fail(memhooks.judge(),
              "FI_MR_CACHE_MONITOR=memhooks on all 4 ranks is known to deadlock in the middle of a run "
              "on Slingshot");
  EXPECT_TRUE(World().on(0, {"FI_MR_CACHE_MONITOR=memhooks"}).judge().findings.empty()) << "no Slingshot here";
  World noted(Given{{"traps", "noted"}});
  noted.everywhere({hsn}).on(0, {"FI_MR_CACHE_MONITOR=memhooks"});
  EXPECT_TRUE(has_note(noted.judge(), "deadlock"));

  World alt;
  alt.everywhere({"SLURM_JOB_ID=1"}).on(0, {"FI_CXI_RDZV_PROTO=alt_read"});
  expect_fail(alt.judge(),
              "FI_CXI_RDZV_PROTO=alt_read on all 4 ranks needs a job with disable_rdzv_get, which this one "
              "was not asked to be");
  World asked;
  asked.everywhere({"SLURM_JOB_ID=1", "SLURM_NETWORK=disable_rdzv_get"}).on(0, {"FI_CXI_RDZV_PROTO=alt_read"});
  EXPECT_TRUE(asked.judge().findings.empty());

  EXPECT_TRUE(has_note(World().everywhere({"SLURM_EXPORT_ENV=NONE"}).judge(), "makes srun start tasks without"));
  EXPECT_TRUE(has_note(World().on(0, {"MPICH_GPU_SUPPORT_ENABLED=1"}).judge(), "can deadlock"));
}

TEST(Environment, FoldersThatAllNodesShareAreNotes) {
  World world;
  world.everywhere({"path.MIOPEN_USER_DB_PATH:nfs /home/u/.miopen"});
  EXPECT_TRUE(has_note(world.judge(), "MIOPEN_USER_DB_PATH on all 4 ranks is /home/u/.miopen, on nfs: all ranks lock"));
  EXPECT_TRUE(has_note(World().on(1, {"path.VIRTUAL_ENV:lustre /scratch/venv"}).judge(),
                       "VIRTUAL_ENV on rank 1 on a is /scratch/venv, on lustre: importing from there takes minutes"));
  EXPECT_EQ(shared_file_system(0x6969), "nfs");
  EXPECT_EQ(shared_file_system(0xFFFFFFFF00000000u | 0x0BD00BD0u), "lustre");
  EXPECT_EQ(shared_file_system(0xEF53), "") << "ext4";
  EXPECT_EQ(shared_file_system("/proc/no/such/folder"), "");
  EXPECT_EQ(shared_file_system("relative"), "");
  EXPECT_TRUE(shared_paths({{"VIRTUAL_ENV", "/proc"}, {"CONDA_PREFIX", ""}}).empty());
}

TEST(Environment, AContainerWithoutTheFabricsLibraries) {
  World world;
  world.on(2, {"container:Apptainer", "container.lacks:libcxi.so.1: cannot open shared object file"});
  const auto judgement = world.judge();
  expect_fail(judgement,
              "inside of Apptainer on rank 2 on b the fabric's libraries can't be loaded: libcxi.so.1: "
              "cannot open shared object file");
  EXPECT_NE(judgement.findings[0].remedy.find("-B /usr/lib64/libcxi.so.1"), std::string::npos);
  EXPECT_TRUE(World().everywhere({"container:Apptainer"}).judge().findings.empty());
  EXPECT_EQ(container_of({{"SINGULARITY_NAME", "x.sif"}}), "Singularity");
  EXPECT_EQ(container_of({{"PATH", "/bin"}}), "");
  const auto missing = unloadable({"libc.so.6", "libno_such_thing.so.9"});
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].find("libno_such_thing.so.9"), 0u);
}

TEST(Environment, GpuBindOfASingleTask) {
  World alone({}, {"a"});
  alone.on(0, {"SLURM_GPU_BIND=closest"});
  EXPECT_TRUE(has_note(alone.judge(), "--gpu-bind=\"closest\" has no effect on a step of one task"));
  EXPECT_TRUE(World().everywhere({"SLURM_GPU_BIND=closest"}).judge().findings.empty());
}

TEST(Environment, GpuBindOfALineIsHeldAgainstTheDevicesThatTheTaskHas) {
  const auto judged = [](const std::string& devices) {
    World alone({}, {"a"});
    alone.on(0, {"MUSTER_GPU_BIND=map_gpu:0", "devices:ROCR_VISIBLE_DEVICES=" + devices});
    return alone.judge();
  };
  EXPECT_TRUE(has_note(judged("0,1,2,3"),
                       "--gpu-bind=\"map_gpu:0\" has no effect on a step of one task: "
                       "the task has ROCR_VISIBLE_DEVICES=0,1,2,3"));
  EXPECT_TRUE(judged("0").findings.empty());
}

TEST(Environment, LimitsThatAreTooLow) {
  World files;
  files.everywhere({"limit.open_files:256"});
  const auto judgement = files.judge();
  expect_fail(judgement, "the limit nofile (ulimit -n) is 256 on all 4 ranks, fewer than 1024");
  EXPECT_NE(judgement.findings[0].remedy.find("* soft nofile 1024"), std::string::npos);

  World locked(Given{{"memlock", "unlimited"}});
  expect_fail(locked.everywhere({"limit.memlock:65536"}).judge(),
              "the limit memlock (ulimit -l) is 64KiB on all 4 ranks, not unlimited");
  EXPECT_TRUE(World().everywhere({"limit.memlock:65536"}).judge().findings.empty()) << "no RDMA device requests more";
  expect_fail(
      World().everywhere({"limit.memlock:65536"}).on(2, {"rdma:mlx5_0"}).judge(),
      "the limit memlock (ulimit -l) is 64KiB on all 2 ranks on b, less than 1GiB where there are RDMA devices, "
      "which need locked memory");
  EXPECT_TRUE(World().everywhere({"limit.memlock:65536", "rdma:mlx5_0", "locks_freely:yes"}).judge().findings.empty());
  EXPECT_TRUE(
      World(Given{{"rdma_memlock", "0B"}}).everywhere({"limit.memlock:65536", "rdma:mlx5_0"}).judge().findings.empty());
  EXPECT_EQ(World(Given{{"core", "enabled"}}).judge().findings.size(), 1u);
  EXPECT_TRUE(World(Given{{"core", "disabled"}}).judge().findings.empty());
  EXPECT_EQ(World(Given{{"core", "disabled"}}).everywhere({"limit.core:unlimited"}).judge().findings.size(), 1u);
}

TEST(Environment, LimitsThatDifferNameTheNode) {
  World world({}, {"a", "a", "a", "b", "b"});
  world.on(3, {"limit.memlock:65536"}).on(4, {"limit.memlock:65536"});
  const auto judgement = world.judge();
  expect_fail(judgement, "the limit memlock is \"unlimited\" on 3 of 5 ranks, but \"64KiB\" on all 2 ranks on b");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "memlock", "b", -1}}));
}

TEST(Environment, ALimitThatIsTooLowIsNotAlsoDifferent) {
  expect_fail(World().on(1, {"limit.open_files:256"}).judge(),
              "the limit nofile (ulimit -n) is 256 on rank 1 on a, fewer than 1024");
}

TEST(Environment, SilenceIsNoEvidence) {
  MadeCase made(probe());
  made.rank("a", std::nullopt);
  EXPECT_TRUE(made.judge().findings.empty());
  EXPECT_TRUE(made.judge().evidence.empty());
  MadeCase empty(probe());
  empty.rank("a", std::vector<Fact>{});
  expect_finding(empty.judge(), Verdict::unmeasured, "rank 0 on a reported nothing on its environment");
}

TEST(Environment, WithoutRankZeroNothingIsSaidOfWhatItCompares) {
  const auto judgement = World().silent(0).everywhere({"MASTER_ADDR=a", "master.addresses:10.9.9.9"}).judge();
  for (const std::string& sentence : judgement.evidence) {
    EXPECT_EQ(sentence.find("alike"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("leads"), std::string::npos) << sentence;
  }
  for (const Finding& finding : judgement.findings) EXPECT_EQ(finding.reason.find("leads"), std::string::npos);
}

TEST(Environment, WhatIsComparedAndWhatIsNot) {
  const char* environment[] = {
      "NCCL_DEBUG=INFO",        "NCCL_TOKEN=x", "CUDA_VISIBLE_DEVICES=0", "UCX_NET_DEVICES=m", "RANK=1",
      "ZE_AFFINITY_MASK=0",     "ZE_FLAT_DEVICE_HIERARCHY=FLAT",
      "SLURM_NODEID=1",         "HOME=/h",      "LD_LIBRARY_PATH=/x:/y",  "nonsense",          "=C:=x",
      "OMPI_COMM_WORLD_RANK=3", nullptr};
  const Variables all = parse_environment(environment);
  EXPECT_EQ(shared_variables(all), (Variables{{"LD_LIBRARY_PATH", "/x:/y"},
                                              {"NCCL_DEBUG", "INFO"},
                                              {"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}}));
  EXPECT_EQ(own_variables(all), (Variables{{"OMPI_COMM_WORLD_RANK", "3"}, {"RANK", "1"}}));
  EXPECT_EQ(decode(encode(all)), all);
}

TEST(Environment, OnlyDifferencesAreReported) {
  std::vector<Fact> facts;
  add_differences({{"A", "1"}, {"B", "1"}, {"C", "1"}}, {{"A", "1"}, {"B", "2"}, {"D", "\x1b"}}, facts);
  EXPECT_EQ(facts, (std::vector<Fact>{{"env.B", "2"}, {"env.D", "\\x1b"}, {"lacks.C", "not set"}}));
}

TEST(Environment, ReadsAMachineBelowARootFolder) {
  const fs::path root = fs::path(testing::TempDir()) / "environment_machine";
  fs::remove_all(root);
  const auto put = [&](const char* path, const char* text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  EXPECT_EQ(machine_identity(root), "");
  EXPECT_TRUE(rdma_devices(root).empty());
  EXPECT_FALSE(may_lock_freely(root));
  put("etc/machine-id", "0123\n");
  EXPECT_EQ(machine_identity(root), "machine 0123");
  put("proc/sys/kernel/random/boot_id", "11-22\n");
  EXPECT_EQ(machine_identity(root), "boot 11-22");
  put("sys/class/infiniband/mlx5_1/x", "");
  put("sys/class/infiniband/mlx5_0/x", "");
  EXPECT_EQ(rdma_devices(root), (std::vector<std::string>{"mlx5_0", "mlx5_1"}));
  put("proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
  EXPECT_TRUE(may_lock_freely(root));
  put("proc/self/status", "Name:\tx\nCapEff:\t000000000000b000\n");
  EXPECT_FALSE(may_lock_freely(root));
}

TEST(Environment, UnlimitedIsNoNumber) {
  EXPECT_EQ(to_text(Limit()), "unlimited");
  EXPECT_EQ(*parse_limit("unlimited"), Limit());
  EXPECT_EQ(*parse_limit("12"), Limit(12));
  EXPECT_FALSE(parse_limit("12 files"));
}

TEST(Environment, InterfacesAsText) {
  const std::vector<InterfaceAddress> some = {{"eth0", "10.0.0.1"}, {"eth0", "fe80::1"}, {"ib0", ""}};
  EXPECT_EQ(to_text(some), "eth0=10.0.0.1,eth0=fe80::1,ib0=");
  EXPECT_EQ(parse_interfaces(to_text(some)), some);
}

TEST(Environment, ResolvesWithoutWaitingForEver) {
  const Resolved numeric = resolve("127.0.0.1", 5);
  EXPECT_EQ(numeric.addresses, (std::vector<std::string>{"127.0.0.1"}));
  EXPECT_FALSE(resolve("no such name", 5).error.empty());
  const auto hang = [](const std::string&) -> Resolved {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return {{"10.0.0.1"}, {}};
  };
  const Resolved late = resolve("a", 0.01, hang);
  EXPECT_EQ(late.error, "the resolver gave no answer within 0.01 s");
  EXPECT_TRUE(late.addresses.empty());
}

TEST(Environment, APortThatSomebodyListensOn) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  socklen_t length = sizeof any;
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&any), &length), 0);
  const int port = ntohs(any.sin_port);
  EXPECT_EQ(port_state(port), "in use");
  ::close(listener);
  EXPECT_EQ(port_state(port), "free");
}

TEST(Environment, RunsOverRealRanks) {
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  const MadeCase made(probe());
  run_ranks(2, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{
        .rank = comm.rank(), .world_size = 2, .local_rank = comm.rank(), .local_size = 2, .host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    const auto seen = probe().run(context);
    ASSERT_TRUE(seen);
    EXPECT_EQ(*seen->fact("machine"), machine_identity());
    EXPECT_EQ(*seen->fact("master.addresses"), "127.0.0.1");
    EXPECT_EQ(seen->fact("interfaces") != nullptr, comm.rank() == 0) << "one rank speaks for its node";
    EXPECT_EQ(*seen->fact("limit.open_files"), to_text(read_limits()[0]));
    // A reading for each limit that is one.
    std::map<std::string, double> readings;
    for (const Reading& reading : seen->readings) readings[reading.metric] = reading.summary.median;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      const auto found = readings.find(std::string(limits[i].metric));
      ASSERT_EQ(found != readings.end(), read_limits()[i].has_value()) << limits[i].metric;
      if (found != readings.end()) EXPECT_EQ(found->second, static_cast<double>(*read_limits()[i]));
    }
    EXPECT_EQ(recorder.steps, (std::vector<std::string>{"environment", "resolve MASTER_ADDR", "compare"}));
  });
  run_ranks(1, [&](ThreadComm& comm) {
    comm.calls_left = 0;
    SilentRecorder recorder;
    const RankPlace place{.host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    EXPECT_FALSE(probe().run(context));
  });
  ::unsetenv("MASTER_ADDR");
}

}  // namespace
}  // namespace muster
