#include <set>

#include "base/cpu_mask.hpp"
#include "base/text.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"
#include "system/layout.hpp"

namespace muster {
namespace {

const ProbeSpec& cpu_affinity() {
  return *find_probe("cpu_affinity");
}

/// Ranks on node `a` (or others after a slash: "b/0-3") of a node with CPUs 0-7, each CPU a core.
MadeCase masks(const std::string& sharing, const std::vector<std::string>& ranks) {
  MadeCase made(cpu_affinity(), {{"sharing", sharing}});
  for (const std::string& rank : ranks) {
    const auto slash = rank.find('/');
    const std::string host = slash == std::string::npos ? "a" : rank.substr(0, slash);
    const std::string mask = slash == std::string::npos ? rank : rank.substr(slash + 1);
    made.rank(host, {{"mask", mask}, {"cores", mask}, {"node_cpus", "0-7"}, {"node_cores", "0-7"}});
  }
  return made;
}

TEST(CpuAffinity, DisjointMasksPass) {
  expect_evidence(masks("disjoint", {"0-3", "4-7", "b/0-3", "b/4-7"}).judge(), "4 masks on 2 nodes are disjoint");
  expect_evidence(masks("disjoint", {"0-7"}).judge(), "1 mask on 1 node was read");
  const auto half = masks("disjoint", {"0-3", "3-7", "b/0-3", "b/4-7"}).judge();
  EXPECT_EQ(half.findings.size(), 1u);
  EXPECT_EQ(half.evidence, (std::vector<std::string>{"2 masks on 1 node are disjoint"}));
}

TEST(CpuAffinity, OverlapsAreNamedWithTheirCpus) {
  const auto judgement = masks("disjoint", {"0-3", "3-5", "6-7"}).judge();
  expect_finding(judgement, Verdict::fail, "on a ranks 0 and 1 share CPU 3");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 2u);
}

TEST(CpuAffinity, OneFindingForAllNodesWithTheSameFault) {
  const auto judgement = masks("disjoint", {"0-3", "3-5", "b/0", "b/1", "c/0-1", "c/1-2"}).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason, "on a ranks 0 and 1 share CPU 3; likewise on c");
  std::set<std::string> nodes;
  for (const Culprit& culprit : judgement.findings[0].culprits) nodes.insert(culprit.node);
  EXPECT_EQ(judgement.findings[0].culprits.size(), 4u);
  EXPECT_EQ(nodes, (std::set<std::string>{"a", "c"}));
}

TEST(CpuAffinity, NotBoundAtAll) {
  const auto judgement = masks("disjoint", {"0-7", "0-7", "0-7"}).judge();
  expect_finding(judgement, Verdict::fail, "3 ranks on a are not bound: each may run on all CPUs of the node (0-7)");
  EXPECT_NE(judgement.findings[0].remedy.find("--bind-to core"), std::string::npos);
  EXPECT_NE(judgement.findings[0].remedy.find("--cpu-bind=cores"), std::string::npos);
}

TEST(CpuAffinity, ALauncherInsideAnother) {
  expect_finding(masks("disjoint", {"2", "2"}).judge(), Verdict::fail,
                 "on a ranks 0 and 1 share CPU 2: the signature of a launcher started inside another");
}

TEST(CpuAffinity, ALauncherInsideATaskThatIsConfinedToItsCore) {
  const auto confined = [](const char* inside) {
    MadeCase made(cpu_affinity());
    for (int i = 0; i < 2; ++i)
      made.rank("a", {{"mask", "2"}, {"cores", "2"}, {"node_cpus", "2"}, {"node_cores", "2"}, {"inside", inside}});
    return made.judge();
  };
  expect_finding(confined("srun"), Verdict::fail,
                 "on a ranks 0 and 1 share CPU 2: the signature of a launcher started inside another");
  expect_finding(confined(""), Verdict::skip, "2 ranks have 1 core on a: masks can't be disjoint");
}

TEST(CpuAffinity, MoreRanksThanCoresCanNotBeDisjoint) {
  std::vector<std::string> nine(9, "0-7");
  expect_finding(masks("disjoint", nine).judge(), Verdict::skip, "9 ranks have 8 cores on a: masks can't be disjoint");
}

TEST(CpuAffinity, ExactlyShared) {
  expect_evidence(masks("exact", {"0-7", "0-7", "b/0-3", "b/0-3"}).judge(),
                  "4 masks on 2 nodes are the same on each node");
  expect_finding(masks("exact", {"0-7", "0-7", "0-3"}).judge(), Verdict::fail,
                 "masks on a differ: 2 ranks have 0-7, but rank 2 has 0-3");
}

TEST(CpuAffinity, AnyMaskWillDo) {
  expect_evidence(masks("any", {"0-7", "0-7", "1"}).judge(), "3 masks on 1 node were read");
}

TEST(CpuAffinity, AMissingMaskIsUnmeasured) {
  MadeCase made(cpu_affinity());
  made.rank("a", {{"mask", "nonsense"}});
  expect_finding(made.judge(), Verdict::unmeasured, "rank 0 on a reported no mask");
}

TEST(CpuAffinity, SilenceIsNoEvidence) {
  MadeCase made(cpu_affinity());
  made.rank("a", std::nullopt);
  EXPECT_TRUE(made.judge().evidence.empty());
}

TEST(CpuAffinity, ReadsTheMaskOfItsThread) {
  const MadeCase made(cpu_affinity());
  run_ranks(1, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{.host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    const auto seen = cpu_affinity().run(context);
    ASSERT_TRUE(seen);
    const CpuMask mask = *CpuMask::of_this_thread();
    EXPECT_EQ(*seen->fact("mask"), mask.list());
    EXPECT_EQ(*seen->fact("mask_hex"), mask.hex());
    const auto cores = *CpuMask::parse_list(*seen->fact("cores"));
    for (const Reading& reading : seen->readings) {
      const double value = reading.summary.median;
      if (reading.metric == "cores") EXPECT_EQ(value, cores.count());
      if (reading.metric == "numa_domains") EXPECT_GE(value, 1);
      if (reading.metric == "threads")
        EXPECT_EQ(static_cast<std::size_t>(value), split(*seen->fact("threads"), ';').size());
    }
    EXPECT_EQ(seen->readings.at(0).metric, "cores");
    EXPECT_LE(cores.count(), mask.count());
    EXPECT_TRUE(
        CpuMask::parse_list(*seen->fact("cores"))->is_subset_of(*CpuMask::parse_list(*seen->fact("node_cpus"))));
    EXPECT_FALSE(parse_layout(seen->facts).empty());
    EXPECT_NE(seen->fact("memory_policy") != nullptr, seen->fact("memory_policy_error") != nullptr);
    EXPECT_NE(seen->fact("threads") != nullptr, seen->fact("threads_error") != nullptr);
  });
}

}  // namespace
}  // namespace muster
