// NVML through its stand-in: what is read of healthy machines and of sick ones, and what becomes of a library that is
// absent, broken or old.
#include <array>
#include <fmt/format.h>

#include "device/nvidia/nvml_api.hpp"
#include "device/nvml_machine.hpp"

namespace muster {
namespace {

using Texts = std::vector<std::string>;

const Device& gpu_of(const Asked& reported, std::size_t index) {
  return reported.inventory.devices.at(index);
}

std::string value(const Device& device, const std::string& key) {
  const auto found = device.values.find(key);
  return found == device.values.end() ? "" : found->second;
}

/// Of kind `part`.
std::vector<Device> parts_of(const Asked& reported) {
  std::vector<Device> parts;
  for (const Device& device : reported.inventory.devices)
    if (device.kind == DeviceKind::part) parts.push_back(device);
  return parts;
}

TEST(Nvml, TheNumbersOfTheInterface) {
  EXPECT_EQ(nvml::version_word<nvml::MemoryV2>(2), 40u | 2u << 24);
  EXPECT_EQ(nvml::version_word<nvml::FabricV2>(2), 36u | 2u << 24);
  EXPECT_EQ(sizeof(nvml::MigAttributes), 40u);
  EXPECT_EQ(sizeof(nvml::Field), 40u);
  EXPECT_EQ(offsetof(nvml::PciInfo, spare), 68u);
  EXPECT_EQ(throttle_names(0), "");
  EXPECT_EQ(throttle_names(0x1ff),
            "idle, application_clocks, power_cap, hw_slowdown, sync_boost, sw_thermal, hw_thermal, power_brake, "
            "display_clocks");
}

TEST(Nvml, EightH100AreJoinedByAddressAndUuid) {
  const Asked reported = asked(shipped_machine("dgx-h100"));
  ASSERT_EQ(reported.inventory.libraries.size(), 1u);
  const LibraryReport& library = reported.inventory.libraries[0];
  EXPECT_EQ(library.state, LibraryState::working) << library.error;
  EXPECT_EQ(library.version, "12.550.127.08");
  EXPECT_EQ(library.missing, Texts{});
  EXPECT_EQ(reported.inventory.versions.at("cuda_driver"), "12.4");
  for (std::size_t i = 0; i < 8; ++i) {
    const Device& gpu = gpu_of(reported, i);
    EXPECT_EQ(gpu.kind, DeviceKind::gpu);
    EXPECT_EQ(gpu.sources, (Texts{"pci", "nvidia", "nvml"}));
    EXPECT_EQ(value(gpu, "nvml_index"), std::to_string(i));
    EXPECT_EQ(value(gpu, "nvml_uuid"), "") << "the same as the kernel's";
    EXPECT_EQ(value(gpu, "nvml_error"), "");
    EXPECT_EQ(value(gpu, "memory_total"), "81559");
    EXPECT_EQ(value(gpu, "ecc_uncorrected"), "0");
    EXPECT_EQ(value(gpu, "throttled_by"), "idle");
    EXPECT_EQ(value(gpu, "power"), "70.00");
    EXPECT_EQ(value(gpu, "fabric"), "completed");
    EXPECT_EQ(value(gpu, "mig"), "off");
    EXPECT_EQ(value(gpu, "processes"), "none");
    int up = 0;
    for (const PeerLink& peer : gpu.peers) up += peer.up;
    EXPECT_EQ(up, 18);
    ASSERT_EQ(gpu.peers.size(), 4u) << "switches";
    EXPECT_NEAR(gpu.peers[0].rate, 5 * 26.562, 1e-9);
  }
}

TEST(Nvml, OtherMachines) {
  const Asked a100 = asked(shipped_machine("perlmutter"));
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(gpu_of(a100, i).peers.size(), 3u);
    for (const PeerLink& peer : gpu_of(a100, i).peers) EXPECT_EQ(peer.up, 4);
    EXPECT_EQ(value(gpu_of(a100, i), "fabric"), "");
  }
  const Asked gh200 = asked(shipped_machine("vista"));
  EXPECT_TRUE(gpu_of(gh200, 0).peers.empty());
  EXPECT_TRUE(gpu_of(gh200, 0).is_seen_by("nvml"));
  const Asked nvl = asked(shipped_machine("zurada-gpu2h100"));
  ASSERT_EQ(gpu_of(nvl, 0).peers.size(), 1u);
  EXPECT_EQ(gpu_of(nvl, 0).peers[0].to, gpu_of(nvl, 1).address);
  EXPECT_EQ(gpu_of(nvl, 0).peers[0].up, 12);
}

/// In racks (NVL72), containers of B200 and virtual machines NVML gives no address of the switches.
TEST(Nvml, SwitchesThatAreNotOnThisBus) {
  const Asked reported = asked(shipped_machine("dgx-h100", {"set all nvlink_to FFFFFFFF:FF:FF.0"}));
  ASSERT_EQ(reported.inventory.devices.empty(), false);
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_EQ(gpu_of(reported, i).peers.size(), 1u);
    EXPECT_EQ(gpu_of(reported, i).peers[0].to, off_this_bus);
    EXPECT_EQ(gpu_of(reported, i).peers[0].up, 18);
  }
}

