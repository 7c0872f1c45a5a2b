// Masks against machines that are made up: what is reserved, wide, near, limited; and the line that would be right.
#include <algorithm>
#include <cstdlib>

#include "device/bind_lines.hpp"
#include "measure/bind_words.hpp"
#include "probes/judging.hpp"
#include "system/layout.hpp"

namespace muster {
namespace {

using Params = std::vector<std::pair<std::string, std::string>>;

constexpr const char* blade = "synthetic:pack:1 numa:4 l3:2 core:8 pu:2(indexes=2*64:64*1)";

CpuMask set(const std::string& list) {
  return *CpuMask::parse_list(list);
}

/// A blade as in LUMI-G and Frontier: the GPU dies in the order of their addresses, and the cache each hangs on.
Layout trento() {
  Layout layout = *read_layout(blade);
  const char* const gpus[] = {"c1", "c6", "c9", "ce", "d1", "d6", "d9", "de"};
  const std::size_t cache_of[] = {6, 7, 2, 3, 0, 1, 4, 5};
  for (std::size_t i = 0; i < 8; ++i)
    layout.nearby[std::string("0000:") + gpus[i] + ":00.0"] = layout.caches[cache_of[i]];
  return layout;
}

std::vector<std::string> gpus_of(const Layout& layout) {
  std::vector<std::string> gpus;
  for (const auto& [address, cpus] : layout.nearby) gpus.push_back(address);
  return gpus;
}

const ExpectedNode low_noise{56, {0, 8, 16, 24, 32, 40, 48, 56}, {}, {}};

/// Ranks of one node `a` with these masks; the first of them tells the layout. `more` are facts of every rank.
MadeCase on(const Layout& layout, const std::vector<std::string>& masks, const Params& params = {},
            const std::vector<Fact>& more = {}, bool has_gpus = false) {
  MadeCase made(*find_probe("cpu_affinity"), params);
  const auto gpus = gpus_of(layout);
  for (std::size_t i = 0; i < masks.size(); ++i) {
    CpuMask cores;
    for (const CpuMask& core : layout.cores)
      if (core.intersects(set(masks[i]))) cores.add(core.lowest());
    std::vector<Fact> facts{{"mask", masks[i]},
                            {"cores", cores.list()},
                            {"node_cpus", layout.cpus().list()},
                            {"node_cores", "0-" + std::to_string(layout.cores.size() - 1)}};
    facts.insert(facts.end(), more.begin(), more.end());
    if (i == 0)
      for (const Fact& fact : to_facts(layout, gpus)) facts.push_back(fact);
    if (has_gpus) {
      facts.push_back({"gpu", gpus.at(i)});
      facts.push_back({"gpu_because", "ROCR_VISIBLE_DEVICES=" + std::to_string(i)});
    }
    made.rank("a", facts);
  }
  return made;
}

const std::vector<std::string> linear{"1-7", "9-15", "17-23", "25-31", "33-39", "41-47", "49-55", "57-63"};
const std::vector<std::string> by_gpu{"49-55", "57-63", "17-23", "25-31", "1-7", "9-15", "33-39", "41-47"};
// As the site publishes it for one rank per GPU die in their order.
const std::string published =
    "--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,0xfe00000000,"
    "0xfe0000000000";

TEST(CpuAffinityPlaces, TheRightMasksOfABladePass) {
  auto made = on(trento(), by_gpu, {{"cores", "7"}, {"numa", "one"}, {"smt", "apart"}}, {}, true);
  made.node(low_noise);
  expect_evidence(made.judge(),
                  "8 masks on 1 node are disjoint, no core in two of them, 7 cores wide, each in one NUMA domain, free "
                  "of reserved cores, 8 near their GPU");
}

TEST(CpuAffinityPlaces, LinearMasksAreFarFromTheGpusAndThePublishedLineIsPrinted) {
  auto made = on(trento(), linear, {}, {{"launcher", "srun"}}, true);
  made.node(low_noise);
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(finding.reason.find(
                "on a rank 0 runs on CPUs 1-7, NUMA domain 0, far from its GPU 0000:c1:00.0 (ROCR_VISIBLE_DEVICES=0: "
                "CPUs 48-55,112-119, NUMA domain 3)"),
            0u)
      << finding.reason;
  // Ranks 2 and 3 are where they should be.
  EXPECT_EQ(finding.culprits.size(), 6u);
  EXPECT_NE(finding.reason.find("; rank 1 runs on CPUs 9-15, NUMA domain 0, far from"), std::string::npos)
      << "reports make a row of each part: " << finding.reason;
  EXPECT_NE(finding.remedy.find("srun " + published), std::string::npos) << finding.remedy;
}

TEST(CpuAffinityPlaces, ARankThatIsNotWhereTheLaunchAskedFailsAndNamesBothMasks) {
  auto made = on(trento(), {"49-55", "57-63"}, {},
                 {{"asked", "49-55"}, {"asked_by", "profile lumi"}, {"binder", "launcher"}, {"launcher", "srun"}});
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason, "on a rank 1: asked CPUs 49-55 (profile lumi), got CPUs 57-63");
  ASSERT_EQ(judgement.findings[0].culprits.size(), 1u);
  EXPECT_EQ(judgement.findings[0].culprits[0].rank, 1);
  EXPECT_NE(judgement.findings[0].remedy.find("line of srun"), std::string::npos) << judgement.findings[0].remedy;
}

/// Four GPUs, the first on the last NUMA domain, as on Perlmutter.
Layout reversed() {
  Layout layout = *read_layout("synthetic:pack:1 numa:4 core:16 pu:2(indexes=2*64:64*1)");
  const char* const gpus[] = {"03", "41", "82", "c1"};
  for (int i = 0; i < 4; ++i) layout.nearby[std::string("0000:") + gpus[i] + ":00.0"] = layout.domains.at(3 - i);
  return layout;
}

ProbeJudgement reversed_with(const std::vector<std::string>& masks, bool is_far_noted = true) {
  auto made = on(reversed(), masks, {}, {{"launcher", "srun"}}, true);
  ExpectedNode node;
  node.bind = BindExpectation{"gpu", true, "wrapper", {}, is_far_noted};
  made.node(node);
  return made.judge();
}

TEST(CpuAffinityPlaces, TheSitesSimpleLineIsANoteThatStatesTheDistance) {
  const std::vector<std::string> simple{"0-15,64-79", "16-31,80-95", "32-47,96-111", "48-63,112-127"};
  const auto noted = reversed_with(simple);
  ASSERT_EQ(noted.findings.size(), 1u);
  EXPECT_EQ(noted.findings[0].verdict, Verdict::pass);
  EXPECT_TRUE(noted.findings[0].culprits.empty());
  EXPECT_EQ(noted.findings[0].reason.find("on a rank 0 runs on CPUs 0-15,64-79, NUMA domain 0, far from its GPU "
                                          "0000:03:00.0 (ROCR_VISIBLE_DEVICES=0: CPUs 48-63,112-127, NUMA domain 3)"),
            0u)
      << noted.findings[0].reason;
  EXPECT_EQ(reversed_with(simple, false).findings.at(0).verdict, Verdict::fail);
}

TEST(CpuAffinityPlaces, AnyOtherDistantBindingFailsThere) {
  const std::vector<std::vector<std::string>> others = {
      {"0-15", "16-31", "32-47", "48-63"},
      {"0-6,64-70", "16-22,80-86", "32-38,96-102", "48-54,112-118"},
      {"16-31,80-95", "0-15,64-79", "48-63,112-127", "32-47,96-111"},
  };
  for (const auto& masks : others) {
    const auto judgement = reversed_with(masks);
    ASSERT_EQ(judgement.findings.size(), 1u) << masks[0];
    EXPECT_EQ(judgement.findings[0].verdict, Verdict::fail) << masks[0];
    EXPECT_FALSE(judgement.findings[0].culprits.empty());
  }
}

TEST(CpuAffinityPlaces, RanksBoundByOptionsOfTheUserNameThese) {
  auto made = on(trento(), {"1-7", "9-15", "17-23", "25-31", "33-39", "41-47", "49-55", "57-63"}, {},
                 {{"binder", "options"}, {"launcher", "srun"}}, true);
  made.node(low_noise);
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_NE(judgement.findings[0].remedy.find("options given to the launcher (-J, or launcher_options"),
            std::string::npos)
      << judgement.findings[0].remedy;
}

TEST(CpuAffinityPlaces, WhatTheAgentCouldNotBindAsksForWholeNodes) {
  auto made = on(trento(), {"1-7"}, {}, {{"asked", "49-55"}, {"asked_by", "auto"}, {"binder", "agent"}});
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_NE(judgement.findings[0].remedy.find("--exclusive"), std::string::npos) << judgement.findings[0].remedy;
}

TEST(CpuAffinityPlaces, TheUsersOwnLineIsNotedBesideThatOfBind) {
  auto made = on(trento(), {"49-55", "57-58"}, {}, {{"asked", "49-55"}, {"asked_by", "auto"}, {"binder", "line"}});
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
  EXPECT_EQ(
      judgement.findings[0].reason,
      "on a the launch line binds 1 of 2 ranks otherwise than muster bind would: rank 1 on CPUs 57-58 (muster bind: "
      "49-55); cost: 2 cores that muster bind leaves out are in use");
}

TEST(CpuAffinityPlaces, MoreHardwareThreadsOfTheSameCoresAreNoDifference) {
  const std::vector<Fact> line{{"asked", "49-55"}, {"asked_by", "auto"}, {"binder", "line"}};
  EXPECT_TRUE(on(trento(), {"49-55,113-119"}, {}, line).judge().findings.empty());
  EXPECT_FALSE(on(trento(), {"49-54,113-118"}, {}, line).judge().findings.empty()) << "a core less";
  const std::vector<Fact> threads{{"asked", "49-55,113-119"}, {"asked_by", "auto"}, {"binder", "line"}};
  EXPECT_FALSE(on(trento(), {"49-55"}, {}, threads).judge().findings.empty()) << "fewer threads";
}

TEST(CpuAffinityPlaces, WhatTheUsersLineCostsIsCounted) {
  auto made = on(trento(), {"49-52", "52"}, {{"sharing", "any"}},
                 {{"asked", "49-55"}, {"asked_by", "auto"}, {"binder", "line"}});
  const auto judgement = made.judge();
  ASSERT_FALSE(judgement.findings.empty());
  const std::string& reason = judgement.findings[0].reason;
  EXPECT_NE(reason.find("cost: 3 of the 7 cores that muster bind assigns are idle; 2 ranks share 1 core"),
            std::string::npos)
      << reason;
}

// Frontier's line without -c7, where Slurm happens to place each rank near its GPU.
TEST(CpuAffinityPlaces, ALineWithFewOfTheCoresOfTheProfileFails) {
  const auto judged = [](const std::string& mask, const std::string& by, const Params& params = {}) {
    auto made =
        on(trento(), {mask}, params, {{"asked", "49-55"}, {"asked_by", by}, {"binder", "line"}, {"launcher", "srun"}});
    made.node(low_noise);
    return made.judge();
  };
  const auto few = judged("49", "profile frontier");
  ASSERT_EQ(few.findings.size(), 2u);
  EXPECT_EQ(few.findings[1].verdict, Verdict::fail);
  EXPECT_EQ(
      few.findings[1].reason,
      "on a the launch line gives 1 rank less than half of the cores of profile frontier: rank 0 has 1 of 7; 6 of "
      "the 7 cores that muster bind assigns are idle");
  EXPECT_EQ(few.findings[1].remedy.find("change the launch line: request 7 cores per rank: srun"), 0u)
      << few.findings[1].remedy;
  ASSERT_EQ(few.findings[1].culprits.size(), 1u);
  const auto all_idle = judged("57-63", "profile frontier");
  ASSERT_EQ(all_idle.findings.size(), 1u) << "as many cores, elsewhere";
  EXPECT_NE(all_idle.findings[0].reason.find("cost: all of the 7 cores that muster bind assigns are idle; 7 cores that "
                                             "muster bind leaves out are in use"),
            std::string::npos)
      << all_idle.findings[0].reason;
  // Half of them, or no profile that demands more, is the user's choice.
  for (const auto& judgement : {judged("49-52", "profile frontier"), judged("49", "auto")})
    for (const Finding& finding : judgement.findings) EXPECT_EQ(finding.verdict, Verdict::pass) << finding.reason;
}

TEST(CpuAffinityPlaces, ACapturedBladeGivesThePublishedLine) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  Layout layout = *read_layout(std::string(folder) + "/hwloc/eas-tioga.xml");
  // Of its devices only the GPUs, as a rank tells them.
  const Layout gpus = trento();
  std::erase_if(layout.nearby, [&](const auto& entry) { return gpus.nearby.count(entry.first) == 0; });
  auto made = on(layout, linear, {}, {{"launcher", "srun"}}, true);
  made.node(low_noise);
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_NE(judgement.findings[0].remedy.find("srun " + published), std::string::npos);
}

