// Made-up machines, read as the probe reads them, and the judge's word on each.
#include <cstdlib>
#include <sys/stat.h>
#include <tuple>

#include "device/inventory.hpp"
#include "device/machine_tree.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"

namespace muster {
namespace {

const ProbeSpec& device_visibility() {
  return *find_probe("device_visibility");
}

std::vector<Fact> facts_of(std::string_view machine) {
  const MadeMachine made(machine);
  const auto inventory = read_inventory(made.root().string());
  EXPECT_TRUE(inventory);
  return inventory ? to_facts(*inventory) : std::vector<Fact>();
}

/// Machine i is node `nid00i`; what all have in common may be left to `every`.
MadeCase nodes(const std::vector<std::string>& machines, const std::string& every = "gpus 8; nics 4") {
  MadeCase made(device_visibility());
  int number = 1;
  for (const std::string& machine : machines)
    made.rank(fmt::format("nid{:03}", number++), facts_of(every + "; " + machine));
  return made;
}

void expect_first(const ProbeJudgement& judgement, const std::string& reason, const std::string& culprit,
                  const std::string& remedy) {
  ASSERT_FALSE(judgement.findings.empty());
  const Finding& first = judgement.findings[0];
  EXPECT_EQ(first.verdict, Verdict::fail);
  EXPECT_EQ(first.reason, reason);
  ASSERT_FALSE(first.culprits.empty());
  // Of a GPU also its UUID is named.
  EXPECT_EQ(first.culprits[0].name.rfind(culprit, 0), 0u) << first.culprits[0].name;
  EXPECT_NE(first.remedy.find(remedy), std::string::npos) << first.remedy;
}

void expect_only(const ProbeJudgement& judgement, const std::string& reason, const std::string& culprit,
                 const std::string& remedy) {
  EXPECT_EQ(judgement.findings.size(), 1u) << (judgement.findings.size() > 1 ? judgement.findings[1].reason : "");
  expect_first(judgement, reason, culprit, remedy);
}

ExpectedNode promised(int count, const std::string& vendor = {}, const std::string& name = {}) {
  ExpectedNode node;
  node.gpus = GpuExpectation{count, vendor, name};
  return node;
}

TEST(DeviceVisibility, GoodNodesPassWithEvidence) {
  const auto judgement = nodes({"", "vga"}).node(promised(8, "nvidia", "H100")).judge();
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  ASSERT_EQ(judgement.evidence.size(), 2u);
  EXPECT_EQ(judgement.evidence[0], "16 GPUs on 2 nodes (16x NVIDIA H100 80GB HBM3), seen by nvidia and pci");
  EXPECT_EQ(judgement.evidence[1], "8 NICs on 2 nodes (8x ConnectX-7), seen by infiniband and pci");
  EXPECT_TRUE(nodes({"", ""}, "gpus 8 MI250X; nics 4 hsn").judge().findings.empty());
}

TEST(DeviceVisibility, NoGpuAndNoneExpectedIsSkipped) {
  const auto judgement = nodes({""}, "nics 2").judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::skip);
  EXPECT_EQ(judgement.findings[0].reason, "no GPU on this node and none expected");
  ASSERT_EQ(judgement.evidence.size(), 1u);
  EXPECT_EQ(judgement.evidence[0], "2 NICs on 1 node (2x ConnectX-7), seen by infiniband and pci");
}

TEST(DeviceVisibility, NoGpuThatTheProfilePromises) {
  expect_only(nodes({"", ""}, "nics 2").node(promised(8)).judge(),
              "no GPU on nid001 and nid002, 8 expected by the profile", "nid001", "login node");
}

TEST(DeviceVisibility, NoGpuThatTheJobWasGranted) {
  for (const auto& [name, value] : {Fact{"SLURM_GPUS_ON_NODE", "4"}, Fact{"SLURM_JOB_GPUS", "0,1,2,3"},
                                    Fact{"SLURM_GPUS_PER_NODE", "a100:3,v100:1"}}) {
    MadeCase made(device_visibility());
    auto facts = facts_of("nics 1");
    facts.push_back({"job." + name, value});
    made.rank("nid001", facts);
    expect_only(made.judge(), fmt::format("no GPU on nid001, 4 granted by the job ({}={})", name, value), "nid001",
                "report its nodes");
  }
}

TEST(DeviceVisibility, AGpuIsMissing) {
  expect_only(nodes({"gpu 4 gone"}).node(promised(8)).judge(), "7 GPUs on nid001, 8 expected by the profile", "nid001",
              "power-cycle");
  expect_only(nodes({"", "gpu 4 gone", ""}).judge(),
              "the set of GPUs is 7x NVIDIA H100 80GB HBM3 on nid002, but 8x NVIDIA H100 80GB HBM3 on 2 other nodes",
              "nid002", "drain");
}

TEST(DeviceVisibility, TheJobsShareIsEnough) {
  MadeCase made(device_visibility());
  auto facts = facts_of("gpus 8; gpu 0 unknown; gpu 1 unknown; gpu 2 unknown; gpu 3 unknown");
  made.rank("nid001", facts);
  EXPECT_EQ(made.judge().findings.size(), 1u) << "without a job nothing excuses them";
  facts.push_back({"job.SLURM_GPUS_ON_NODE", "4"});
  MadeCase granted(device_visibility());
  granted.rank("nid001", facts);
  EXPECT_TRUE(granted.judge().findings.empty());
  facts.back().value = "5";
  MadeCase short_of_one(device_visibility());
  short_of_one.rank("nid001", facts);
  EXPECT_EQ(short_of_one.judge().findings.size(), 1u);
}

TEST(DeviceVisibility, ALostGpuComesBeforeItsConsequences) {
  expect_only(nodes({"", "gpu 2 lost"}).node(promised(8)).judge(),
              "GPU 0000:3b:00.0 on nid002 has fallen off the bus: PCI configuration space reads 0xffff",
              "GPU 0000:3b:00.0", "Xid 79");
}

TEST(DeviceVisibility, SourcesThatDisagree) {
  expect_only(nodes({"gpu 3 driver=none"}).judge(), "GPU 0000:4b:00.0 on nid001 has no driver bound, nvidia is needed",
              "GPU 0000:4b:00.0", "modprobe nvidia");
  expect_only(nodes({"gpu 3 driver=vfio-pci"}).judge(),
              "GPU 0000:4b:00.0 on nid001 is bound to vfio-pci instead of nvidia", "GPU 0000:4b:00.0",
              "modprobe nvidia");
  expect_only(nodes({"gpu 3 unknown"}).judge(),
              "GPU 0000:4b:00.0 on nid001 is on the PCI bus and bound to nvidia, but the driver does not know it",
              "GPU 0000:4b:00.0", "reset");
  expect_only(nodes({"gpu 3 off-bus; gpu 4 off-bus"}).judge(),
              "GPUs 0000:4b:00.0 and 0000:5b:00.0 on nid001 are known to the driver but gone from the PCI bus",
              "GPU 0000:4b:00.0", "power-cycle");
  expect_only(nodes({"gpu 3 excluded"}).judge(), "GPU 0000:4b:00.0 on nid001 is excluded by the driver's settings",
              "GPU 0000:4b:00.0", "NVreg_ExcludedGpus");
}

TEST(DeviceVisibility, DeviceFiles) {
  expect_only(nodes({"gpu 4 no-file"}).judge(), "/dev/nvidia4 is missing on nid001", "GPU 0000:5b:00.0",
              "nvidia-modprobe");
  const auto closed = nodes({"gpu 4 mode=0000"}).judge();
  ASSERT_EQ(closed.findings.size(), 1u);
  EXPECT_NE(closed.findings[0].reason.find("open /dev/nvidia4 on nid001"), std::string::npos);
  const auto kfd = nodes({"file /dev/kfd gone"}, "gpus 2 MI250X").judge();
  expect_only(kfd, "/dev/kfd is missing on nid001", "/dev/kfd", "pass /dev/kfd");
}

/// Facts as they would be told, with one word replaced.
std::vector<Fact> altered(std::vector<Fact> facts, const std::string& from, const std::string& to) {
  for (Fact& fact : facts)
    if (const auto at = fact.value.find(from); at != std::string::npos) fact.value.replace(at, from.size(), to);
  return facts;
}

TEST(DeviceVisibility, AUserOutsideTheGroup) {
  MadeCase made(device_visibility());
  made.rank("nid001", altered(facts_of("gpus 1 MI250X"), "open /dev/kfd", "denied /dev/kfd"));
  expect_only(made.judge(), "this user may not open /dev/kfd on nid001", "/dev/kfd", "render");
}

TEST(DeviceVisibility, WhatTheControlGroupKeepsForOthersIsNoFault) {
  const auto facts = facts_of("gpus 2");
  MadeCase half(device_visibility());
  half.rank("nid001", altered(facts, "open /dev/nvidia1", "withheld /dev/nvidia1"));
  const auto judgement = half.judge();
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_EQ(judgement.evidence.at(1), "1 GPU closed to this job by its control group");
  MadeCase none(device_visibility());
  none.rank("nid001", altered(altered(facts, "open /dev/nvidia0", "withheld /dev/nvidia0"), "open /dev/nvidia1",
                              "withheld /dev/nvidia1"));
  expect_only(none.judge(), "all 2 GPUs on nid001 are closed to this job by its control group", "GPU 0000:1b:00.0",
              "--gpus-per-node");
}

TEST(DeviceVisibility, PcieLinks) {
  expect_only(nodes({"gpu 4 width=8"}).judge(), "GPU 0000:5b:00.0 on nid001 has PCIe x8 where both ends can do x16",
              "GPU 0000:5b:00.0", "reseated");
  EXPECT_TRUE(nodes({"gpu 4 slot=8"}).judge().findings.empty()) << "the slot has no more";
  EXPECT_TRUE(nodes({"gpu 4 speed=2.5"}).judge().findings.empty()) << "idle GPUs save power";
  expect_only(nodes({"nic 1 speed=16.0"}).judge(),
              "NIC mlx5_1 (0000:25:00.0) on nid001 has a link of 16 GT/s where both ends can do 32",
              "NIC mlx5_1 (0000:25:00.0)", "reseated");
}

TEST(DeviceVisibility, ABridgesLinkIsToldOnce) {
  auto facts = facts_of("gpus 2");
  for (Fact& fact : facts)
    if (fact.key == "gpu") fact.value += "; link 0000:10:00.0 4 16 32 32";
  MadeCase made(device_visibility());
  made.rank("nid001", facts);
  expect_only(
      made.judge(),
      "GPUs 0000:1b:00.0 and 0000:2b:00.0 on nid001 have PCIe x4 where both ends can do x16 at bridge 0000:10:00.0",
      "GPU 0000:1b:00.0", "riser");
}

TEST(DeviceVisibility, MemoryErrors) {
  expect_only(nodes({"gpu 1 ue=2"}, "gpus 2 MI250X").judge(),
              "GPU 0000:2b:00.0 on nid001 has 2 uncorrected memory errors since its driver was loaded",
              "GPU 0000:2b:00.0", "replaced");
}

TEST(DeviceVisibility, TheProfilesModel) {
  expect_only(
      nodes({""}, "gpus 2 A100").node(promised(2, "nvidia", "H100")).judge(),
      "GPUs 0000:1b:00.0 and 0000:2b:00.0 on nid001 are called \"NVIDIA A100-SXM4-80GB\", the profile expects a "
      "name like H100",
      "GPU 0000:1b:00.0", "profile");
  expect_only(nodes({""}, "gpus 1 A100").node(promised(1, "amd")).judge(),
              "GPU 0000:1b:00.0 on nid001 is of vendor nvidia, the profile promises amd", "GPU 0000:1b:00.0",
              "profile");
}

TEST(DeviceVisibility, NothingFailsByWhatTheProfileHasNotVerified) {
  ExpectedNode eight = promised(8, "nvidia", "H100");
  eight.unverified["gpus"] = "from a data sheet";
  const auto few = nodes({"gpu 4 gone"}).node(eight).judge();
  ASSERT_EQ(few.findings.size(), 1u);
  EXPECT_EQ(few.findings[0].verdict, Verdict::pass);
  EXPECT_EQ(few.findings[0].reason,
            "7 GPUs on nid001, 8 expected by the profile; not a fault, as the profile's value is not verified: from a "
            "data sheet");
  EXPECT_TRUE(few.findings[0].culprits.empty());
  ExpectedNode two = promised(2, "nvidia", "H100");
  two.unverified["gpus"] = "from a data sheet";
  const auto others = nodes({""}, "gpus 2 A100").node(two).judge();
  ASSERT_EQ(others.findings.size(), 1u);
  EXPECT_EQ(others.findings[0].verdict, Verdict::pass);
  EXPECT_NE(others.findings[0].reason.find("the profile expects a name like H100; not a fault"), std::string::npos);
}

/// Two GPUs of one node with `up` NVLinks from the first to the second, and `back` from the second to the first.
ProbeJudgement linked(int up, int back, const std::string& doubt = {}) {
  Inventory inventory;
  for (const char* source : {"pci", "nvidia"}) inventory.add_source(source);
  const auto first = *parse_pci_address("0000:03:00.0");
  const auto second = *parse_pci_address("0000:41:00.0");
  for (const auto& [at, to, links] : {std::tuple(first, second, up), std::tuple(second, first, back)}) {
    inventory.seen(DeviceKind::gpu, at, "pci");
    Device& gpu = inventory.seen(DeviceKind::gpu, at, "nvidia");
    gpu.vendor_id = "10de";
    gpu.device_id = "20b0";
    gpu.driver = "nvidia";
    if (links >= 0) gpu.peers = {{to, "nvlink", links, 0, 25.0 * links}, {to, "pcie", 1, 0, 0}};
  }
  ExpectedNode node = promised(2);
  node.gpu_links = {{0, 1, 4}};
  if (!doubt.empty()) node.unverified["gpu_links"] = doubt;
  return MadeCase(*find_probe("device_visibility")).rank("nid001", to_facts(inventory)).node(node).judge();
}

TEST(DeviceVisibility, LinksBetweenGpusThatTheProfilePromises) {
  const auto right = linked(4, 4);
  EXPECT_TRUE(right.findings.empty()) << right.findings[0].reason;
  ASSERT_FALSE(right.evidence.empty());
  EXPECT_EQ(right.evidence.back(), "4 links between GPUs of nid001, as the profile promises");
  expect_only(
      linked(4, 3),
      "GPUs 0000:03:00.0 and 0000:41:00.0 on nid001 have 3 of the 4 links between them that the profile promises",
      "GPU 0000:03:00.0", "power-cycle");
  const auto unverified = linked(0, 4, "from a data sheet");
  ASSERT_EQ(unverified.findings.size(), 1u);
  EXPECT_EQ(unverified.findings[0].verdict, Verdict::pass);
  EXPECT_TRUE(linked(-1, -1).findings.empty()) << "nobody tells of links";
}

TEST(DeviceVisibility, TheOddNodeOut) {
  expect_only(nodes({"", "", "kernel 6.1"}).judge(),
              "kernel is 6.1 on nid003, but 5.14.0-427.el9.x86_64 on 2 other nodes", "nid003", "image");
  expect_only(nodes({"nvidia 535.1", "", ""}).judge(),
              "version of nvidia is 535.1 on nid001, but 550.54.15 on 2 other nodes", "nid001", "image");
  expect_only(nodes({"", "gpu 1 vbios=1.2"}).judge(),
              "VBIOS of NVIDIA H100 80GB HBM3 is 1.2 on GPU 0000:2b:00.0 on nid002, but 96.00.74.00.01 on 15 others",
              "GPU 0000:2b:00.0", "firmware");
  expect_only(nodes({"", "nic 0 fw=28.40"}).judge(),
              "firmware of ConnectX-7 is 28.40 on NIC mlx5_0 (0000:15:00.0) on nid002, but 28.41.1000 on 7 others",
              "NIC mlx5_0 (0000:15:00.0)", "firmware");
}

TEST(DeviceVisibility, TwoNodesThatDifferAreBothNamed) {
  const auto judgement = nodes({"kernel 6.1", "kernel 6.2"}).judge();
  expect_only(judgement, "kernel differs: 6.1 on nid001 and 6.2 on nid002", "nid001", "image");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 2u);
}

