// Ranks that see no GPU beside others that do, and GPUs that no rank sees.
#include <fmt/format.h>

#include "device/inventory.hpp"
#include "measure/node_gpus.hpp"
#include "probes/judging.hpp"

namespace muster {

namespace {

/// Two GPUs, as the kernel tells of them.
Inventory two_gpus() {
  Inventory inventory;
  for (const std::uint32_t bus : {0xc1u, 0xc2u}) {
    Device& gpu = inventory.seen(DeviceKind::gpu, {0, bus, 0, 0}, "pci");
    gpu.vendor_id = "10de";
    gpu.uuid = fmt::format("GPU-{:x}", bus);
  }
  return inventory;
}

LibraryReport broken() {
  LibraryReport library;
  library.name = "libcuda.so.1";
  library.state = LibraryState::broken;
  library.code = 999;
  library.error = "cuInit returned 999: words";
  return library;
}

std::vector<Fact> facts_of(const Inventory& inventory, std::vector<Fact> more) {
  std::vector<Fact> facts = to_facts(inventory);
  for (Fact& fact : more) facts.push_back(std::move(fact));
  return facts;
}

std::vector<Fact> sees_the_first() {
  return facts_of(two_gpus(), {{"visible", "1"}, {"tested", "0000:c1:00.0 GPU-c1 NVIDIA H100"}, {"checked", "7"}});
}

std::vector<Fact> sees_nothing(bool is_library_broken) {
  Inventory inventory = two_gpus();
  if (is_library_broken) inventory.libraries.push_back(broken());
  return facts_of(inventory, {{"visible", "0"}, {"remedy.nvidia", "see dmesg"}, {"checked", "0"}});
}

TEST(GpuNodes, ARankWhoseLibraryFailsIsNamedWithTheGpuThatNobodyTested) {
  MadeCase made(*find_probe("gpu_copy"));
  made.rank("a", sees_the_first()).rank("a", sees_nothing(true));
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(finding.reason,
            "rank 1 on a sees no GPU, where others see 1 GPU: libcuda.so.1 is unusable to it: cuInit returned 999: "
            "words; not tested: GPU 0000:c2:00.0 (GPU-c2)");
  ASSERT_EQ(finding.culprits.size(), 2u);
  EXPECT_EQ(finding.culprits[0].name, "GPU 0000:c2:00.0 (GPU-c2)");
  EXPECT_EQ(finding.culprits[1].name, "rank 1");
  EXPECT_EQ(finding.remedy, "see dmesg");
}

TEST(GpuNodes, WhereNoLibrarySaysWhyItIsUnmeasured) {
  MadeCase made(*find_probe("gpu_copy"));
  made.rank("a", sees_the_first()).rank("a", sees_nothing(false)).rank("a", sees_nothing(false));
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::unmeasured);
  EXPECT_EQ(judgement.findings[0].reason,
            "ranks 1 and 2 on a see no GPU, where others see 1 GPU; not tested: GPU 0000:c2:00.0 (GPU-c2)");
}

TEST(GpuNodes, OneThatNoRankSeesIsSaid) {
  MadeCase made(*find_probe("gpu_copy"));
  made.rank("a", sees_the_first());
  const auto judgement = made.judge();
  EXPECT_TRUE(judgement.findings.empty());
  ASSERT_FALSE(judgement.evidence.empty());
  EXPECT_EQ(judgement.evidence[0], "not tested on a, as no rank sees it: GPU 0000:c2:00.0 (GPU-c2)");
}

TEST(GpuNodes, WhatIsClosedToTheJobIsNotMissed) {
  Inventory inventory = two_gpus();
  inventory.devices[1].files.push_back({"/dev/nvidia1", FileAccess::withheld});
  MadeCase made(*find_probe("gpu_copy"));
  made.rank("a",
            facts_of(inventory, {{"visible", "1"}, {"tested", "0000:c1:00.0 GPU-c1 NVIDIA H100"}, {"checked", "7"}}));
  for (const std::string& reported : made.judge().evidence)
    EXPECT_EQ(reported.find("not tested"), std::string::npos) << reported;
}

/// Two MI300X in four partitions each, between them one that is lost: on the bus, and not in KFD.
Inventory with_a_lost_one() {
  Inventory inventory;
  for (const std::uint32_t bus : {1u, 2u, 3u}) {
    Device& gpu = inventory.seen(DeviceKind::gpu, {0, bus, 0, 0}, "pci");
    gpu.vendor_id = "1002";
    gpu.is_lost = bus == 2;
    if (bus == 2) continue;
    gpu.partitions = 4;
    gpu.compute_order = bus == 1 ? 1 : 5;
  }
  return inventory;
}

using Parts = std::vector<int>;

TEST(GpuParts, ALostGpuHidesNoOrder) {
  const Inventory inventory = with_a_lost_one();
  const Device* first = &inventory.devices[0];
  const Device* last = &inventory.devices[2];
  const auto one = gpu_copy::name_parts({last}, inventory, {{"ROCR_VISIBLE_DEVICES", "6"}});
  EXPECT_EQ(one.parts, Parts{2});
  EXPECT_TRUE(one.unknown.empty());
  const auto all = gpu_copy::name_parts({first, first, first, first, last, last, last, last}, inventory, {});
  EXPECT_EQ(all.parts, (Parts{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(GpuParts, WithoutAnOrderThoseOfAGpuThatIsSeenInPart) {
  Inventory inventory = with_a_lost_one();
  inventory.devices[2].compute_order = 9;
  const Device* first = &inventory.devices[0];
  const Device* last = &inventory.devices[2];
  const auto some = gpu_copy::name_parts({first, first, first, first, last}, inventory, {});
  EXPECT_EQ(some.parts, (Parts{0, 1, 2, 3, 0}));
  EXPECT_EQ(some.unknown, (std::map<const Device*, int>{{last, 1}}));
}

TEST(GpuNodes, APartitionThatNobodyKnowsIsUnmeasured) {
  const std::vector<Fact> facts = {{"visible", "1"},
                                   {"part_unknown", "0000:05:00.0 1 8"},
                                   {"tested", "0000:05:00.0/0 abc AMD Instinct MI300X"},
                                   {"checked", "7"}};
  for (const char* probe : {"gpu_copy", "gpu_memory", "gpu_compute"}) {
    MadeCase made(*find_probe(probe));
    made.rank("a", facts).rank("a", facts).rank("b", facts);
    std::vector<std::string> reasons;
    for (const Finding& finding : made.judge().findings)
      if (finding.reason.find("which partition it is is unknown") != std::string::npos) {
        EXPECT_EQ(finding.verdict, Verdict::unmeasured);
        reasons.push_back(finding.reason);
      }
    ASSERT_EQ(reasons.size(), 2u) << probe << ": once on each node";
    EXPECT_EQ(reasons[0],
              "of the 8 partitions of GPU 0000:05:00.0 on a rank 0 sees 1, and which partition it is is unknown: some "
              "may not have been tested");
  }
}

}  // namespace
}  // namespace muster