/// Those of trento(), as the first rank tells them.
Fact all_gpus() {
  std::string list;
  for (const std::string& address : gpus_of(trento())) list += (list.empty() ? "" : ",") + address;
  return {"gpus", list};
}

TEST(CpuAffinityPlaces, WithAsManyGpusAsRanksGpuIIsThatOfRankIWithAProfileOrWithout) {
  auto made = on(trento(), linear, {}, {all_gpus(), {"launcher", "srun"}});
  for (const bool has_profile : {false, true}) {
    ExpectedNode node = low_noise;
    if (has_profile) node.gpus = GpuExpectation{8, "amd", ""};
    made.node(has_profile ? node : ExpectedNode());
    const auto judgement = made.judge();
    ASSERT_EQ(judgement.findings.size(), 1u) << has_profile;
    EXPECT_EQ(judgement.findings[0].verdict, Verdict::fail);
    EXPECT_NE(judgement.findings[0].reason.find("far from its GPU 0000:c1:00.0 (one per rank, in their order"),
              std::string::npos)
        << judgement.findings[0].reason;
    EXPECT_EQ(judgement.findings[0].culprits.size(), 6u);
  }
  made.node(ExpectedNode());
  EXPECT_NE(made.judge().findings[0].remedy.find("srun --cpu-bind=mask_cpu:0xff000000000000,0xff00000000000000,"),
            std::string::npos)
      << made.judge().findings[0].remedy;
  EXPECT_TRUE(on(trento(), by_gpu, {}, {all_gpus()}).judge().findings.empty());
}