TEST(Nvml, MigInstancesAreDevicesWithAParent) {
  const Asked reported = asked(shipped_machine("dgx-h100", {"set 2 mig on", "set 2 mig_profiles 3g.40gb 1g.10gb"}));
  const auto parts = parts_of(reported);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(value(gpu_of(reported, 2), "mig_instances"), "2");
  EXPECT_EQ(parts[1].part, 1);
  EXPECT_EQ(parts[1].address, gpu_of(reported, 2).address);
  EXPECT_EQ(parts[1].parent, gpu_of(reported, 2).uuid);
  EXPECT_EQ(parts[1].uuid.substr(0, 5), "MIG-1");
  EXPECT_EQ(value(parts[0], "profile"), "3g.40gb");
  EXPECT_EQ(value(parts[1], "profile"), "1g.10gb");
  EXPECT_EQ(value(parts[1], "memory_total"), "10240");
  EXPECT_EQ(value(parts[1], "gpu_instance"), "2");
}

TEST(Nvml, EveryFieldOfTheFabricsHealth) {
  const std::pair<const char*, const char*> all[] = {{"0x1aa", ""},  // all told, all well
                                                     {"0", ""},      // nothing told
                                                     {"0x1a9", "bandwidth degraded; "},
                                                     {"0x1a6", "recovery in_progress; "},
                                                     {"0x19a", "route unhealthy; "},
                                                     {"0x16a", "timeout in_recovery; "},
                                                     {"0x4aa", "configuration no partition; "},
                                                     {"0xfaa", "configuration code 15; "}};
  std::vector<std::string> lines = {"set all fabric_cluster 0123456789abcdef0123456789abcdef",
                                    "set all fabric_clique 32766"};
  for (std::size_t i = 0; i < std::size(all); ++i)
    lines.push_back(fmt::format("set {} fabric_health {}", i, all[i].first));
  const Asked reported = asked(shipped_machine("dgx-h100", lines));
  for (std::size_t i = 0; i < std::size(all); ++i) {
    std::string seen;
    for (const auto& [key, text] : gpu_of(reported, i).values)
      if (key.rfind("fabric_", 0) == 0 && key != "fabric_status" && key != "fabric_domain")
        seen += key.substr(7) + " " + text + "; ";
    EXPECT_EQ(seen, all[i].second) << all[i].first;
    EXPECT_EQ(value(gpu_of(reported, i), "fabric_domain"), "0123456789abcdef0123456789abcdef/32766");
  }
}