TEST(DeviceVisibility, OneBoardTwice) {
  const auto judgement = nodes({"gpu 0 uuid=GPU-1", "gpu 0 uuid=GPU-1"}).judge();
  expect_only(judgement, "GPU 0000:1b:00.0 on nid001 and GPU 0000:1b:00.0 on nid002 have the same UUID GPU-1",
              "GPU 0000:1b:00.0", "same machine");
}

TEST(DeviceVisibility, ALibraryThatIsNotTheDrivers) {
  expect_only(
      nodes({"library 535.1.2"}).judge(),
      "on nid001 the kernel runs driver nvidia 550.54.15, but its libraries are 535.1.2: programs refuse to start",
      "nid001", "reboot");
  EXPECT_TRUE(nodes({"library 550.54.15"}).judge().findings.empty());
}

TEST(DeviceVisibility, EverythingAtOnceInOrderOfCauses) {
  const auto judgement = nodes({"gpu 1 gone; gpu 2 lost; gpu 3 driver=none; gpu 4 width=8; gpu 5 no-file; "
                                "nic 1 speed=16.0"})
                             .node(promised(8))
                             .judge();
  ASSERT_EQ(judgement.findings.size(), 6u);
  const char* words[] = {"7 GPUs", "fallen off", "no driver", "missing", "16 GT/s", "PCIe x8"};
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NE(judgement.findings[i].reason.find(words[i]), std::string::npos) << judgement.findings[i].reason;
}