TEST(CpuAffinityPlaces, WithMoreGpusThanRanksTheDistanceIsNoted) {
  const auto judgement = on(trento(), {"1-7", "57-63"}, {}, {all_gpus(), {"binder", "options"}}).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
  EXPECT_EQ(judgement.findings[0].reason,
            "on a rank 0 runs on CPUs 1-7, NUMA domain 0, far from its GPU 0000:c1:00.0 (the GPU of its local rank: "
            "CPUs 48-55,112-119, NUMA domain 3)");
  EXPECT_EQ(judgement.evidence.size(), 1u);
  const auto alone = on(trento(), {"1-7"}, {}, {all_gpus()}).judge();
  ASSERT_EQ(alone.findings.size(), 1u);
  EXPECT_EQ(alone.findings[0], judgement.findings[0]);
  EXPECT_TRUE(on(trento(), {"0-127"}, {}, {all_gpus()}).judge().findings.empty()) << "a rank for the whole node";
}

// LUMI's line without its masks.
TEST(CpuAffinityPlaces, WhatAnUnboundLineCostsIsCounted) {
  const auto judgement = on(trento(), std::vector<std::string>(8, "0-127"), {{"sharing", "any"}, {"numa", "any"}},
                            {all_gpus(), {"asked", "49-55"}, {"asked_by", "auto"}, {"binder", "line"}})
                             .judge();
  std::string notes;
  for (const Finding& finding : judgement.findings) notes += finding.reason + "\n";
  EXPECT_NE(
      notes.find("cost: 8 ranks not confined to the NUMA domain of their GPU: 0, 1, 2, 3, 4, 5, 6 and 7; 57 cores "
                 "that muster bind leaves out are in use; 8 ranks share 64 cores"),
      std::string::npos)
      << notes;
}