/// Of a library in which one function after the other fails; with every code that drivers use, in turn.
TEST(Nvml, ACallThatFailsCostsNoGpu) {
  constexpr std::array codes = {1, 2, 3, 4, 6, 7, 9, 13, 15, 17, 999};
  const char* const calls[] = {"nvmlDeviceGetAttributes_v2",
                               "nvmlDeviceGetClockInfo",
                               "nvmlDeviceGetComputeMode",
                               "nvmlDeviceGetComputeRunningProcesses_v3",
                               "nvmlDeviceGetCurrPcieLinkGeneration",
                               "nvmlDeviceGetCurrPcieLinkWidth",
                               "nvmlDeviceGetCurrentClocksEventReasons",
                               "nvmlDeviceGetEccMode",
                               "nvmlDeviceGetEnforcedPowerLimit",
                               "nvmlDeviceGetFieldValues",
                               "nvmlDeviceGetGpuFabricInfoV",
                               "nvmlDeviceGetHandleByIndex_v2",
                               "nvmlDeviceGetMaxClockInfo",
                               "nvmlDeviceGetMaxPcieLinkGeneration",
                               "nvmlDeviceGetMaxPcieLinkWidth",
                               "nvmlDeviceGetMemoryErrorCounter",
                               "nvmlDeviceGetMemoryInfo_v2",
                               "nvmlDeviceGetMigMode",
                               "nvmlDeviceGetName",
                               "nvmlDeviceGetNvLinkErrorCounter",
                               "nvmlDeviceGetNvLinkRemotePciInfo_v2",
                               "nvmlDeviceGetNvLinkState",
                               "nvmlDeviceGetNvLinkVersion",
                               "nvmlDeviceGetPciInfo_v3",
                               "nvmlDeviceGetPcieReplayCounter",
                               "nvmlDeviceGetPersistenceMode",
                               "nvmlDeviceGetPowerUsage",
                               "nvmlDeviceGetRemappedRows",
                               "nvmlDeviceGetRetiredPages",
                               "nvmlDeviceGetRetiredPagesPendingStatus",
                               "nvmlDeviceGetSerial",
                               "nvmlDeviceGetTemperature",
                               "nvmlDeviceGetTemperatureThreshold",
                               "nvmlDeviceGetTotalEccErrors",
                               "nvmlDeviceGetUUID",
                               "nvmlDeviceGetVbiosVersion",
                               "nvmlSystemGetCudaDriverVersion_v2",
                               "nvmlSystemGetDriverVersion",
                               "nvmlSystemGetNVMLVersion",
                               "nvmlDeviceGetCount_v2"};
  // Eight in one process, each on another GPU; those about no GPU fail for all.
  constexpr std::size_t gpus = 8;
  for (std::size_t from = 0; from < std::size(calls); from += gpus) {
    std::vector<std::string> lines;
    std::string names;
    for (std::size_t i = from; i < std::min(from + gpus, std::size(calls)); ++i) {
      const std::string call = calls[i];
      const bool is_of_no_gpu =
          call.starts_with("nvmlInit") || call.starts_with("nvmlSystem") || call == "nvmlDeviceGetCount_v2";
      lines.push_back(fmt::format("fail {} {}{}", call, codes[i % codes.size()],
                                  is_of_no_gpu ? std::string() : fmt::format(" {}", i % gpus)));
      names += call + " ";
    }
    const Asked reported = asked(shipped_machine("dgx-h100", lines));
    std::size_t seen = 0;
    for (const Device& device : reported.inventory.devices)
      seen += device.kind == DeviceKind::gpu && device.is_seen_by("pci") && device.is_seen_by("nvidia");
    EXPECT_EQ(seen, gpus) << names;
    EXPECT_EQ(reported.inventory.libraries.size(), 1u) << names;
  }
}

/// An instance of an H200 has less memory than its name says.
TEST(Nvml, ProfilesAreCalledAsNvmlCallsThem) {
  const Asked reported =
      asked(shipped_machine("dgx-h100", {"set 2 mig on", "set 2 mig_profiles 1g.18gb 2g.35gb 1g.18gb+me",
                                         "set 2 mig_memory 16384:10 33280:10 16384:10"}));
  const auto parts = parts_of(reported);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(value(parts[0], "profile"), "1g.18gb");
  EXPECT_EQ(value(parts[1], "profile"), "2g.35gb");
  EXPECT_EQ(value(parts[2], "profile"), "1g.18gb+me");
}

TEST(Nvml, WhatIsWrongIsRead) {
  const Asked reported = asked(shipped_machine(
      "dgx-h100",
      {"set 5 ecc_uncorrected 2", "set 5 row_remap_pending yes", "set 5 throttle_bits 0xc8", "set 5 nvlinks_down 3 7",
       "set 5 processes 4242:2048 4243:10", "set 5 uuid GPU-other", "fail nvmlDeviceGetPowerUsage 999 5",
       "set 6 retired_pages_uncorrected 70", "set all fabric_state 2"}));
  const Device& gpu = gpu_of(reported, 5);
  EXPECT_EQ(value(gpu, "ecc_uncorrected"), "2");
  EXPECT_EQ(value(gpu, "row_remap_pending"), "yes");
  EXPECT_EQ(value(gpu, "throttled_by"), "hw_slowdown, hw_thermal, power_brake");
  EXPECT_EQ(value(gpu, "nvlinks_down"), "3, 7");
  EXPECT_EQ(value(gpu, "processes"), "4242 (2048 MiB), 4243 (10 MiB)");
  EXPECT_EQ(value(gpu, "nvml_uuid"), "GPU-other");
  EXPECT_EQ(value(gpu, "nvml_error"), "nvmlDeviceGetPowerUsage returned 999: Unknown Error");
  EXPECT_EQ(value(gpu, "fabric"), "in_progress");
  EXPECT_EQ(value(gpu_of(reported, 6), "retired_pages_uncorrected"), "70");
}