/// A10G in a virtual machine: the slot has eight lanes, and its end of the link is not visible.
TEST(DeviceVisibility, ALinkWithOneVisibleEndIsANoteUnlessItsLikeIsWider) {
  const std::string other_parts = "; vendor 10de; device 2237; class 030200; driver nvidia; seen pci; seen nvidia";
  const auto verdict_with = [&](const std::vector<std::string>& widths) {
    std::vector<Fact> facts = {{"source", "pci"}, {"source", "nvidia"}};
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string address = fmt::format("0000:00:{:02x}.0", 30 - i);
      facts.push_back(
          {"gpu", fmt::format("{}; link {} {} 16 16 16 one-ended{}", address, address, widths[i], other_parts)});
    }
    MadeCase made(device_visibility());
    made.rank("nid001", facts);
    std::vector<Verdict> verdicts;
    for (const Finding& finding : made.judge().findings)
      if (finding.reason.find("PCIe x8 where the card can do x16") != std::string::npos)
        verdicts.push_back(finding.verdict);
    return verdicts;
  };
  EXPECT_EQ(verdict_with({"8"}), std::vector{Verdict::pass});
  EXPECT_EQ(verdict_with({"8", "8"}), (std::vector{Verdict::pass, Verdict::pass}));
  EXPECT_EQ(verdict_with({"8", "16"}), std::vector{Verdict::fail});
}