TEST(CpuAffinityPlaces, TheRemedyBeginsWithWhatTheUserChose) {
  const auto remedy = [](const std::vector<Fact>& facts) {
    std::vector<Fact> all{all_gpus(), {"launcher", "srun"}};
    all.insert(all.end(), facts.begin(), facts.end());
    return on(trento(), linear, {}, all).judge().findings.at(0).remedy;
  };
  const std::string near =
      "bind each rank next to its GPU, or give it the GPU that is near; right on a: srun --cpu-bind";
  EXPECT_EQ(remedy({}).find(near), 0u);
  EXPECT_EQ(remedy({{"binder", "launcher"}, {"asked_for", "--bind none"}}).find("remove --bind none, or " + near), 0u);
  EXPECT_EQ(remedy({{"binder", "options"}, {"asked_for", "--bind none"}})
                .find("change the options given to the launcher (-J, or launcher_options of the profile): " + near),
            0u);
  EXPECT_EQ(remedy({{"binder", "line"}}).find("change the launch line: " + near), 0u);
}

TEST(CpuAffinityPlaces, TheRemedyHasTheLaunchersOwnWords) {
  const std::pair<const char*, const char*> lines[] = {
      {"srun", "right on a: srun --cpu-bind=mask_cpu:0xff000000000000,0xff00000000000000"},
      {"mpirun", "right on a: mpirun --rankfile FILE with the lines \"rank 0=a slot=48-55\", \"rank 1=a slot=56-63\""},
      {"mpiexec", "right on a: mpiexec -bind-to user:48+49+50+51+52+53+54+55,56+57+58+59+60+61+62+63"},
      {"Intel MPI", "right on a: mpiexec -genv I_MPI_PIN_DOMAIN '[0xff000000000000,0xff00000000000000]'"},
      {"flux", "right on a: flux run --exclusive --setopt='cpu-affinity=map:48-55;56-63'"},
      {"ibrun",
       "right on a: ibrun bash -c 'masks=(0xff000000000000 0xff00000000000000); exec taskset "
       "${masks[${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-$MV2_COMM_WORLD_LOCAL_RANK}}]} \"$0\" "
       "\"$@\"'"}};
  for (const auto& [launcher, line] : lines) {
    const auto judgement = on(trento(), {"0-7", "8-15"}, {}, {{"launcher", launcher}}, true).judge();
    ASSERT_EQ(judgement.findings.size(), 1u) << launcher;
    const std::string& remedy = judgement.findings[0].remedy;
    EXPECT_NE(remedy.find(line), std::string::npos) << remedy;
  }
  const std::pair<const char*, const char*> unbound[] = {
      {"mpiexec", "own: mpiexec -bind-to core;"},
      {"Intel MPI", "own: mpiexec -genv I_MPI_PIN_DOMAIN auto:compact;"},
      {"flux", "own: flux run --setopt=cpu-affinity=per-task;"},
      {"ibrun", "own: ibrun task_affinity;"},
      {"", "own: srun --cpu-bind=cores, mpirun --bind-to core;"}};
  for (const auto& [launcher, words] : unbound) {
    const auto judgement = on(trento(), {"0-127", "0-127"}, {}, {{"launcher", launcher}}).judge();
    ASSERT_EQ(judgement.findings.size(), 1u) << launcher;
    EXPECT_NE(judgement.findings[0].remedy.find(words), std::string::npos) << judgement.findings[0].remedy;
  }
}