TEST(Nvml, CountersOfNvlink5AreReadByLink) {
  const Asked reported = asked(shipped_machine(
      "dgx-b200", {"set 5 nvlink_symbol_errors 12", "set 5 nvlink_symbol_ber 777", "set 5 nvlink_fec_corrected 40",
                   "set 5 nvlink_effective_errors 3", "set 5 nvlink_failed_recoveries 1"}));
  const Device& gpu = gpu_of(reported, 5);
  EXPECT_EQ(value(gpu, "nvlink_symbol_errors.0"), "12");
  EXPECT_EQ(value(gpu, "nvlink_symbol_ber.0"), "3e-9") << "3 x 256 + 9";
  EXPECT_EQ(value(gpu, "nvlink_fec_corrected.0"), "40");
  EXPECT_EQ(value(gpu, "nvlink_effective_errors.0"), "3");
  EXPECT_EQ(value(gpu, "nvlink_failed_recoveries.0"), "1");
  EXPECT_EQ(value(gpu, "nvlinks_up"), "18");
  EXPECT_EQ(value(gpu_of(reported, 4), "nvlink_symbol_errors"), "") << "its driver gives none";
}

/// The state of link 3 fails, and link 7 is down.
TEST(Nvml, ALinkWithoutAStateHidesNoOther) {
  const Asked reported = asked(
      shipped_machine("dgx-h100", {"set 5 nvlinks_without_state 3", "set 5 nvlinks_down 7", "set 5 nvlink_replays 4"}));
  const Device& gpu = gpu_of(reported, 5);
  EXPECT_EQ(value(gpu, "nvlinks_down"), "7");
  EXPECT_EQ(value(gpu, "nvlinks_up"), "16");
  EXPECT_EQ(value(gpu, "nvml_error"), "nvmlDeviceGetNvLinkState returned 999: Unknown Error");
  int up = 0;
  for (const PeerLink& peer : gpu.peers) up += peer.up;
  EXPECT_EQ(up, 16);
}

/// How often a call was made about the GPU of that number.
long calls_about(const Asked& reported, std::size_t gpu, const std::string& call) {
  const std::string address = to_string(gpu_of(reported, gpu).address);
  return std::count_if(reported.calls.begin(), reported.calls.end(), [&](const AskedCall& one) {
    return one.name == call && one.device.find(address) != std::string::npos;
  });
}

/// 18 links: each has a call for its rate.
TEST(Nvml, FieldsThatOneLinkLacksAreNotAskedOfTheOthers) {
  const Asked reported = asked(shipped_machine("dgx-h100", {"fail nvmlDeviceGetNvLinkState 15 6"}));
  const long with_rates = calls_about(reported, 5, "nvmlDeviceGetFieldValues");
  EXPECT_EQ(with_rates, 18 + 1);
  EXPECT_EQ(calls_about(reported, 6, "nvmlDeviceGetNvLinkState"), 2)
      << "it is lost: one for its links, one for their errors";
  EXPECT_EQ(value(gpu_of(reported, 6), "nvml_error"), "nvmlDeviceGetNvLinkState returned 15: GPU is lost");
}

TEST(Nvml, ALostGpuIsFoundByItsAddress) {
  const Asked reported = asked(shipped_machine("dgx-h100", {"fail nvmlDeviceGetHandleByIndex_v2 15 5"}));
  EXPECT_EQ(value(gpu_of(reported, 5), "nvml_error"), "nvmlDeviceGetHandleByPciBusId returned 15: GPU is lost");
  EXPECT_FALSE(gpu_of(reported, 5).is_seen_by("nvml"));
  EXPECT_TRUE(gpu_of(reported, 6).is_seen_by("nvml"));
  EXPECT_EQ(reported.inventory.libraries.at(0).code, 15);
}

