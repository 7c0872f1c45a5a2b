// What the profile says of nodes and variables, as probe `environment` judges it.
#include <algorithm>
#include <set>

#include "measure/paths.hpp"
#include "probes/environment/profile.hpp"
#include "probes/judging.hpp"

namespace muster {
namespace {

using namespace environment;
using Facts = std::vector<Fact>;

const ProbeSpec& probe() {
  return *find_probe("environment");
}

/// Two ranks on each of two nodes; `facts` are those of every rank, `odd` further ones of the first rank of node b.
ProbeJudgement judge(const ExpectedNode& node, const Facts& facts, const Facts& odd = {}) {
  MadeCase made(probe());
  made.node(node);
  for (const std::string host : {"a", "a", "b", "b"}) {
    Observation seen;
    seen.facts = {{"machine", "boot " + host}};
    seen.facts.insert(seen.facts.end(), facts.begin(), facts.end());
    if (host == "b") seen.facts.insert(seen.facts.begin(), odd.begin(), odd.end());
    made.rank(host, seen);
  }
  return made.judge();
}

ExpectedNode wanting(const std::string& name, Must must, std::vector<std::string> values = {}, int nodes = 1) {
  ExpectedNode node;
  node.variables = {{name, must, std::move(values), nodes, false, "jobs hang", "a guide"}};
  return node;
}

std::vector<std::string> reasons(const ProbeJudgement& judgement, Verdict verdict) {
  std::vector<std::string> all;
  for (const Finding& finding : judgement.findings)
    if (finding.verdict == verdict) all.push_back(finding.reason);
  return all;
}

bool has_evidence(const ProbeJudgement& judgement, const std::string& sentence) {
  return std::find(judgement.evidence.begin(), judgement.evidence.end(), sentence) != judgement.evidence.end();
}

using Sentences = std::vector<std::string>;

}  // namespace

TEST(EnvironmentProfile, AVariableThatIsNotSet) {
  const auto node = wanting("NCCL_X", Must::set);
  const auto judgement = judge(node, {});
  EXPECT_EQ(reasons(judgement, Verdict::fail),
            Sentences{"NCCL_X is not set on all 4 ranks, the profile requires it set: jobs hang (a guide)"});
  EXPECT_EQ(judgement.findings[0].remedy, "export NCCL_X in the job script");
  ASSERT_FALSE(judgement.findings[0].culprits.empty());
  EXPECT_EQ(judgement.findings[0].culprits[0].kind, CulpritKind::setting);
  EXPECT_EQ(judgement.findings[0].culprits[0].name, "NCCL_X");
  EXPECT_TRUE(judgement.evidence.empty());
  const auto good = judge(node, {{"wanted.NCCL_X", ""}});
  EXPECT_TRUE(good.findings.empty()) << "set, if to nothing";
  EXPECT_TRUE(has_evidence(good, "1 variable is as the profile requires it"));
}

TEST(EnvironmentProfile, AVariableThatMustNotBeSet) {
  const auto node = wanting("X", Must::unset);
  const auto judgement = judge(node, {}, {{"wanted.X", "1"}});
  EXPECT_EQ(reasons(judgement, Verdict::fail),
            Sentences{"X is \"1\" on all 2 ranks on b, the profile requires it unset: jobs hang (a guide)"});
  EXPECT_EQ(judgement.findings[0].culprits[0].node, "b");
  EXPECT_EQ(judgement.findings[0].remedy, "unset X in the job script");
  EXPECT_TRUE(judge(node, {}).findings.empty());
}

TEST(EnvironmentProfile, AVariableWithAValueOfItsOwn) {
  const auto node = wanting("X", Must::equal, {"3", "PHB"});
  EXPECT_TRUE(judge(node, {{"wanted.X", "PHB"}}).findings.empty());
  const auto judgement = judge(node, {{"wanted.X", "LOC"}}, {{"wanted.X", "3"}});
  EXPECT_EQ(reasons(judgement, Verdict::fail),
            Sentences{"X is \"LOC\" on all 2 ranks on a, the profile requires \"3\" or \"PHB\": jobs hang (a guide)"});
  EXPECT_EQ(judgement.findings[0].remedy, "export X=3 in the job script");
  EXPECT_EQ(reasons(judge(node, {}), Verdict::fail).size(), 1u) << "not set is not equal";
}

TEST(EnvironmentProfile, AValueThatHangsJobs) {
  const auto node = wanting("X", Must::differ, {"memhooks"});
  EXPECT_TRUE(judge(node, {}).findings.empty()) << "unset will do";
  EXPECT_TRUE(judge(node, {{"wanted.X", "kdreg2"}}).findings.empty());
  EXPECT_EQ(
      reasons(judge(node, {{"wanted.X", "memhooks"}}), Verdict::fail),
      Sentences{
          "X is \"memhooks\" on all 4 ranks, the profile requires anything but \"memhooks\": jobs hang (a guide)"});
}

/// Rank 0's node a has bond0 and ib0; MASTER_ADDR leads to `address`.
ProbeJudgement with_master(const ExpectedNode& node, const std::string& address) {
  return judge(node, {{"interfaces", "bond0=10.0.0.1,bond0=fe80::1,ib0=10.1.0.1,lo=127.0.0.1"},
                      {"env.MASTER_ADDR", "gpumd01"},
                      {"wanted.MASTER_ADDR", "gpumd01"},
                      {"master.addresses", address}});
}

std::vector<std::string> reasons_with(const ProbeJudgement& judgement, const std::string& part) {
  std::vector<std::string> all;
  for (const Finding& finding : judgement.findings)
    if (finding.reason.find(part) != std::string::npos) all.push_back(finding.reason);
  return all;
}

TEST(EnvironmentProfile, TheMasterOnAnotherInterface) {
  auto node = wanting("MASTER_ADDR", Must::address, {"bond0"}, 2);
  const auto judgement = with_master(node, "10.1.0.1");
  ASSERT_EQ(
      reasons_with(judgement, "bond0"),
      Sentences{
          "MASTER_ADDR \"gpumd01\" on all 4 ranks is an address of ib0 on rank 0's node a, the profile requires the "
          "IPv4 address of bond0: jobs hang (a guide)"});
  const auto found = std::find_if(judgement.findings.begin(), judgement.findings.end(),
                                  [](const Finding& one) { return one.reason.find("bond0") != std::string::npos; });
  EXPECT_EQ(found->verdict, Verdict::fail);
  EXPECT_EQ(found->remedy, "export MASTER_ADDR=10.0.0.1 in the job script, the address of bond0 on a");
  EXPECT_EQ(found->culprits.at(0).name, "MASTER_ADDR");
  EXPECT_TRUE(reasons_with(with_master(node, "127.0.0.1"), "bond0").empty()) << "judge_master reports loopback";
  node.variables[0].values = {"bond1"};
  const auto absent = with_master(node, "10.1.0.1");
  EXPECT_NE(std::find_if(absent.findings.begin(), absent.findings.end(),
                         [](const Finding& one) {
                           return one.remedy.find("a has no bond1 with an IPv4 address") != std::string::npos;
                         }),
            absent.findings.end());
}

TEST(EnvironmentProfile, TheMasterOnTheInterfaceOfTheProfile) {
  const auto node = wanting("MASTER_ADDR", Must::address, {"bond0"}, 2);
  EXPECT_TRUE(reasons_with(with_master(node, "10.0.0.1"), "bond0").empty());
  EXPECT_TRUE(reasons_with(with_master(node, "10.1.0.1,10.0.0.1"), "bond0").empty()) << "one of them will do";
  EXPECT_TRUE(reasons_with(judge(node, {{"interfaces", "ib0=10.1.0.1"}}), "bond0").empty()) << "not set, not asked";
  auto unverified = node;
  unverified.unverified = {{"variable MASTER_ADDR", "the script is commented out"}};
  const auto noted = with_master(unverified, "10.1.0.1");
  const auto found = std::find_if(noted.findings.begin(), noted.findings.end(),
                                  [](const Finding& one) { return one.reason.find("bond0") != std::string::npos; });
  ASSERT_NE(found, noted.findings.end());
  EXPECT_EQ(found->verdict, Verdict::pass);
}

TEST(EnvironmentProfile, ACacheThatIsNoFolder) {
  const Facts seen = {{"absent.MIOPEN_USER_DB_PATH", "/tmp/u-miopen, which is not a folder there"}};
  const auto notes = reasons(judge({}, {}, seen), Verdict::pass);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(
      notes[0].find("MIOPEN_USER_DB_PATH on all 2 ranks on b is /tmp/u-miopen, which is not a folder there: MIOpen"),
      0u)
      << notes[0];
  const auto facts = absent_caches({{"MIOPEN_USER_DB_PATH", "/proc/no/such"}, {"MIOPEN_CUSTOM_CACHE_DIR", "/tmp"}});
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].key, "absent.MIOPEN_USER_DB_PATH");
  EXPECT_EQ(facts[0].value, "/proc/no/such, which is not a folder there");
  EXPECT_TRUE(absent_caches({{"PATH", "/nonexistent"}}).empty());
}