TEST(CpuAffinityPlaces, AGpuOfTwoRanksIsNobodysOwn) {
  const auto made = on(trento(), {"1-7", "9-15"}, {}, {{"gpu", "0000:c1:00.0"}, {"gpu_because", "x"}});
  expect_evidence(made.judge(), "2 masks on 1 node are disjoint");
}

TEST(CpuAffinityPlaces, FarGpusMayBeWanted) {
  EXPECT_TRUE(on(trento(), linear, {{"devices", "any"}}, {}, true).judge().findings.empty());
}

TEST(CpuAffinityPlaces, ReservedCoresAreNamedWithTheirSiblings) {
  auto made = on(*read_layout(blade), {"0-6", "72-78"}, {}, {{"launcher", "srun"}});
  made.node(low_noise);
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "on a rank 0 may run on CPU 0, reserved for the system and rank 1 may run on CPU 72, reserved for the "
                 "system");
  EXPECT_EQ(judgement.findings[0].remedy,
            "leave out the cores that the profile reserves; right on a: srun "
            "--cpu-bind=mask_cpu:0xfefe,0xfefe00000000");
}

// A launch without a mask on a system that keeps cores: Slurm leaves all others open to each rank.
TEST(CpuAffinityPlaces, NotBoundWhereCoresAreReserved) {
  const std::string open =
      "1-7,9-15,17-23,25-31,33-39,41-47,49-55,57-63,65-71,73-79,81-87,89-95,97-103,105-111,113-119,121-127";
  auto made = on(*read_layout(blade), {open.c_str(), open.c_str()}, {}, {{"launcher", "srun"}});
  made.node(low_noise);
  const auto judgement = made.judge();
  expect_finding(
      judgement, Verdict::fail,
      "2 ranks on a are not bound: each may run on all CPUs of the node that are not reserved (" + open + ")");
}