TEST(DeviceVisibility, DamageAndSilenceAreNoPass) {
  MadeCase damaged(device_visibility());
  damaged.rank("nid001", std::vector<Fact>{{"source", "pci"}, {"gpu", "nonsense"}});
  EXPECT_EQ(damaged.judge().findings.at(0).verdict, Verdict::unmeasured);
  // One field of it: the GPU is there all the same.
  MadeCase field(device_visibility());
  field.rank("nid001", std::vector<Fact>{{"source", "pci"},
                                         {"gpu",
                                          "0000:c1:00.0; vendor 10de; class 030200; peer ffffffff:ff:ff.0 nvlink "
                                          "18 0 900; seen pci; seen nvidia"}});
  const auto one = field.judge();
  EXPECT_NE(one.findings.at(0).reason.find("peer ffffffff:ff:ff.0"), std::string::npos);
  for (const Finding& finding : one.findings) EXPECT_EQ(finding.reason.find("no GPU"), std::string::npos);
  MadeCase nothing(device_visibility());
  nothing.rank("nid001", std::vector<Fact>{});
  expect_finding(nothing.judge(), Verdict::unmeasured, "nid001 shows no PCI bus");
  MadeCase silent(device_visibility());
  silent.rank("nid001", std::nullopt);
  EXPECT_TRUE(silent.judge().evidence.empty());
  EXPECT_TRUE(silent.judge().findings.empty());
}