TEST(EnvironmentProfile, PackagesOfTheHostInAContainer) {
  const Facts inside = {{"container", "Shifter"}, {"container.user_base", "/u/.local/perlmutter/pytorch2.0.1"}};
  const auto notes = reasons(judge({}, inside), Verdict::pass);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].find("PYTHONUSERBASE is \"/u/.local/perlmutter/pytorch2.0.1\" inside of Shifter on all 4 ranks: "),
            0u)
      << notes[0];
  EXPECT_TRUE(reasons(judge({}, {{"container", "Shifter"}}), Verdict::pass).empty());
}

TEST(EnvironmentProfile, WhatMattersOnManyNodesIsNotAskedOfFew) {
  auto node = wanting("X", Must::set, {}, 3);
  EXPECT_TRUE(judge(node, {}).findings.empty());
  node.variables[0].nodes = 2;
  EXPECT_EQ(judge(node, {}).findings.size(), 1u);
}

TEST(EnvironmentProfile, AMilderVerdictIsANoteWithItsWayOut) {
  auto node = wanting("X", Must::set);
  node.variables[0].is_note = true;
  const auto judgement = judge(node, {});
  EXPECT_EQ(
      reasons(judgement, Verdict::pass),
      Sentences{"X is not set on all 4 ranks, the profile requires it set: jobs hang (a guide); export X in the job "
                "script"});
  EXPECT_FALSE(judgement.evidence.empty()) << "a note takes nothing away";
}

