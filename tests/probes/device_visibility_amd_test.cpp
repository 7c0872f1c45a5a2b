// What device_visibility says of AMD's GPUs: libraries against the kernel, links, errors, partitions, strangers.
#include <fmt/format.h>
#include <functional>
#include <stdexcept>

#include "device/inventory.hpp"
#include "probes/judging.hpp"

namespace muster {
namespace {

PciAddress at(int gpu) {
  return {0, static_cast<std::uint32_t>(0xc0 + gpu), 0, 0};
}

using Change = std::function<void(Inventory&)>;

Device& gpu_of(Inventory& inventory, int gpu) {
  return inventory.seen(DeviceKind::gpu, at(gpu), "kfd");
}

PeerLink& link_of(Inventory& inventory, int from, int to) {
  for (PeerLink& peer : gpu_of(inventory, from).peers)
    if (peer.to == at(to)) return peer;
  throw std::out_of_range("no such link");
}

void cut(Inventory& inventory, int from, int to) {
  std::erase_if(gpu_of(inventory, from).peers, [&](const PeerLink& peer) { return peer.to == at(to); });
}

std::string all_but(int gpu) {
  std::string list;
  for (int other = 0; other < 8; ++other)
    if (other != gpu) list += (list.empty() ? "" : " ") + to_string(at(other));
  return list;
}

LibraryReport library(const std::string& name, LibraryState state, const std::string& file, const std::string& error) {
  LibraryReport report;
  report.name = name;
  report.state = state;
  report.file = file;
  report.error = error;
  return report;
}

/// Eight GPUs, each linked to every other, which both libraries and the kernel know.
Inventory mi300x() {
  Inventory inventory;
  for (const char* source : {"pci", "kfd", "rocm_smi", "amd_smi"}) inventory.add_source(source);
  inventory.libraries = {library("librocm_smi64.so.6", LibraryState::working, "/opt/rocm/lib/a", ""),
                         library("libamd_smi.so.24", LibraryState::working, "/opt/rocm/lib/b", "")};
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (const char* source : {"pci", "rocm_smi", "amd_smi"}) inventory.seen(DeviceKind::gpu, at(gpu), source);
    Device& device = gpu_of(inventory, gpu);
    device.vendor_id = "1002";
    device.device_id = "74a1";
    device.driver = "amdgpu";
    device.uuid = std::to_string(4096 + gpu);
    for (int other = 0; other < 8; ++other)
      if (other != gpu) device.peers.push_back({at(other), "xgmi", 1, 0, 50, 15});
    device.values = {{"xgmi_hive", "0x77"},
                     {"compute_partition", "SPX"},
                     {"temperature_junction", "42"},
                     {"temperature_limit_junction", "100"},
                     {"rocm_smi_unique_id", fmt::format("{:#x}", 4096 + gpu)},
                     {"rocm_smi_uncorrected", "0"},
                     {"rocm_smi_xgmi", all_but(gpu)},
                     {"amd_smi_xgmi", all_but(gpu)}};
  }
  return inventory;
}

ProbeJudgement judged(const Change& change, bool is_in_job = true) {
  Inventory inventory = mi300x();
  change(inventory);
  auto facts = to_facts(inventory);
  if (is_in_job) facts.push_back({"job.SLURM_JOB_ID", "1"});
  return MadeCase(*find_probe("device_visibility")).rank("nid001", std::move(facts)).judge();
}

/// One finding, of this GPU first.
void expect_fault(const Change& change, const std::string& reason, int gpu, const std::string& remedy) {
  const auto judgement = judged(change);
  ASSERT_EQ(judgement.findings.size(), 1u) << (judgement.findings.empty() ? "" : judgement.findings[0].reason);
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(finding.reason, reason);
  ASSERT_FALSE(finding.culprits.empty());
  const std::string culprit = gpu < 0 ? "nid001" : "GPU " + to_string(at(gpu));
  EXPECT_EQ(finding.culprits[0].name.rfind(culprit, 0), 0u) << finding.culprits[0].name;
  EXPECT_EQ(finding.culprits[0].node, "nid001");
  EXPECT_NE(finding.remedy.find(remedy), std::string::npos) << finding.remedy;
}

TEST(DeviceVisibilityAmd, AGoodNodePasses) {
  const auto judgement = judged([](Inventory&) {});
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  ASSERT_FALSE(judgement.evidence.empty());
  EXPECT_EQ(judgement.evidence[0], "8 GPUs on 1 node (8x AMD Instinct MI300X), seen by amd_smi, kfd, pci and rocm_smi");
}

/// Nodes with GPUs of these modes, each with UUIDs of its own.
ProbeJudgement of_modes(const std::vector<std::pair<std::string, std::string>>& modes) {
  MadeCase made(*find_probe("device_visibility"));
  for (std::size_t node = 0; node < modes.size(); ++node) {
    Inventory inventory = mi300x();
    for (Device& gpu : inventory.devices) {
      gpu.uuid += std::to_string(node);
      gpu.values.erase("rocm_smi_unique_id");
      gpu.values["compute_partition"] = modes[node].first;
      gpu.values["memory_partition"] = modes[node].second;
    }
    made.rank("nid00" + std::to_string(node + 1), to_facts(inventory));
  }
  return made.judge();
}

TEST(DeviceVisibilityAmd, PartitionModesAreAlikeOnAllNodes) {
  const auto alike = of_modes({{"CPX", "NPS4"}, {"CPX", "NPS4"}, {"CPX", "NPS4"}});
  EXPECT_TRUE(alike.findings.empty()) << alike.findings[0].reason;
  for (const auto& odd : {std::pair("SPX", "NPS1"), std::pair("CPX", "NPS1")}) {
    const auto judgement = of_modes({{"CPX", "NPS4"}, {"CPX", "NPS4"}, {odd.first, odd.second}, {"CPX", "NPS4"}});
    ASSERT_EQ(judgement.findings.size(), 1u);
    const Finding& finding = judgement.findings[0];
    EXPECT_EQ(finding.verdict, Verdict::fail);
    EXPECT_NE(finding.reason.find("partition mode of the GPUs"), std::string::npos) << finding.reason;
    EXPECT_NE(finding.reason.find(std::string(odd.first) + " " + odd.second), std::string::npos) << finding.reason;
    EXPECT_NE(finding.reason.find("CPX NPS4"), std::string::npos) << finding.reason;
    ASSERT_EQ(finding.culprits.size(), 1u);
    EXPECT_EQ(finding.culprits[0].node, "nid003");
    EXPECT_NE(finding.remedy.find("--compute-partition"), std::string::npos);
  }
}

TEST(DeviceVisibilityAmd, AnAbsentLibraryIsNoFaultWhileTheKernelTells) {
  const auto judgement = judged([](Inventory& inventory) {
    inventory.libraries = {library("librocm_smi64.so.7", LibraryState::absent, "", ""),
                           library("libamd_smi.so.27", LibraryState::absent, "", "")};
    inventory.sources = {"pci", "kfd"};
  });
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
}

TEST(DeviceVisibilityAmd, ABrokenLibraryInItsOwnWords) {
  expect_fault(
      [](Inventory& inventory) {
        inventory.libraries[0].state = LibraryState::broken;
        inventory.libraries[0].code = 8;
        inventory.libraries[0].error = "rsmi_init returned 8: An error occurred during initialization";
        inventory.sources = {"pci", "kfd", "amd_smi"};
      },
      "on nid001 the driver amdgpu works, but librocm_smi64.so.6 is unusable: rsmi_init returned 8: An error occurred "
      "during initialization",
      -1, "compare the release of ROCm in /opt/rocm/lib/a");
  expect_fault(
      [](Inventory& inventory) {
        inventory.libraries[1] =
            library("libamd_smi.so.24", LibraryState::broken, "", "libdrm.so.2: cannot open shared object file");
        inventory.sources = {"pci", "kfd", "rocm_smi"};
      },
      "on nid001 the driver amdgpu works, but libamd_smi.so.24 is unusable: libdrm.so.2: cannot open shared object "
      "file",
      -1, "install ROCm anew");
}

TEST(DeviceVisibilityAmd, AGpuThatTheLibraryMisses) {
  expect_fault([](Inventory& inventory) { std::erase(gpu_of(inventory, 3).sources, "rocm_smi"); },
               "ROCm SMI lists 7 of 8 GPUs that amdgpu offers on nid001; it misses 0000:c3:00.0 (unique id 0x1003)", 3,
               "rocm-smi lists");
}

TEST(DeviceVisibilityAmd, UniqueIdsThatDiffer) {
  expect_fault([](Inventory& inventory) { gpu_of(inventory, 2).values["rocm_smi_unique_id"] = "0xabc"; },
               "GPU 0000:c2:00.0 on nid001 has unique id 0x1002 by the kernel and 0xabc by ROCm SMI", 2, "reboot");
}

TEST(DeviceVisibilityAmd, ErrorsThatOnlyTheLibraryCounts) {
  const Change counted = [](Inventory& inventory) { gpu_of(inventory, 2).values["rocm_smi_uncorrected"] = "2"; };
  expect_fault(counted,
               "GPU 0000:c2:00.0 (unique id 0x1002) on nid001 has 2 uncorrected errors, as ROCm SMI counts them", 2,
               "drain nid001 and reset");
  expect_fault(
      [&](Inventory& inventory) {
        counted(inventory);
        gpu_of(inventory, 2).uncorrected = 2;
      },
      "GPU 0000:c2:00.0 on nid001 has 2 uncorrected memory errors since its driver was loaded", 2, "reset the GPU");
}

TEST(DeviceVisibilityAmd, ACallThatFails) {
  expect_fault(
      [](Inventory& inventory) {
        gpu_of(inventory, 5).values["rocm_smi_error"] = "rsmi_dev_temp_metric_get returned 6: An internal exception";
      },
      "GPU 0000:c5:00.0 (unique id 0x1005) on nid001 gave ROCm SMI no answer: rsmi_dev_temp_metric_get returned 6: An "
      "internal exception",
      5, "kernel log");
}

TEST(DeviceVisibilityAmd, PagesToBeRetired) {
  expect_fault([](Inventory& inventory) { gpu_of(inventory, 1).values["bad_pages_pending"] = "3"; },
               "GPU 0000:c1:00.0 (unique id 0x1001) on nid001 has 3 pages of memory to be retired at its next reset", 1,
               "reset");
  expect_fault([](Inventory& inventory) { gpu_of(inventory, 1).values["bad_pages_failed"] = "1"; },
               "GPU 0000:c1:00.0 (unique id 0x1001) on nid001 could not retire 1 page of bad memory", 1, "replaced");
  EXPECT_TRUE(
      judged([](Inventory& inventory) { gpu_of(inventory, 1).values["bad_pages_retired"] = "9"; }).findings.empty())
      << "retired pages are out of use";
}

TEST(DeviceVisibilityAmd, TooHot) {
  expect_fault([](Inventory& inventory) { gpu_of(inventory, 6).values["temperature_junction"] = "101.5"; },
               "GPU 0000:c6:00.0 (unique id 0x1006) on nid001 is at 101.5 degrees (junction), its limit is 100", 6,
               "cooling");
}

TEST(DeviceVisibilityAmd, StrangersThatHoldMemory) {
  const Change used = [](Inventory& inventory) {
    gpu_of(inventory, 4).values["process.4242"] = "8589934592 python train.py";
  };
  expect_fault(used,
               "GPU 0000:c4:00.0 (unique id 0x1004) on nid001 is used by other programs: python train.py (pid 4242) "
               "holds 8.0 GiB",
               4, "former job");
  const auto outside = judged(used, false);
  ASSERT_EQ(outside.findings.size(), 1u);
  EXPECT_EQ(outside.findings[0].verdict, Verdict::pass) << "outside of a job it may be another user's";
  EXPECT_TRUE(outside.findings[0].culprits.empty());
  EXPECT_TRUE(judged([&](Inventory& inventory) {
                used(inventory);
                gpu_of(inventory, 4).files = {{"/dev/dri/renderD132", FileAccess::withheld}};
              }).findings.empty())
      << "a GPU of another job's";
}

TEST(DeviceVisibilityAmd, VendorsShareAFolderOfFilesAndEachHasItsRemedy) {
  const auto remedy_of = [](std::string_view vendor, std::string_view driver) {
    const auto judgement = judged([&](Inventory& inventory) {
      Device& gpu = gpu_of(inventory, 4);
      gpu.vendor_id = vendor;
      gpu.driver = driver;
      gpu.files = {{"/dev/dri/renderD132", FileAccess::missing}};
    });
    for (const Finding& finding : judgement.findings)
      if (finding.reason.find("/dev/dri/renderD132 is missing") != std::string::npos) return finding.remedy;
    return std::string("not found");
  };
  EXPECT_NE(remedy_of("1002", "amdgpu").find("dmesg: amdgpu, kfd"), std::string::npos);
  EXPECT_NE(remedy_of("8086", "xe").find("dmesg: i915, xe"), std::string::npos);
}

TEST(DeviceVisibilityAmd, OneCutInOtherParts) {
  expect_fault(
      [](Inventory& inventory) { gpu_of(inventory, 7).values["compute_partition"] = "CPX"; },
      "compute partition mode is CPX of GPU 0000:c7:00.0 (unique id 0x1007) on nid001, but SPX on 7 others there", 7,
      "one mode");
}

TEST(DeviceVisibilityAmd, ALinkThatOneEndMisses) {
  expect_fault(
      [](Inventory& inventory) { cut(inventory, 4, 1); },
      "GPU 0000:c4:00.0 (unique id 0x1004) on nid001 shows no xGMI link to 0000:c1:00.0 (unique id 0x1001), which "
      "shows one back",
      4, "drain nid001");
  expect_fault(
      [](Inventory& inventory) { link_of(inventory, 1, 4).up = 2; },
      "GPU 0000:c4:00.0 (unique id 0x1004) on nid001 shows 1 xGMI link to 0000:c1:00.0 (unique id 0x1001), which "
      "shows 2 back",
      4, "power-cycle");
}

TEST(DeviceVisibilityAmd, ALinkThatBothEndsMiss) {
  expect_fault(
      [](Inventory& inventory) {
        cut(inventory, 4, 1);
        cut(inventory, 1, 4);
      },
      "GPU 0000:c1:00.0 (unique id 0x1001) on nid001 has no xGMI link to 0000:c4:00.0 (unique id 0x1004), though both "
      "are "
      "in hive 0x77",
      1, "board or bridge");
}

TEST(DeviceVisibilityAmd, FewerLinksThanItsSiblings) {
  expect_fault(
      [](Inventory& inventory) {
        for (int other = 0; other < 8; ++other)
          for (int gpu = 0; gpu < 8; ++gpu)
            if (gpu != other) link_of(inventory, gpu, other).up = gpu == 5 || other == 5 ? 1 : 2;
      },
      "GPU 0000:c5:00.0 (unique id 0x1005) on nid001 has 7 xGMI links, 7 other GPUs there have 13", 5, "power-cycle");
}

TEST(DeviceVisibilityAmd, OneThatLeftItsHive) {
  expect_fault(
      [](Inventory& inventory) {
        gpu_of(inventory, 6).values.erase("xgmi_hive");
        gpu_of(inventory, 6).peers.clear();
        for (int other = 0; other < 8; ++other)
          if (other != 6) cut(inventory, other, 6);
      },
      "GPU 0000:c6:00.0 (unique id 0x1006) on nid001 is in no xGMI hive, while 7 other GPUs of its model there are", 6,
      "board or bridge");
}

TEST(DeviceVisibilityAmd, ALinkThatTheLibraryDoesNotKnow) {
  expect_fault([](Inventory& inventory) { gpu_of(inventory, 0).values["amd_smi_xgmi"] = all_but(0).substr(13); },
               "GPU 0000:c0:00.0 (unique id 0x1000) on nid001 has an xGMI link to 0000:c1:00.0 (unique id 0x1001) by "
               "the kernel, "
               "and none by AMD SMI",
               0, "drain");
}

/// Its GPUs have 6 or 7 links: none is less than the others.
TEST(DeviceVisibilityAmd, AnMi250xBoardIsNotUneven) {
  const auto judgement = judged([](Inventory& inventory) {
    for (int gpu = 0; gpu < 8; ++gpu)
      for (PeerLink& peer : gpu_of(inventory, gpu).peers) peer.up = 0;
    constexpr int links[][3] = {{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {0, 6, 2}, {2, 4, 2},
                                {0, 2, 1}, {1, 3, 1}, {1, 5, 1}, {3, 7, 1}, {4, 6, 1}, {5, 7, 1}};
    for (const auto& [from, to, count] : links)
      link_of(inventory, from, to).up = link_of(inventory, to, from).up = count;
  });
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
}

}  // namespace
}  // namespace muster