TEST(CpuAffinityPlaces, ReservedCoresThatNobodyHasVerifiedAreNoFault) {
  auto made = on(*read_layout(blade), {"0-6", "9-15"}, {}, {{"launcher", "srun"}});
  ExpectedNode node = low_noise;
  node.unverified["reserved_cores"] = "told by a user";
  const auto judgement = made.node(node).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
  EXPECT_NE(judgement.findings[0].reason.find("rank 0 may run on CPU 0, reserved for the system; not a fault"),
            std::string::npos)
      << judgement.findings[0].reason;
  EXPECT_TRUE(judgement.findings[0].culprits.empty());
}

TEST(CpuAffinityPlaces, WidthIsOfCoresNotOfThreads) {
  EXPECT_TRUE(on(*read_layout(blade), {"1-7,65-71"}, {{"cores", "7"}}).judge().findings.empty());
  expect_finding(on(*read_layout(blade), {"1,65", "8-14"}, {{"cores", "7"}}).judge(), Verdict::fail,
                 "on a rank 0 has 1 (core 1) instead of 7");
}

TEST(CpuAffinityPlaces, SpanningDomains) {
  const auto made = on(*read_layout(blade), {"12-19", "32-39"}, {{"numa", "one"}});
  expect_finding(made.judge(), Verdict::fail, "on a rank 0 (CPUs 12-19) spans NUMA domains 0-1");
  EXPECT_TRUE(on(*read_layout(blade), {"12-19"}).judge().findings.empty());
}

TEST(CpuAffinityPlaces, SpanningDomainsUnderAPolicyThatRefusesIt) {
  const auto with = [](const char* policy) {
    return on(*read_layout(blade), {"12-19", "32-39"}, {}, {{"nic_policy", policy}}).judge();
  };
  expect_finding(with("NUMA"), Verdict::fail,
                 "on a rank 0 (CPUs 12-19) spans NUMA domains 0-1 under MPICH_OFI_NIC_POLICY=NUMA");
  EXPECT_TRUE(with("GPU").findings.empty());
}

TEST(CpuAffinityPlaces, WithoutATopologyDomainsAreUnmeasured) {
  MadeCase made(*find_probe("cpu_affinity"), {{"numa", "one"}});
  made.rank("a", {{"mask", "0"}, {"cores", "0"}});
  expect_finding(made.judge(), Verdict::unmeasured, "a reported no NUMA domains");
}

TEST(CpuAffinityPlaces, TwoThreadsOfOneCore) {
  expect_finding(on(*read_layout(blade), {"1", "65"}, {{"smt", "apart"}}).judge(), Verdict::fail,
                 "on a ranks 0 and 1 share core 1, on threads of their own");
  expect_evidence(on(*read_layout(blade), {"1", "65"}).judge(), "2 masks on 1 node are disjoint");
  expect_finding(on(*read_layout(blade), {"1", "1"}, {{"smt", "apart"}, {"sharing", "any"}}).judge(), Verdict::fail,
                 "on a ranks 0 and 1 share core 1");
  const Layout one = *read_layout("synthetic:numa:1 core:1 pu:2");
  expect_finding(on(one, {"0", "1"}, {{"smt", "apart"}}).judge(), Verdict::skip,
                 "2 ranks have 1 core on a: they can't have a core each");
}

TEST(CpuAffinityPlaces, ALauncherInsideAnotherGetsItsLine) {
  const auto judgement = on(*read_layout(blade), {"1", "1"}, {}, {{"launcher", "srun"}}).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_NE(judgement.findings[0].reason.find("the signature of a launcher started inside another"), std::string::npos);
  EXPECT_NE(judgement.findings[0].remedy.find("--cpu-bind=mask_cpu:0xffff,0xffff00000000"), std::string::npos)
      << judgement.findings[0].remedy;
}