TEST(DeviceVisibility, ADriverThatShowsNothingAtAllKnowsNoGpu) {
  const MadeMachine made("gpus 2; nics 1");
  std::filesystem::remove_all(made.root() / "proc/driver/nvidia");
  MadeCase bare(device_visibility());
  bare.rank("nid001", to_facts(*read_inventory(made.root().string())));
  expect_first(
      bare.judge(),
      "GPUs 0000:1b:00.0 and 0000:2b:00.0 on nid001 are on the PCI bus and bound to nvidia, but the driver does "
      "not know them",
      "GPU 0000:1b:00.0", "NVRM");
}

TEST(DeviceVisibility, EveryVariableThatGrantsGpusCounts) {
  for (const auto& [name, value, count] :
       {std::tuple{"SLURM_GPUS_PER_TASK", "1", 1}, std::tuple{"SLURM_GPUS_PER_SOCKET", "2", 2},
        std::tuple{"SLURM_STEP_GPUS", "0", 1}, std::tuple{"SLURM_STEP_GPUS", "4,5", 2}}) {
    MadeCase made(device_visibility());
    auto facts = facts_of("nics 1");
    facts.push_back({fmt::format("job.{}", name), value});
    made.rank("nid001", facts);
    expect_only(made.judge(), fmt::format("no GPU on nid001, {} granted by the job ({}={})", count, name, value),
                "nid001", "report its nodes");
  }
}