TEST(EnvironmentProfile, WhatIsNotVerifiedNeverFails) {
  auto node = wanting("X", Must::equal, {"bond0"});
  node.cpu = CpuExpectation{"", "", 0, 2};
  const Facts seen = {{"wanted.X", "ib0"}, {"node.domains", "8"}};
  EXPECT_EQ(reasons(judge(node, seen), Verdict::fail).size(), 2u);
  node.unverified = {{"variable X", "nobody tried it"}, {"cpu.domains", "not documented"}};
  const auto judgement = judge(node, seen);
  EXPECT_EQ(reasons(judgement, Verdict::fail), Sentences{});
  EXPECT_EQ(
      reasons(judgement, Verdict::pass),
      (Sentences{"8 NUMA domains with CPUs on a and b, the profile has 2 NUMA domains with CPUs; not a fault, "
                 "as the profile's value is not verified: not documented",
                 "X is \"ib0\" on all 4 ranks, the profile requires \"bond0\": jobs hang (a guide); not a fault, as "
                 "the profile's value is not verified: nobody tried it"}));
  EXPECT_FALSE(judgement.evidence.empty());
}

TEST(EnvironmentProfile, NodesAsTheProfileSays) {
  ExpectedNode node;
  node.cores = 64;
  node.cpu = CpuExpectation{"x86_64", "EPYC 7A53", 2, 4};
  const Facts good = {{"node.architecture", "x86_64"},
                      {"node.model", "AMD EPYC 7A53 64-Core Processor"},
                      {"node.cores", "64"},
                      {"node.smt", "2"},
                      {"node.domains", "4"}};
  const auto judgement = judge(node, good);
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_TRUE(has_evidence(judgement,
                           "nodes match the profile: architecture x86_64, 64 cores, 2 CPUs a core and 4 NUMA "
                           "domains with CPUs"));
  const auto reported = [&](const char* key, const char* value) {
    const auto found = judge(node, good, {{key, value}});
    EXPECT_EQ(found.findings.size(), 1u) << key;
    EXPECT_EQ(found.findings[0].culprits[0].node, "b");
    EXPECT_FALSE(found.findings[0].remedy.empty());
    return found.findings[0].reason;
  };
  EXPECT_EQ(reported("node.architecture", "aarch64"), "architecture aarch64 on b, the profile has architecture x86_64");
  EXPECT_EQ(reported("node.model", "Xeon"),
            "processors called \"Xeon\" on b, the profile has processors called \"EPYC 7A53\"");
  EXPECT_EQ(reported("node.cores", "60"), "60 cores on b, the profile has 64 cores");
  EXPECT_EQ(reported("node.smt", "1"), "1 CPUs a core on b, the profile has 2 CPUs a core");
  EXPECT_EQ(reported("node.domains", "1"), "1 NUMA domains with CPUs on b, the profile has 4 NUMA domains with CPUs");
  EXPECT_TRUE(judge(node, {}).findings.empty()) << "what a node does not tell is not held against it";
  EXPECT_FALSE(has_evidence(judge(node, {}), "nodes match the profile"));
}

