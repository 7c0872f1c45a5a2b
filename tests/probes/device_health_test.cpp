// The judge's word on what NVIDIA's management library tells: inventories by hand, one thing of each wrong.
#include <fmt/format.h>
#include <functional>

#include "device/inventory.hpp"
#include "probes/judging.hpp"

namespace muster {
namespace {

using Texts = std::vector<std::string>;

/// As NVML tells of a healthy H100 in a node of `count`.
Inventory healthy(std::size_t count = 4) {
  Inventory inventory;
  inventory.sources = {"pci", "nvidia", "nvml"};
  inventory.versions = {{"kernel", "6.8"}, {"nvidia", "550.54"}, {"nvml", "12.550.54"}};
  inventory.libraries = {
      {"libnvidia-ml.so.1", LibraryState::working, "/usr/lib64/libnvidia-ml.so.1", "12.550.54", 0, "", {}}};
  for (std::size_t i = 0; i < count; ++i) {
    Device gpu;
    gpu.address = {0, static_cast<std::uint32_t>(0x10 + i), 0, 0};
    gpu.vendor_id = "10de";
    gpu.device_id = "2330";
    gpu.driver = "nvidia";
    gpu.name = "NVIDIA H100 80GB HBM3";
    gpu.uuid = fmt::format("GPU-{}", i);
    gpu.sources = {"pci", "nvidia", "nvml"};
    gpu.peers = {{{0, 5, 0, 0}, "nvlink", 18, 0, 478}};
    gpu.values = {
        {"ecc", "on"},        {"ecc_uncorrected", "0"},  {"throttled_by", "idle"},     {"persistence", "on"},
        {"mig", "off"},       {"fabric", "completed"},   {"fabric_status", "success"}, {"processes", "none"},
        {"pcie_width", "16"}, {"pcie_width_able", "16"}, {"row_remap_pending", "no"},  {"compute_mode", "default"}};
    inventory.devices.push_back(std::move(gpu));
  }
  return inventory;
}

ProbeJudgement judged(const Inventory& inventory, bool is_in_job = false) {
  auto facts = to_facts(inventory);
  if (is_in_job) facts.push_back({"job.SLURM_JOB_ID", "1"});
  MadeCase made(*find_probe("device_visibility"));
  made.rank("nid001", std::move(facts));
  return made.judge();
}

struct Case {
  std::string name;
  std::function<void(Inventory&)> change;
  std::string reason;  ///< a part of it
  Texts culprits;      ///< empty: a note, without
  std::string remedy;  ///< a part of it
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

void set(Inventory& inventory, std::size_t gpu, const std::string& key, const std::string& value) {
  inventory.devices[gpu].values[key] = value;
}

const Texts gpu_2 = {"GPU 0000:12:00.0 (GPU-2)"};
const Texts all_4 = {"GPU 0000:10:00.0 (GPU-0)", "GPU 0000:11:00.0 (GPU-1)", "GPU 0000:12:00.0 (GPU-2)",
                     "GPU 0000:13:00.0 (GPU-3)"};
const Texts library = {"nid001", "/usr/lib64/libnvidia-ml.so.1"};

std::vector<Case> of_value(const std::vector<std::tuple<std::string, std::string, std::string, std::string>>& list) {
  std::vector<Case> cases;
  for (const auto& [key, value, reason, remedy] : list)
    cases.push_back({key + "_" + value.substr(0, 12),
                     [key = key, value = value](Inventory& i) { set(i, 2, key, value); }, reason, gpu_2, remedy});
  return cases;
}

std::vector<Case> ills_of_one() {
  return of_value({
      {"ecc_uncorrected", "2", "2 uncorrected memory errors", "drain nid001 and reset"},
      {"sram_corrected", "10001", "10001 corrected errors of its SRAM since its driver was loaded, limit 10000",
       "memory test"},
      {"dram_corrected", "20000001", "20000001 corrected errors", "memory test"},
      {"remapped_rows_uncorrected", "513", "513 rows of its memory remapped", "replaced"},
      {"retired_pages_uncorrected", "63", "63 pages of its memory retired, limit 62", "replaced"},
      {"row_remap_pending", "yes", "a row of its memory waits", "--gpu-reset -i 0000:12:00.0"},
      {"row_remap_failed", "yes", "no spare is left", "replaced"},
      {"page_retirement_pending", "yes", "a page of its memory waits", "--gpu-reset"},
      {"throttled_by", "hw_slowdown, hw_thermal", "because of heat", "cooling"},
      {"throttled_by", "sw_thermal", "because of heat", "cooling"},
      {"throttled_by", "hw_slowdown, power_brake", "external power brake", "power supplies"},
      {"throttled_by", "hw_slowdown", "lowered by the hardware", "cooling, power supplies"},
      {"compute_mode", "prohibited", "its compute mode is prohibited", "nvidia-smi -c DEFAULT"},
      {"pcie_width", "8", "NVML reports a PCIe link x8 where x16 is possible", "riser"},
      {"fabric", "in_progress", "has not joined the NVLink fabric (state in_progress)", "nvidia-fabricmanager"},
      {"fabric_status", "999", "joining the NVLink fabric failed with status 999", "nvidia-fabricmanager"},
      {"fabric_bandwidth", "degraded", "degraded bandwidth", "nvidia-fabricmanager"},
      {"fabric_route", "unhealthy", "a route of the NVLink fabric is unhealthy", "nvidia-fabricmanager"},
      {"fabric_recovery", "in_progress", "routes of the NVLink fabric are being recovered", "reset its GPUs"},
      {"fabric_timeout", "in_recovery", "an access that timed out", "reset its GPUs"},
      {"fabric_configuration", "no partition", "configured wrong: no partition", "nmx-c"},
      {"mig_pending", "on", "MIG is off and will be on after a reset", "--gpu-reset"},
      {"nvml_uuid", "GPU-x", "the kernel's driver gives it UUID GPU-2, NVML GPU-x", "reboot"},
  });
}

std::vector<Case> ills() {
  std::vector<Case> cases = ills_of_one();
  const std::vector<Case> more = {
      {"nvml_error",
       [](Inventory& i) {
         set(i, 2, "nvml_error", "nvmlX returned 999: Unknown Error");
         set(i, 2, "nvml_code", "999");
       },
       "GPU 0000:12:00.0 on nid001: nvmlX returned 999: Unknown Error", gpu_2, "NVRM"},
      {"nvlinks_down",
       [](Inventory& i) {
         i.devices[2].peers = {{{0, 5, 0, 0}, "nvlink", 16, 0, 425}, {{}, "nvlink", 0, 2, 0}};
         set(i, 2, "nvlinks_down", "3, 7");
       },
       "2 of 18 NVLinks down (3, 7)", gpu_2, "Xid 74"},
      {"nvlinks_all_down_everywhere",
       [](Inventory& i) {
         for (Device& gpu : i.devices) gpu.peers = {{{}, "nvlink", 0, 18, 0}};
       },
       "18 of 18 NVLinks down", all_4, "Xid 74"},
      {"nvlinks_fewer", [](Inventory& i) { i.devices[2].peers[0].up = 17; },
       "17 NVLinks up, others of its model on this node have 18", gpu_2, "Xid 74"},
      {"nvlinks_none", [](Inventory& i) { i.devices[2].peers.clear(); }, "no NVLink is up", gpu_2, "Xid 74"},
      {"mig_unlike",
       [](Inventory& i) {
         set(i, 2, "mig", "on");
         set(i, 2, "mig_instances", "2");
       },
       "MIG is on, unlike on 3 of 4 GPUs of its model", gpu_2, "nvidia-smi -mig 0"},
      {"mig_empty",
       [](Inventory& i) {
         for (Device& gpu : i.devices) gpu.values["mig"] = "on", gpu.values["mig_instances"] = "2";
         set(i, 2, "mig_instances", "0");
       },
       "MIG is on and has no instance", gpu_2, "nvidia-smi mig -i 0000:12:00.0"},
      {"no_fabric_on_all",
       [](Inventory& i) {
         for (Device& gpu : i.devices) gpu.values["fabric"] = "not_started";
       },
       "GPUs 0000:10:00.0, 0000:11:00.0, 0000:12:00.0 and 0000:13:00.0 on nid001: it has not joined", all_4,
       "fabricmanager"},
      {"count",
       [](Inventory& i) {
         i.devices[2].sources = {"pci", "nvidia"};
       },
       "known to the kernel's driver, but not to NVML, which reports 3 GPUs", gpu_2, "nvidia-smi -L"},
      {"absent",
       [](Inventory& i) {
         i.libraries = {{"libnvidia-ml.so.1", LibraryState::absent, "", "", 0, "", {}}};
       },
       "nid001 has the kernel driver of NVIDIA, but no libnvidia-ml.so.1",
       {"nid001", "libnvidia-ml.so.1"},
       "install"},
      {"does_not_load",
       [](Inventory& i) {
         i.libraries[0].state = LibraryState::broken;
         i.libraries[0].error = "invalid ELF header";
       },
       "is unusable: invalid ELF header", library, "install the driver's libraries on nid001 again"},
      {"silent_refusal",
       [](Inventory& i) {
         i.libraries[0].error = "nvmlDeviceGetHandleByIndex_v2 returned 15: GPU is lost";
         i.libraries[0].code = 15;
       },
       "a GPU can't be asked: nvmlDeviceGetHandleByIndex_v2 returned 15", library, "Xid 79"},
  };
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

class Ill : public testing::TestWithParam<Case> {};

TEST_P(Ill, IsBlamedByAddressAndUuidWithARemedy) {
  Inventory inventory = healthy();
  GetParam().change(inventory);
  const auto judgement = judged(inventory);
  ASSERT_FALSE(judgement.findings.empty());
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_NE(finding.reason.find(GetParam().reason), std::string::npos) << finding.reason;
  EXPECT_NE(finding.remedy.find(GetParam().remedy), std::string::npos) << finding.remedy;
  EXPECT_NE(finding.reason.find("nid001"), std::string::npos) << finding.reason;
  Texts culprits;
  for (const Culprit& culprit : finding.culprits) culprits.push_back(culprit.name);
  EXPECT_EQ(culprits, GetParam().culprits);
  for (const Culprit& culprit : finding.culprits) EXPECT_EQ(culprit.node, "nid001");
  EXPECT_EQ(judgement.findings.size(), 1u) << judgement.findings.back().reason;
  EXPECT_TRUE(judgement.evidence.empty());
}

INSTANTIATE_TEST_SUITE_P(DeviceHealth, Ill, testing::ValuesIn(ills()), [](const testing::TestParamInfo<Case>& info) {
  std::string name = std::to_string(info.index) + "_" + info.param.name;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
});

TEST(DeviceHealth, AHealthyNodePassesWithEvidence) {
  const auto judgement = judged(healthy());
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  ASSERT_EQ(judgement.evidence.size(), 2u);
  EXPECT_EQ(judgement.evidence[0], "4 GPUs on 1 node (4x NVIDIA H100 80GB HBM3), seen by nvidia, nvml and pci");
  EXPECT_EQ(judgement.evidence[1], "NVML reports 4 GPUs: memory, clocks and modes are healthy, 72 NVLinks are up");
}

/// In a virtual machine no other end is visible; all alike may be what their slots have.
TEST(DeviceHealth, AllGpusWithFewerLanesInAVirtualMachineAreANote) {
  Inventory inventory = healthy();
  for (std::size_t i = 0; i < 4; ++i) set(inventory, i, "pcie_width", "8");
  const auto judgement = judged(inventory);
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
  EXPECT_NE(judgement.findings[0].reason.find("the other end of the link is not visible"), std::string::npos);
}

/// Reasons of the findings about IMEX, one for each node: its NVLink domain, and what it has of channels.
std::string imex_of(const std::vector<std::pair<std::string, std::string>>& nodes) {
  MadeCase made(*find_probe("device_visibility"));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Inventory inventory = healthy(2);
    for (std::size_t gpu = 0; gpu < 2; ++gpu) {
      inventory.devices[gpu].uuid = fmt::format("GPU-{}-{}", i, gpu);
      set(inventory, gpu, "fabric_domain", nodes[i].first);
      set(inventory, gpu, "imex", nodes[i].second);
    }
    made.rank(fmt::format("nid00{}", i + 1), to_facts(inventory));
  }
  std::string text;
  for (const Finding& finding : made.judge().findings)
    if (finding.reason.find("IMEX") != std::string::npos) text += finding.reason.substr(0, 57) + "; ";
  return text;
}

/// An idle rack has no channels, and a node alone needs none: neither is a fault.
TEST(DeviceHealth, ImexIsJudgedOnlyWhereADomainIsUsed) {
  EXPECT_EQ(imex_of({{"a/1", "none"}}), "");
  EXPECT_EQ(imex_of({{"a/1", "none"}, {"a/1", "none"}, {"a/1", "closed"}}), "");
  EXPECT_EQ(imex_of({{"a/1", "open"}, {"a/1", "open"}, {"a/1", "open"}}), "");
  EXPECT_EQ(imex_of({{"a/1", "open"}, {"a/1", "none"}}), "") << "which of two is right is not known";
  EXPECT_EQ(imex_of({{"a/1", "open"}, {"b/1", "open"}, {"c/1", "none"}}), "") << "alone in its domain";
  EXPECT_EQ(imex_of({{"a/1", "open"}, {"a/1", "closed"}, {"a/1", "open"}}),
            "nid002 has no IMEX channel that this job may open (/dev/n; ");
}

TEST(DeviceHealth, EachCodeOfInitHasItsRemedy) {
  for (const auto& [code, remedy] :
       {std::pair(4, "NVreg_DeviceFileMode"), std::pair(9, "modprobe nvidia"), std::pair(12, "strace"),
        std::pair(14, "infoROM"), std::pair(15, "Xid 79"), std::pair(16, "--gpu-reset"),
        std::pair(18, "reload the kernel module"), std::pair(999, "NVRM and Xid"), std::pair(77, "reboot it")}) {
    Inventory inventory = healthy();
    inventory.libraries[0].state = LibraryState::broken;
    inventory.libraries[0].code = code;
    inventory.libraries[0].error = fmt::format("nvmlInit_v2 returned {}: words", code);
    const auto judgement = judged(inventory);
    ASSERT_EQ(judgement.findings.size(), 1u);
    EXPECT_EQ(judgement.findings[0].reason,
              fmt::format("libnvidia-ml.so.1 on nid001 is unusable: nvmlInit_v2 returned {}: words", code));
    EXPECT_NE(judgement.findings[0].remedy.find(remedy), std::string::npos) << judgement.findings[0].remedy;
  }
}

TEST(DeviceHealth, AMismatchIsToldOnce) {
  Inventory inventory = healthy();
  inventory.versions["libnvidia-ml"] = "535.1";
  EXPECT_NE(judged(inventory).findings.at(0).reason.find("programs refuse to start"), std::string::npos);
  inventory.libraries[0].state = LibraryState::broken;
  inventory.libraries[0].code = 18;
  inventory.libraries[0].error = "nvmlInit_v2 returned 18: Driver/library version mismatch";
  EXPECT_EQ(judged(inventory).findings.size(), 1u);
}

TEST(DeviceHealth, WhatIsNoFaultIsANoteOrNothing) {
  for (const auto& [key, value] :
       {std::pair("throttled_by", "idle, application_clocks, power_cap, sync_boost"), std::pair("pcie_generation", "1"),
        std::pair("retired_pages_uncorrected", "62"), std::pair("sram_corrected", "10000"),
        std::pair("dram_corrected", "20000000"), std::pair("compute_mode", "exclusive_process"),
        std::pair("ecc_corrected", "5"), std::pair("processes", "77 nvidia-cuda-mps-server (30 MiB)")}) {
    Inventory inventory = healthy();
    set(inventory, 2, key, value);
    EXPECT_TRUE(judged(inventory, true).findings.empty()) << key;
  }
  for (const auto& [key, value] : {std::pair("persistence", "off"), std::pair("ecc", "off")}) {
    Inventory inventory = healthy();
    set(inventory, 2, key, value);
    const auto judgement = judged(inventory);
    ASSERT_EQ(judgement.findings.size(), 1u) << key;
    EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
    EXPECT_FALSE(judgement.evidence.empty()) << "a note takes nothing from a pass";
  }
  Inventory flapped = healthy();
  for (const auto& [key, value] : {std::pair("nvlink_recoveries", "5"), std::pair("nvlink_recoveries.10", "1"),
                                   std::pair("nvlink_recoveries.3", "4"), std::pair("nvlink_failed_recoveries", "0")})
    set(flapped, 2, key, value);
  const auto noted = judged(flapped);
  ASSERT_EQ(noted.findings.size(), 1u);
  EXPECT_EQ(noted.findings[0].verdict, Verdict::pass);
  EXPECT_EQ(noted.findings[0].reason,
            "GPU 0000:12:00.0 on nid001: 5 NVLink recoveries since its driver was loaded (link 3: 4, link 10: 1)");
  Inventory bridgeless = healthy(1);
  bridgeless.devices[0].name = "NVIDIA H100 NVL";
  bridgeless.devices[0].peers = {{{}, "nvlink", 0, 12, 0}};
  EXPECT_TRUE(judged(bridgeless).findings.empty());
}

TEST(DeviceHealth, ForeignProcessesAreAFaultInAJobAndANoteOutsideOfOne) {
  Inventory inventory = healthy();
  set(inventory, 2, "processes", "4242 python (61440 MiB), 77 nvidia-cuda-mps-server (30 MiB)");
  const auto in_job = judged(inventory, true);
  ASSERT_EQ(in_job.findings.size(), 1u);
  EXPECT_EQ(in_job.findings[0].verdict, Verdict::fail);
  EXPECT_EQ(
      in_job.findings[0].reason,
      "GPU 0000:12:00.0 on nid001: a process that is not of this run is computing on it: 4242 python (61440 MiB)");
  EXPECT_EQ(in_job.findings[0].culprits.at(0).name, gpu_2[0]);
  EXPECT_NE(in_job.findings[0].remedy.find("epilog"), std::string::npos);
  EXPECT_EQ(judged(inventory).findings.at(0).verdict, Verdict::pass);
}

TEST(DeviceHealth, AnOldLibraryIsSaid) {
  Inventory inventory = healthy();
  inventory.libraries[0].missing = {"nvmlDeviceGetRemappedRows"};
  const auto judgement = judged(inventory);
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
  EXPECT_NE(judgement.findings[0].reason.find("lacks nvmlDeviceGetRemappedRows"), std::string::npos);
}

TEST(DeviceHealth, WhatTheKernelAlreadySaidIsNotSaidAgain) {
  Inventory inventory = healthy();
  inventory.devices[2].is_lost = true;
  inventory.devices[2].sources = {"pci", "nvidia"};
  inventory.devices[2].values = {{"nvml_error", "nvmlDeviceGetHandleByPciBusId returned 15: GPU is lost"}};
  inventory.libraries[0].error = "nvmlDeviceGetHandleByIndex_v2 returned 15: GPU is lost";
  const auto judgement = judged(inventory);
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_NE(judgement.findings[0].reason.find("fallen off the bus"), std::string::npos);
  Inventory withheld = healthy();
  withheld.devices[2].files = {{"/dev/nvidia2", FileAccess::withheld}};
  withheld.devices[2].sources = {"pci", "nvidia"};
  EXPECT_TRUE(judged(withheld).findings.empty()) << "another job's";
}

}  // namespace
}  // namespace muster