TEST(CpuAffinityPlaces, AQuotaBelowTheMasksOfItsGroup) {
  const Layout layout = *read_layout("synthetic:numa:2 core:8 pu:1");
  const std::vector<Fact> tight{{"cpu_quota", "1.5"}, {"cpu_quota_group", "/docker/x"}};
  expect_finding(on(layout, {"0-15"}, {}, tight).judge(), Verdict::fail,
                 "on a the control group /docker/x gives its processes 1.5 CPUs of time, but rank 0 may run on 16 CPUs "
                 "(0-15): they will be stopped in every period");
  // Each alone would be within it; together they are not.
  EXPECT_EQ(on(layout, {"0", "1"}, {}, tight).judge().findings.size(), 1u);
  EXPECT_TRUE(on(layout, {"0"}, {}, tight).judge().findings.empty());
}

TEST(CpuAffinityPlaces, MemoryFromAnotherDomain) {
  const Layout layout = *read_layout("synthetic:numa:2 core:8 pu:1");
  const auto with = [&](const char* policy, const char* allowed) {
    return on(layout, {"0-7"}, {}, {{"memory_policy", policy}, {"memory_allowed", allowed}}).judge();
  };
  expect_finding(with("bind 1", "0-1"), Verdict::fail,
                 "on a rank 0 runs on NUMA domain 0 and takes its memory from 1 (memory policy bind 1)");
  expect_finding(with("default", "1"), Verdict::fail,
                 "on a rank 0 runs on NUMA domain 0 and takes its memory from 1 (the control group's cpuset.mems)");
  for (const char* fine : {"default", "bind 0", "interleave 0-1", "preferred 2"})
    EXPECT_TRUE(with(fine, "0-1").findings.empty()) << fine;
}

TEST(CpuAffinityPlaces, ThreadsOfTheTeam) {
  const Layout layout = *read_layout("synthetic:numa:1 core:8 pu:1");
  const auto with = [&](const char* wanted, const char* threads) {
    return on(layout, {"0-1"}, {{"threads", wanted}}, {{"threads", threads}}).judge();
  };
  expect_evidence(with("bound", "0;1"), "1 mask on 1 node was read, each thread on CPUs of its own");
  expect_evidence(with("fit", "0-1;0-1"), "1 mask on 1 node was read, threads inside");
  expect_finding(with("bound", "0-1;0-1"), Verdict::fail, "on a threads 0 and 1 of rank 0 share CPUs 0-1");
  expect_finding(with("fit", "0;5"), Verdict::fail, "on a thread 1 of rank 0 may leave the rank's CPUs: 5");
  expect_finding(with("fit", "0;1;0"), Verdict::fail, "on a rank 0 starts 3 OpenMP threads on 2 CPUs");
  expect_finding(on(layout, {"3"}, {{"threads", "fit"}}, {{"threads", "3;3;3;3"}}).judge(), Verdict::fail,
                 "on a rank 0 starts 4 OpenMP threads on 1 CPU");
  expect_finding(with("bound", ""), Verdict::unmeasured, "on a rank 0 started no OpenMP threads");
  // Only told, unless the check asks.
  const auto reported = with("any", "0;1;0");
  ASSERT_EQ(reported.findings.size(), 1u);
  EXPECT_EQ(reported.findings[0].verdict, Verdict::pass);
  EXPECT_EQ(reported.evidence.size(), 1u);
}

// The line.

TEST(MaskLine, RanksAreSpreadOverDomainsAndStayInside) {
  NodeParts node;
  node.layout = *read_layout(blade);
  for (const int ranks : {1, 2, 3, 4, 8, 13, 56, 64}) {
    const auto placement = place_ranks(node, {.ranks = ranks, .policy = BindPolicy::spread});
    ASSERT_TRUE(placement);
    ASSERT_EQ(placement->ranks.size(), static_cast<std::size_t>(ranks));
    CpuMask taken;
    for (const RankPlacement& seat : placement->ranks) {
      EXPECT_FALSE(seat.cpus.empty());
      EXPECT_FALSE(seat.cpus.intersects(node.layout.whole_cores(taken))) << ranks;
      EXPECT_EQ(node.layout.domains_of(seat.cpus).count(), 1) << ranks;
      taken = taken | seat.cpus;
    }
  }
}