TEST(EnvironmentProfile, ALoginNodeIsToldByNameJobAndGpusTogether) {
  ExpectedNode node;
  node.login = LoginExpectation{"^(a|b)$", 1};
  const auto notes = [&](const Facts& facts) { return reasons(judge(node, facts), Verdict::pass); };
  const auto message = notes({{"node.gpus", "1"}});
  ASSERT_EQ(message.size(), 1u);
  EXPECT_NE(message[0].find("are login nodes (by the profile: its name, and outside of a job)"),
            std::string::npos);
  EXPECT_NE(message[0].find("get some with salloc or sbatch and run there"), std::string::npos);
  EXPECT_EQ(notes({{"node.gpus", "4"}}), Sentences{}) << "no login node has so many GPUs";
  EXPECT_EQ(notes({{"node.gpus", "0"}, {"env.SLURM_JOB_ID", "7"}}), Sentences{}) << "in a job";
  EXPECT_EQ(notes({}), Sentences{}) << "who does not tell its GPUs is not accused";
  node.login->host = "^login";
  EXPECT_EQ(notes({{"node.gpus", "0"}}), Sentences{}) << "a compute node without a GPU";
}

TEST(EnvironmentProfile, TrapsSayNothingTwice) {
  auto node = wanting("FI_MR_CACHE_MONITOR", Must::differ, {"memhooks"});
  const Facts seen = {{"env.FI_MR_CACHE_MONITOR", "memhooks"},
                      {"wanted.FI_MR_CACHE_MONITOR", "memhooks"},
                      {"interfaces", "hsn0=10.0.0.1"}};
  EXPECT_EQ(reasons(judge(node, seen), Verdict::fail).size(), 1u);
  EXPECT_EQ(reasons(judge({}, seen), Verdict::fail).size(), 1u) << "without a profile the trap says it";
}

TEST(EnvironmentProfile, SecretsAreNotShown) {
  const ExpectedNode node = wanting("MY_TOKEN", Must::set);
  EXPECT_EQ(wanted_variables(node, {{"MY_TOKEN", "sesame"}, {"OTHER", "1"}}),
            (Facts{{"wanted.MY_TOKEN", "(not shown)"}}));
  EXPECT_EQ(wanted_variables(node, {}), Facts{});
}

TEST(EnvironmentProfile, ANodeTellsOnlyWhatIsAsked) {
  EXPECT_TRUE(described_node({}).empty());
  ExpectedNode node;
  node.cpu = CpuExpectation{"x86_64", "", 0, 0};
  node.login = LoginExpectation{"^login", 0};
  std::set<std::string> keys;
  for (const Fact& fact : described_node(node)) keys.insert(fact.key);
  EXPECT_EQ(keys.count("node.cores"), 1u);
  EXPECT_EQ(keys.count("node.architecture"), 1u);
  EXPECT_EQ(keys.count("node.gpus"), 1u);
}

}  // namespace muster