TEST(DeviceVisibility, AGrantThatIsNoNumberIsNotNothing) {
  for (const char* value : {"garbage", "-3", "99999999999999"}) {
    MadeCase made(device_visibility());
    auto facts = facts_of("nics 1");
    facts.push_back({"job.SLURM_GPUS_ON_NODE", value});
    made.rank("nid001", facts);
    const auto judgement = made.judge();
    ASSERT_EQ(judgement.findings.size(), 1u);
    EXPECT_EQ(judgement.findings[0].verdict, Verdict::unmeasured);
    EXPECT_EQ(judgement.findings[0].reason,
              fmt::format("SLURM_GPUS_ON_NODE={} on nid001 is not a number of GPUs: what the "
                          "job was granted is not known",
                          value));
    EXPECT_EQ(judgement.findings[0].culprits[0].name, "SLURM_GPUS_ON_NODE");
  }
}

TEST(DeviceVisibility, GrantedGpusAreMissedWhereNoBusIsShown) {
  MadeCase made(device_visibility());
  made.rank("nid001", {{"job.SLURM_GPUS_ON_NODE", "4"}});
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[1].verdict, Verdict::fail);
  EXPECT_EQ(judgement.findings[1].reason, "no GPU on nid001, 4 granted by the job (SLURM_GPUS_ON_NODE=4)");
}

TEST(DeviceVisibility, AWrongRootIsTheSettingsFault) {
  const MadeCase made(device_visibility(), {{"root", "/nonexistent/of/a/test"}});
  std::vector<Fact> facts;
  run_ranks(1, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{.host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    const auto seen = device_visibility().run(context);
    ASSERT_TRUE(seen);
    facts = seen->facts;
  });
  MadeCase judged(device_visibility(), {{"root", "/nonexistent/of/a/test"}});
  const auto judgement = judged.rank("a", facts).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::error);
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "root", "", -1}}));
  EXPECT_NE(judgement.findings[0].reason.find("/nonexistent/of/a/test"), std::string::npos);
}

TEST(DeviceVisibility, APipeInTheTreeIsNotWaitedFor) {
  const MadeMachine made("gpus 1; nics 1");
  const auto config = made.root() / "sys/bus/pci/devices/0000:1b:00.0/config";
  std::filesystem::remove(config);
  ASSERT_EQ(mkfifo(config.c_str(), 0600), 0);
  EXPECT_TRUE(read_inventory(made.root().string()));
}

TEST(DeviceVisibility, TheNumberIsTakenFromTheCheckFirst) {
  const auto with = [](const std::string& expected) {
    MadeCase made(device_visibility(), {{"expected", expected}});
    made.rank("nid001", facts_of("gpus 2")).node(promised(8));
    return made.judge();
  };
  EXPECT_TRUE(with("2").findings.empty());
  expect_only(with("1"), "2 GPUs on nid001, 1 expected by the check", "nid001", "correct the expected number");
  EXPECT_EQ(with("many").findings.at(0).verdict, Verdict::error);
}

TEST(DeviceVisibility, ReadsTheMachineItIsPointedAt) {
  const MadeMachine machine("gpus 2; gpu 1 width=8; nics 1");
  const MadeCase made(device_visibility(), {{"root", machine.root().string()}});
  run_ranks(1, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{.host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    const auto seen = device_visibility().run(context);
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->readings.size(), 3u);
    EXPECT_EQ(seen->readings[0].metric, "gpus");
    EXPECT_EQ(seen->readings[0].summary.median, 2);
    EXPECT_EQ(seen->readings[2].where, (Labels{{"device", "0000:2b:00.0"}}));
    EXPECT_EQ(seen->readings[2].summary.median, 8);
    EXPECT_EQ(recorder.steps, std::vector<std::string>{"inventory"});
  });
}

}  // namespace
}  // namespace muster