TEST(MaskLine, NoLineWhereCoresAreTooFew) {
  NodeParts node;
  node.layout = *read_layout(blade);
  EXPECT_FALSE(place_ranks(node, {.ranks = 65, .policy = BindPolicy::spread}));
  EXPECT_FALSE(place_ranks(node, {.ranks = 8, .policy = BindPolicy::spread, .cores = 9}));
}

TEST(MaskLine, OpenMpiGetsAMappingOrARankfile) {
  NodeParts node;
  node.layout = *read_layout(blade);
  const std::vector<int> ranks{8, 9, 10, 11, 12, 13, 14, 15};
  const auto line = [&](int count) {
    return launch_line("mpirun", node, *place_ranks(node, {.ranks = count, .policy = BindPolicy::spread}), ranks, "b");
  };
  EXPECT_EQ(line(8), "mpirun --map-by ppr:2:numa:PE=8 --bind-to core");
  node.reserved = set("0,8,16,24,32,40,48,56");
  EXPECT_EQ(line(2), "mpirun --rankfile FILE with the lines \"rank 8=b slot=1-7,9-15\", \"rank 9=b slot=33-39,41-47\"");
}

// The line of a failing check and `muster bind` are one answer.

TEST(MaskLine, TheProfilesWordIsHeardWhereNothingGivesGpusOut) {
  const Layout layout = trento();
  ExpectedNode node = low_noise;
  node.gpus = GpuExpectation{8, "amd", ""};
  node.bind = BindExpectation{"cores", false, "map_gpu", {}};
  const std::string gpus =
      "0000:c1:00.0,0000:c6:00.0,0000:c9:00.0,0000:ce:00.0,0000:d1:00.0,0000:d6:00.0,0000:d9:00.0,0000:de:00.0";
  auto made = on(layout, by_gpu, {{"cores", "6"}}, {{"launcher", "srun"}, {"gpus", gpus}});
  made.node(node);
  const auto judgement = made.judge();
  ASSERT_FALSE(judgement.findings.empty());
  const std::string& remedy = judgement.findings[0].remedy;
  EXPECT_NE(remedy.find("--cpu-bind=mask_cpu:0x7e,0x7e00,0x7e0000,"), std::string::npos) << remedy;
  EXPECT_NE(remedy.find(" --gpu-bind=map_gpu:4,5,2,3,6,7,0,1"), std::string::npos) << remedy;
  node.bind = BindExpectation{"gpu", true, "wrapper", {}};
  made.node(node);
  const std::string both = made.judge().findings[0].remedy;
  EXPECT_NE(both.find("--cpu-bind=mask_cpu:0x7e000000000000007e000000000000,"), std::string::npos) << both;
  EXPECT_EQ(both.find("bash"), std::string::npos) << "rank i takes GPU i by itself";
}

TEST(MaskLine, WhatBindSaysPassesTheCheck) {
  const Layout layout = trento();
  NodeParts node;
  node.layout = layout;
  node.reserved = set("0,8,16,24,32,40,48,56");
  for (const auto& [address, cpus] : layout.nearby) node.gpus.push_back({address, {}, cpus, 0});
  for (const int ranks : {1, 2, 3, 5, 8})
    for (const bool smt : {false, true}) {
      std::vector<std::string> masks;
      const auto placement = place_ranks(node, {.ranks = ranks, .policy = BindPolicy::gpu, .smt = smt});
      ASSERT_TRUE(placement);
      for (const RankPlacement& seat : placement->ranks) masks.push_back(seat.cpus.list());
      auto made = on(layout, masks, {{"numa", "one"}, {"smt", "apart"}, {"cores", "7"}}, {}, true);
      made.node(low_noise);
      EXPECT_TRUE(made.judge().findings.empty()) << ranks << " " << smt;
    }
}

TEST(MaskLine, AGpuThatTheEnvironmentGivesIsKept) {
  auto made = on(trento(), linear, {}, {{"launcher", "srun"}}, true);
  ExpectedNode node = low_noise;
  node.bind = BindExpectation{"cores", false, "map_gpu", {}};
  made.node(node);
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_NE(judgement.findings[0].remedy.find("srun " + published), std::string::npos);
}

}  // namespace
}  // namespace muster