TEST(Nvml, InitThatFailsIsBrokenWithCodeAndWords) {
  for (const auto& [code, words] : {std::pair(9, "Driver Not Loaded"), std::pair(18, "Driver/library version mismatch"),
                                    std::pair(999, "Unknown Error"), std::pair(4, "Insufficient Permissions")}) {
    const Asked reported = asked(shipped_machine("vista", {"fail nvmlInit_v2 " + std::to_string(code)}));
    ASSERT_EQ(reported.inventory.libraries.size(), 1u);
    const LibraryReport& library = reported.inventory.libraries[0];
    EXPECT_EQ(library.state, LibraryState::broken);
    EXPECT_EQ(library.code, code);
    EXPECT_EQ(library.error, "nvmlInit_v2 returned " + std::to_string(code) + ": " + words);
    EXPECT_FALSE(gpu_of(reported, 0).is_seen_by("nvml"));
    EXPECT_EQ(reported.calls.back().name, "nvmlInit_v2") << "nothing is asked of a library that refused";
  }
}

TEST(Nvml, AbsentOnANodeWithADriver) {
  const Asked reported =
      asked(shipped_machine("vista"), MUSTER_SOURCE_DIR "/simulation/machines");  // no libraries there
  ASSERT_EQ(reported.inventory.libraries.size(), 1u);
  EXPECT_EQ(reported.inventory.libraries[0].state, LibraryState::absent);
}

TEST(Nvml, WithoutNvidiaNobodyIsAsked) {
  const Asked reported = asked(shipped_machine("lumi-g"));
  for (const LibraryReport& library : reported.inventory.libraries)
    EXPECT_EQ(library.name.find("nvidia"), std::string::npos) << library.name;
  for (const AskedCall& call : reported.calls) EXPECT_EQ(call.name.find("nv"), std::string::npos) << call.name;
}

TEST(Nvml, AnOldDriverTellsLessAndSaysWhatItLacks) {
  const Asked reported = asked(shipped_machine("perlmutter", {"set 1 ecc_uncorrected 3", "set 1 processes 4242:7"}),
                               MUSTER_STAND_INS "/drivers-2018");
  const LibraryReport& library = reported.inventory.libraries.at(0);
  EXPECT_EQ(library.state, LibraryState::working) << library.error;
  EXPECT_NE(std::find(library.missing.begin(), library.missing.end(), "nvmlDeviceGetRemappedRows"),
            library.missing.end());
  const Device& gpu = gpu_of(reported, 1);
  EXPECT_TRUE(gpu.is_seen_by("nvml"));
  EXPECT_EQ(value(gpu, "ecc_uncorrected"), "3");
  EXPECT_EQ(value(gpu, "processes"), "4242 (7 MiB)");
  EXPECT_EQ(value(gpu, "memory_used"), "60");
  EXPECT_EQ(value(gpu, "row_remap_pending"), "");
}

TEST(Nvml, EveryCallIsToldOfBeforeItIsMade) {
  const Asked reported = asked(shipped_machine("vista"));
  for (const char* call :
       {"dlopen libnvidia-ml.so.1", "nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetPowerUsage", "nvmlShutdown"})
    EXPECT_TRUE(std::any_of(reported.calls.begin(), reported.calls.end(), [&](const AskedCall& one) {
      return one.name == call;
    })) << call;
}

TEST(Nvml, CallsAreAboutTheGpuThatIsAskedAndNoOther) {
  const Asked reported = asked(shipped_machine("perlmutter", {"fail nvmlDeviceGetHandleByIndex_v2 15 2"}));
  const auto about = [&](std::string_view call) {
    Texts devices;
    for (const AskedCall& one : reported.calls)
      if (one.name == call) devices.push_back(one.device);
    return devices;
  };
  const auto label = [&](std::size_t index) {
    const Device& gpu = gpu_of(reported, index);
    return "GPU " + to_string(gpu.address) + " (" + gpu.uuid + ")";
  };
  EXPECT_EQ(about("nvmlInit_v2"), Texts{""});
  EXPECT_EQ(about("nvmlDeviceGetHandleByIndex_v2"), (Texts{"", "", "", ""})) << "nobody knows yet which one it is";
  EXPECT_EQ(about("nvmlDeviceGetPowerUsage"), (Texts{label(0), label(1), label(3)}));
  EXPECT_EQ(about("nvmlDeviceGetHandleByPciBusId"), Texts{label(2)});
  EXPECT_EQ(about("nvmlShutdown"), Texts{""});
}

}  // namespace
}  // namespace muster
