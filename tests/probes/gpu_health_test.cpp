// What is made of GPUs that change under load, and of errors in the kernel's log.
#include "measure/gpu_health.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <functional>

#include "base/files.hpp"
#include "base/text.hpp"
#include "device/kernel_log.hpp"
#include "measure/load_watch.hpp"
#include "measure/node_devices.hpp"
#include "probes/four_gpus.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"
#include "stats/stats.hpp"
#include "system/this_machine.hpp"

namespace muster::gpu_copy {
namespace {

const ProbeSpec& copy_probe() {
  return *find_probe("gpu_copy");
}

/// A GPU that copies at 50 GB/s, and these facts about it.
Observation watched(const std::vector<Fact>& more, const std::string& model = "NVIDIA H100 80GB HBM3",
                    const std::string& seconds = {}) {
  const double rate = 50;
  Observation seen;
  seen.facts = {{"visible", "1"},
                {"tested", "0000:c1:00.0 GPU-1 " + model},
                {"checked", "7"},
                {"watched", "0000:c1:00.0" + (seconds.empty() ? "" : " " + seconds)}};
  for (const Fact& fact : more) seen.facts.push_back({fact.key, "0000:c1:00.0 " + fact.value});
  seen.readings.push_back({"host_to_device", {{"by", "engine"}}, summarize(std::span(&rate, 1))});
  return seen;
}

/// The verdict and reason of the only finding; empty: there is none.
std::string reported(const std::vector<Fact>& more, const std::string& model = "NVIDIA H100 80GB HBM3") {
  MadeCase made(copy_probe());
  made.rank("a", watched(more, model));
  const auto judgement = made.judge();
  if (judgement.findings.empty()) return "";
  EXPECT_EQ(judgement.findings.size(), 1u);
  EXPECT_FALSE(judgement.findings[0].remedy.empty());
  EXPECT_EQ(judgement.findings[0].culprits.at(0).name, "GPU 0000:c1:00.0");
  return fmt::format("{}: {}", to_string(judgement.findings[0].verdict), judgement.findings[0].reason);
}

TEST(GpuHealth, WhatCannotBeReadIsNoPass) {
  for (const auto& fact : {Fact{"grew", "dram_uncorrected one"}, Fact{"link_in_use", "3 5 8"}, Fact{"xid", "many"}})
    EXPECT_EQ(reported({fact}).rfind("unmeasured: ", 0), 0u) << fact.key << ": " << reported({fact});
}

TEST(GpuHealth, WhatIsWatchedAndWellIsEvidence) {
  MadeCase made(copy_probe());
  made.rank("a", watched({{"link_in_use", "5 5 16 16"}, {"throttled", "power_cap, idle"}}));
  const auto judgement = made.judge();
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.evidence.back(), "health of 1 GPU watched under load");
}

TEST(GpuHealth, CountersThatGrow) {
  EXPECT_EQ(reported({{"grew", "dram_uncorrected 1 3"}}),
            "fail: GPU 0000:c1:00.0 (GPU-1) on a had 2 uncorrected errors of its memory more under load (counter "
            "dram_uncorrected, 1 before)");
  EXPECT_EQ(reported({{"grew", "ras_gfx_uncorrected 0 1"}}),
            "fail: GPU 0000:c1:00.0 (GPU-1) on a had 1 uncorrected errors of block gfx more under load (counter "
            "ras_gfx_uncorrected, 0 before)");
  for (const char* key : {"ecc_corrected", "nvlink_crc_data", "ras_umc_corrected", "remapped_rows_corrected"})
    EXPECT_EQ(reported({{"grew", fmt::format("{} 0 5", key)}}).rfind("pass: ", 0), 0u) << key;
  for (const char* key : {"nvlink_replays", "nvlink_recoveries", "throttle_heat", "bad_pages_pending"})
    EXPECT_EQ(reported({{"grew", fmt::format("{} 0 5", key)}}).rfind("fail: ", 0), 0u) << key;
}

TEST(GpuHealth, ErrorsOfAnNvlinkAreOfThatLink) {
  MadeCase made(copy_probe());
  Observation seen = watched({{"grew", "nvlink_recoveries.3 1 6"}});
  seen.facts[3].value += " 2.000";
  made.rank("a", seen);
  EXPECT_EQ(made.judge().findings.at(0).reason,
            "GPU 0000:c1:00.0 (GPU-1) on a had 5 NVLink recoveries of link 3 more under load (counter "
            "nvlink_recoveries.3, 1 before, 2.5 per second)");
  EXPECT_EQ(reported({{"link_down", "NVLink 3"}}), "fail: GPU 0000:c1:00.0 (GPU-1) on a lost NVLink 3 under load");
}

/// The verdict and reason of the only finding about a link of a GPU with 18, watched for 10 seconds; empty: none.
std::string with_link(const std::string& grew, const std::string& other = {}) {
  MadeCase made(copy_probe());
  std::vector<Fact> facts{{"links_watched", "18"}, {"grew", grew}, {"symbol_ber", "3 2e-9"}};
  if (!other.empty()) facts.push_back({"grew", other});
  Observation seen = watched(facts);
  seen.facts[3].value += " 10.000";
  made.rank("a", seen);
  std::string text;
  for (const Finding& finding : made.judge().findings)
    if (finding.reason.find("of link 3") != std::string::npos)
      text = fmt::format("{}: {}", to_string(finding.verdict), finding.reason);
  return text;
}

TEST(GpuHealth, ErrorsOfAnNvlinkByTheirRateAndAgainstOtherLinks) {
  const std::string gpu = "GPU 0000:c1:00.0 (GPU-1) on a had ";
  EXPECT_EQ(with_link("nvlink_symbol_errors.3 5 55"),
            "fail: " + gpu +
                "50 NVLink symbol errors of link 3 more under load: 5 per second, limit 1 (counter "
                "nvlink_symbol_errors.3, 5 before, 5 per second, symbol BER 2e-9)");
  EXPECT_EQ(with_link("nvlink_crc_flit.3 0 50"),
            "fail: " + gpu +
                "50 NVLink CRC errors of link 3 more under load: 5 per second, the median of 18 links is 0 "
                "(counter nvlink_crc_flit.3, 0 before, 5 per second, symbol BER 2e-9)");
  for (const char* few : {"nvlink_symbol_errors.3 0 9", "nvlink_crc_data.3 0 9", "nvlink_crc_data.3 0 5"})
    EXPECT_EQ(with_link(few).substr(0, 6), "pass: ") << few;
  EXPECT_EQ(with_link("nvlink_fec_corrected.3 0 9000"), "") << "the rule";
  EXPECT_EQ(with_link("nvlink_fec_corrected.3 0 90000000").substr(0, 6), "pass: ") << "a note";
  EXPECT_EQ(with_link("nvlink_failed_recoveries.3 0 1").substr(0, 6), "fail: ");
  EXPECT_EQ(reported({{"link_down", "xGMI link 5"}}),
            "fail: GPU 0000:c1:00.0 (GPU-1) on a lost xGMI link 5 under load");
}

/// Errors of xGMI of two GPUs on one node that have a link, and of a third on another; each watched for 10 seconds.
TEST(GpuHealth, ErrorsOfXgmiNameTheLinksThatItCanBe) {
  const std::string other = "0000:c6:00.0";
  const auto judged = [&](const std::string& errors) {
    MadeCase made(copy_probe());
    for (int rank = 0; rank < 7; ++rank) {
      const std::string grew = rank < 2 ? "ras_xgmi_wafl_corrected 0 " + errors : "ras_umc_corrected 0 0";
      Observation seen = watched({{"grew", grew}, {"xgmi_peer", rank == 0 ? other : "0000:c1:00.0"}});
      for (Fact& fact : seen.facts) {
        if (fact.key == "watched") fact.value += " 10.000";
        if (rank == 1 && fact.value.starts_with("0000:c1:00.0 ")) fact.value.replace(0, other.size(), other);
      }
      if (rank == 0) seen.facts.push_back({"xgmi_peer", "0000:c1:00.0 0000:c9:00.0"});
      made.rank(rank < 2 ? "a" : fmt::format("n{}", rank), seen);
    }
    std::string text;
    for (const Finding& finding : made.judge().findings)
      if (finding.reason.find("0000:c1:00.0 (GPU-1) on a had") != std::string::npos)
        text = fmt::format("{}: {} ({})", to_string(finding.verdict), finding.reason, finding.remedy);
    return text;
  };
  const std::string links =
      "; the kernel counts them for all its links, which lead to 0000:c6:00.0 and 0000:c9:00.0; "
      "0000:c6:00.0 counted errors, too";
  EXPECT_EQ(judged("9"),
            "pass: GPU 0000:c1:00.0 (GPU-1) on a had 9 corrected errors of its xGMI links more under load (counter "
            "ras_xgmi_wafl_corrected, 0 before, 0.9 per second)" +
                links + " (watch whether it goes on: run this again)");
  EXPECT_EQ(judged("400"),
            "fail: GPU 0000:c1:00.0 (GPU-1) on a had 400 corrected errors of its xGMI links more under load: 40 per "
            "second, the median of 7 GPUs is 0.0 (counter ras_xgmi_wafl_corrected, 0 before)" +
                links +
                " (drain a, reset its GPUs, and have riser, bridge or board looked at if the errors come again)");
}

TEST(GpuHealth, CallsThatFailWithoutStoppingAnything) {
  EXPECT_EQ(reported({{"call_failed", "cuMemFree_v2 returned 719: gone"}}),
            "fail: GPU 0000:c1:00.0 (GPU-1) on a had a call fail: cuMemFree_v2 returned 719: gone");
  EXPECT_EQ(reported({{"call_lacked", "cuDeviceGetUuid_v2 returned 801: no"}}).substr(0, 6), "pass: ");
}

TEST(GpuHealth, LinksThatAllHaveErrorsAreAlike) {
  MadeCase made(copy_probe());
  std::vector<Fact> facts{{"links_watched", "6"}};
  for (int link = 0; link < 6; ++link) facts.push_back({"grew", fmt::format("nvlink_crc_flit.{} 0 50", link)});
  Observation seen = watched(facts);
  seen.facts[3].value += " 10.000";
  made.rank("a", seen);
  for (const Finding& finding : made.judge().findings) EXPECT_EQ(finding.verdict, Verdict::pass) << finding.reason;
}

TEST(GpuHealth, ReplaysUpToWhatTheLinkMayHave) {
  const auto with = [](const char* replays, const char* generation) {
    MadeCase made(copy_probe());
    made.rank("a", watched({{"link_in_use", fmt::format("{0} {0} 16 16", generation)}, {"grew", replays}}));
    return made.judge().findings.at(0).verdict;
  };
  EXPECT_EQ(with("pcie_replays 0 31", "5"), Verdict::pass);
  EXPECT_EQ(with("pcie_replays 0 32", "5"), Verdict::fail);
  EXPECT_EQ(with("pcie_replays 0 9", "3"), Verdict::fail);
}

TEST(GpuHealth, ThrottlingLinksAndXids) {
  EXPECT_EQ(reported({{"throttled", "hw_slowdown, hw_thermal, power_cap"}}),
            "fail: GPU 0000:c1:00.0 (GPU-1) on a was slowed down under load: hw_slowdown and hw_thermal");
  EXPECT_EQ(reported({{"link_in_use", "3 5 8 16"}}),
            "fail: GPU 0000:c1:00.0 (GPU-1) on a has its PCIe link at generation 3 x8 under load, generation 5 x16 is "
            "possible");
  EXPECT_EQ(reported({{"link_in_use", "1 5 16 16"}}, "NVIDIA GH200 120GB"), "") << "copies go over NVLink-C2C";
  EXPECT_EQ(reported({{"xid", "79"}, {"xid", "79"}}),
            "fail: GPU 0000:c1:00.0 (GPU-1) on a gave Xid 79 under load: it has fallen off the bus");
  EXPECT_EQ(reported({{"xid", "13"}}),
            "pass: GPU 0000:c1:00.0 (GPU-1) on a gave Xid 13 under load: an exception of the graphics engine");
}

TEST(GpuHealth, OthersSpoilTimesAndNotData) {
  MadeCase made(copy_probe());
  auto seen = watched({{"others", "4242 python (61440 MiB), 17 nvidia-cuda-mps-server (30 MiB)"}});
  const double capable = 200;
  seen.readings.push_back({"host_to_device.capable", {{"by", "engine"}}, summarize(std::span(&capable, 1))});
  made.rank("a", seen);
  expect_finding(made.judge(), Verdict::unmeasured,
                 "GPU 0000:c1:00.0 (GPU-1) on a is used by other programs, so that its times are invalid: 4242 python "
                 "(61440 MiB)");
  made.doubt("2 ranks share a core");
  EXPECT_EQ(made.judge().findings.at(0).verdict, Verdict::pass);
  seen.facts.push_back({"wrong", "0000:c1:00.0 - host_to_device engine bit 4 of byte 8 differs"});
  MadeCase wrong(copy_probe());
  wrong.rank("a", seen);
  EXPECT_EQ(wrong.judge().findings.at(0).verdict, Verdict::fail);
  EXPECT_EQ(reported({{"others", "17 nvidia-cuda-mps-server (30 MiB)"}}), "");
}

/// Of `count` GPUs, watched for so many seconds each; the first has more.
std::string with_corrected(int first, int others, int count, const std::string& seconds = "2.000") {
  MadeCase made(copy_probe());
  for (int i = 0; i < count; ++i) {
    Observation seen = watched({{"grew", fmt::format("dram_corrected 100 {}", 100 + (i == 0 ? first : others))}});
    for (Fact& fact : seen.facts)
      if (fact.key == "watched") fact.value += " " + seconds;
    made.rank(fmt::format("n{}", i), seen);
  }
  for (const Finding& finding : made.judge().findings)
    if (finding.verdict == Verdict::fail) return finding.reason;
  return "";
}

TEST(GpuHealth, CorrectedErrorsByTheirRate) {
  EXPECT_EQ(with_corrected(5, 0, 1), "");
  EXPECT_EQ(with_corrected(1000, 0, 1), "") << "500 per second, and nothing to compare with";
  EXPECT_EQ(with_corrected(4000, 0, 1),
            "GPU 0000:c1:00.0 (GPU-1) on n0 had 4000 corrected errors of its memory more under load: 2000 per second, "
            "limit 1000 (counter dram_corrected, 100 before)");
  EXPECT_NE(with_corrected(400, 2, 5).find("200 per second, the median of 5 GPUs is 1.0"), std::string::npos);
  EXPECT_EQ(with_corrected(400, 100, 5), "") << "all alike";
  EXPECT_EQ(with_corrected(10, 0, 5), "") << "few";
  EXPECT_EQ(with_corrected(9, 0, 5, "0.085"), "") << "few, within a moment";
  EXPECT_NE(with_corrected(1200, 0, 1, "0.085").find("1200 per second"), std::string::npos);
}

TEST(GpuHealth, XgmiLinksThatSleepAreNoFault) {
  using Values = GpuHealth::Values;
  const Values before{{"gpu_metrics", "1.7"}, {"xgmi_links_up", "0, 1, 3"}};
  const auto lost = [&](const Values& after, const Values& again) {
    const LostLinks links = lost_xgmi_links(before, after, [&] { return again; });
    return join(links.down, " ") + "; " + join(links.inactive, " ");
  };
  const Values off{{"gpu_metrics", "1.7"}, {"xgmi_links_up", "0, 1"}};
  const Values asleep{{"gpu_metrics", "1.7"}, {"xgmi_links_up", "0, 1"}, {"xgmi_links_inactive", "3"}};
  const Values both{{"gpu_metrics", "1.7"}, {"xgmi_links_up", "0"}, {"xgmi_links_inactive", "1"}};
  EXPECT_EQ(lost(off, off), "3; ");
  EXPECT_EQ(lost(asleep, asleep), "; 3");
  EXPECT_EQ(lost(asleep, off), "; 3") << "disabled in both looks, or it may have slept";
  EXPECT_EQ(lost(off, asleep), "; 3");
  EXPECT_EQ(lost(both, both), "3; 1");
  EXPECT_EQ(lost(both, asleep), "; 3");
  EXPECT_EQ(lost(asleep, before), "; ") << "awake again";
  EXPECT_EQ(lost(off, before), "; ");
  EXPECT_EQ(lost(asleep, {}), "; 3");
  EXPECT_EQ(lost({}, {}), "; ") << "no table";
  EXPECT_EQ(lost(before, {}), "; ");
  EXPECT_EQ(reported({{"link_inactive", "xGMI link 3"}}),
            "pass: GPU 0000:c1:00.0 (GPU-1) on a had xGMI link 3 inactive after the load: asleep or down, one state "
            "for its driver");
}

/// Two ranks that each test a partition of one GPU, as if each reported on the whole.
TEST(GpuHealth, PartitionsOfAGpuCountOnce) {
  MadeCase made(copy_probe());
  for (int rank = 0; rank < 6; ++rank) {
    Observation seen = watched({{"grew", rank < 2 ? "dram_corrected 0 400" : "dram_corrected 0 2"}, {"others", "7 x"}});
    for (Fact& fact : seen.facts)
      if (fact.key == "watched") fact.value += " 2.000";
    made.rank(rank < 2 ? "a" : fmt::format("n{}", rank), seen);
  }
  std::string reasons;
  int others = 0;
  for (const Finding& finding : made.judge().findings) {
    if (finding.verdict == Verdict::fail) reasons += finding.reason;
    others += finding.reason.find(" on a is used by other programs") != std::string::npos;
  }
  EXPECT_NE(reasons.find("the median of 5 GPUs is 1.0"), std::string::npos) << reasons;
  EXPECT_EQ(others, 1);
}

struct NoRecorder final : Recorder, CallRecorder {
  void step(std::string_view) override {}
  void iteration(std::uint64_t) override {}
  void peer(int) override {}
  void child_group(int) override {}
  void call(std::string_view) override {}
  void device(std::string_view) override {}
};

MachineDescription four_partitions() {
  MachineDescription machine = four_gpus({});
  machine.gpus.vendor = "amd";
  machine.gpus.model = "AMD Instinct MI300X";
  machine.gpus.id = "1002:74a1";
  machine.gpus.partitions = 4;
  machine.gpus.devices.resize(1);
  machine.gpus.devices[0].files.clear();
  for (int part = 0; part < 4; ++part)
    machine.gpus.devices[0].files.push_back(fmt::format("/dev/dri/renderD{}", 128 + part));
  return machine;
}

/// Of four ranks that test a partition each, those that report on the GPU: `rank address`.
std::string who_watched_the_whole() {
  std::vector<std::string> reported(4);
  const ProbeSpec& probe = *find_probe("gpu_memory");
  MadeCase made(probe, {{"bytes", "64KiB"}});
  run_ranks(4, [&](ThreadComm& comm) {
    RankPlace place;
    place.host = "a";
    place.rank = place.local_rank = comm.rank();
    place.local_size = 4;
    NoRecorder recorder;
    RunContext context{made.params(), place, recorder, comm, nullptr};
    const auto seen = probe.run(context);
    for (const Fact& fact : seen ? seen->facts : std::vector<Fact>())
      if (fact.key == "watched" || fact.key == "tested")
        reported[static_cast<std::size_t>(comm.rank())] +=
            fmt::format("{}:{} ", fact.key, fact.value.substr(0, fact.value.find(' ')));
  });
  return join(reported, "| ");
}

/// In a process of its own: `work` on that machine, its words on stderr.
[[noreturn]] void on_machine(const MachineDescription& machine, const std::function<std::string()>& work) {
  const fs::path folder = fs::temp_directory_path() / ("muster-health-" + std::to_string(::getpid()));
  ::setenv(env_drivers, MUSTER_STAND_INS, 1);
  RankPlace place;
  place.host = "a";
  if (!write_machine(machine, "a", folder) || !simulate(folder, place)) std::_Exit(2);
  std::fprintf(stderr, "%s\n", work().c_str());
  fs::remove_all(folder);
  std::fflush(stderr);
  std::_Exit(0);
}

TEST(GpuHealth, OneRankReportsOnAGpuWithPartitions) {
  EXPECT_EXIT(on_machine(four_partitions(), who_watched_the_whole), ::testing::ExitedWithCode(0),
              "tested:0000:c1:00.0/0 watched:0000:c1:00.0 [|] tested:0000:c1:00.0/1 [|] tested:0000:c1:00.0/2 [|] "
              "tested:0000:c1:00.0/3 ");
}

MachineDescription one_gpu(std::vector<std::string> lines) {
  MachineDescription machine = four_gpus(std::move(lines));
  machine.gpus.devices.resize(1);
  return machine;
}

/// What a watch of the only GPU's counters notes.
Observation noted_counters() {
  NoRecorder recorder;
  Observation seen;
  const auto inventory = read_inventory(root_of("/"));
  if (!inventory) return seen;
  const Device* gpu = inventory->gpu_at(*parse_pci_address("0000:c1:00.0"));
  if (gpu != nullptr) CounterWatch(*inventory, *gpu, CallWatch(recorder), recorder).end(seen);
  return seen;
}

/// What p2p says of PCIe replays.
std::string judged_replays(const Observation& seen) {
  MadeCase made(*find_probe("p2p"));
  made.rank("a", seen);
  std::string text;
  for (const Finding& finding : made.judge().findings)
    if (finding.reason.find("PCIe replays") != std::string::npos)
      text += fmt::format("{}: {}; ", to_string(finding.verdict), finding.reason);
  return text;
}

/// The link may sleep: that is not judged, and lowers no limit.
TEST(GpuHealth, ReplaysBesideOtherLoadAreHeldAgainstWhatTheLinkCanDo) {
  EXPECT_EXIT(
      on_machine(one_gpu({"later 0 pcie_replays 12 after 1", "set all pcie_generation 1"}),
                 [] {
                   Observation seen = noted_counters();
                   std::string facts;
                   for (const Fact& fact : seen.facts) facts += fact.key + " " + fact.value + ", ";
                   return judged_replays(seen) + facts;
                 }),
      ::testing::ExitedWithCode(0),
      "^pass: GPU 0000:c1:00.0 .* had 12 PCIe replays more under load [^;]*; tested .*link_able 0000:c1:00.0 32 "
      "16, ");
  const auto with = [](int replays, const char* seconds, const char* link) {
    return judged_replays(
               watched({{"grew", fmt::format("pcie_replays 0 {}", replays)}, {"link_able", link}}, "H100", seconds))
        .substr(0, 4);
  };
  EXPECT_EQ(with(12, "60.000", "32 16"), "pass");
  EXPECT_EQ(with(31, "2.000", "32 16"), "pass");
  EXPECT_EQ(with(32, "2.000", "32 16"), "fail");
  EXPECT_EQ(with(100, "60.000", "32 16"), "fail");
  EXPECT_EQ(with(100, "240.000", "32 16"), "pass") << "31 in a minute";
  EXPECT_EQ(with(124, "240.000", "32 16"), "fail");
  EXPECT_EQ(with(16, "60.000", "16 16"), "pass");
  EXPECT_EQ(with(17, "60.000", "16 16"), "fail");
}

/// Before the load NVML gives the GPU's temperature, after it nothing at all but that Xid.
std::vector<std::string> lines_of_a_gpu_that_vanishes() {
  std::vector<std::string> lines{"later 0 temperature none after 1", "xid 0 79"};
  for (const char* call : {"CurrPcieLinkWidth",
                           "MaxPcieLinkWidth",
                           "CurrPcieLinkGeneration",
                           "MaxPcieLinkGeneration",
                           "EccMode",
                           "TotalEccErrors",
                           "MemoryErrorCounter",
                           "RemappedRows",
                           "RetiredPages",
                           "RetiredPagesPendingStatus",
                           "PersistenceMode",
                           "ComputeMode",
                           "MigMode",
                           "GpuFabricInfoV",
                           "TemperatureThreshold",
                           "PowerUsage",
                           "EnforcedPowerLimit",
                           "ClockInfo",
                           "MaxClockInfo",
                           "CurrentClocksEventReasons",
                           "CurrentClocksThrottleReasons",
                           "MemoryInfo_v2",
                           "ComputeRunningProcesses_v3",
                           "NvLinkState",
                           "PcieReplayCounter"})
    lines.push_back(fmt::format("fail nvmlDeviceGet{} 3 0", call));
  return lines;
}

std::string xids_and_watched(const Observation& seen) {
  std::string text;
  for (const Fact& fact : seen.facts)
    if (fact.key == "xid" || fact.key == "watched") text += fact.key + " " + fact.value + ", ";
  return text;
}

TEST(GpuHealth, TheXidOfAGpuThatVanishesIsNoted) {
  EXPECT_EXIT(on_machine(one_gpu(lines_of_a_gpu_that_vanishes()), [] { return xids_and_watched(noted_counters()); }),
              ::testing::ExitedWithCode(0), "^xid 0000:c1:00.0 79, \n$");
}

TEST(GpuHealth, TheXidOfATestedGpuThatVanishesIsNoted) {
  const auto work = [] {
    const ProbeSpec& probe = *find_probe("gpu_memory");
    MadeCase made(probe, {{"bytes", "64KiB"}});
    std::string text;
    run_ranks(1, [&](ThreadComm& comm) {
      RankPlace place;
      place.host = "a";
      NoRecorder recorder;
      RunContext context{made.params(), place, recorder, comm, nullptr};
      if (const auto seen = probe.run(context)) text = xids_and_watched(*seen);
    });
    return text;
  };
  EXPECT_EXIT(on_machine(one_gpu(lines_of_a_gpu_that_vanishes()), work), ::testing::ExitedWithCode(0),
              "^xid 0000:c1:00.0 79, \n$");
}

TEST(KernelLogJudge, ErrorsAreNamedWithTheirRemedy) {
  KernelLog log;
  log.file = "/dev/kmsg";
  log.events = parse_kernel_log(
      "4,1,1,-;NVRM: Xid (PCI:0000:c1:00): 95, Uncontained\n4,2,2,-;NVRM: Xid (PCI:0000:c1:00): 95, once more\n"
      "4,3,3,-;NVRM: Xid (PCI:0000:c1:00): 31, a program\n4,4,4,-;amdgpu 0000:c6:00.0: amdgpu: GPU reset begin!\n"
      "4,5,5,-;NVRM: Xid (PCI:0000:d1:00): 79, of a GPU that is not there\n"
      "4,6,6,-;nvme nvme0: controller is down; will reset: CSTS=0xffffffff\n"
      "4,7,7,-;NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset "
      "Required)\n"
      "4,8,8,-;NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 "
      "(None)\n"
      "4,9,9,-;NVRM: Xid (PCI:0000:c1:00): 2, nothing uses it\n");
  Observation seen;
  visibility::add_kernel_log(log, false, seen);
  visibility::NodeView node;
  node.host = "a";
  Device& gpu = node.inventory.seen(DeviceKind::gpu, *parse_pci_address("0000:c1:00.0"), "pci");
  gpu.uuid = "GPU-1";
  static_cast<void>(node.inventory.seen(DeviceKind::gpu, *parse_pci_address("0000:c6:00.0"), "pci"));
  visibility::parse_kernel_facts(seen, node);
  visibility::Findings findings;
  visibility::judge_kernel_log({node}, findings);
  ASSERT_EQ(findings.size(), 6u);
  EXPECT_EQ(findings[0].verdict, Verdict::fail);
  EXPECT_EQ(findings[0].reason,
            "GPU 0000:c1:00.0 (GPU-1) on a: the kernel's log has Xid 95 (2 times): an uncontained memory error");
  EXPECT_NE(findings[0].remedy.find("reset the GPU"), std::string::npos);
  EXPECT_EQ(findings[0].culprits.at(0).name, "GPU 0000:c1:00.0 (GPU-1)");
  EXPECT_EQ(findings[1].verdict, Verdict::pass);
  EXPECT_EQ(findings[2].verdict, Verdict::pass);
  EXPECT_NE(findings[2].reason.find("GPU reset begin"), std::string::npos);
  EXPECT_EQ(findings[3].verdict, Verdict::fail);
  EXPECT_EQ(findings[3].culprits.at(0).name, "nvme0");
  EXPECT_EQ(findings[3].reason.rfind("nvme0 on a: the kernel's log has \"nvme nvme0: controller is down", 0), 0u);
  EXPECT_EQ(findings[4].verdict, Verdict::pass) << "its recovery is over: " << findings[4].reason;
  EXPECT_EQ(findings[5].verdict, Verdict::unmeasured);
}

TEST(KernelLogJudge, OverwrittenRecordsAreANote) {
  visibility::Nodes nodes;
  for (const char* host : {"a", "b", "c"}) {
    KernelLog log{"/dev/kmsg", {}, 30745, 0};
    if (*host == 'b') log.missing = 4;
    Observation seen;
    visibility::add_kernel_log(log, false, seen);
    nodes.emplace_back().host = host;
    visibility::parse_kernel_facts(seen, nodes.back());
  }
  visibility::Findings findings;
  visibility::judge_kernel_log(nodes, findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].verdict, Verdict::pass);
  EXPECT_EQ(findings[0].reason,
            "the kernel's log on a begins 30745 s after boot: earlier records are gone; 2 more nodes likewise");
  EXPECT_EQ(findings[1].verdict, Verdict::pass);
  EXPECT_EQ(findings[1].reason, "the kernel's log on b lacks 4 records after its first");
}

TEST(KernelLogJudge, AFloodOfNotesHidesNoFault) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += fmt::format(
        "4,1,1,-;EDAC MC{}: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 page:0x1)\n", i);
  KernelLog log{
      "/dev/kmsg",
      parse_kernel_log(text + "4,2,2,-;EDAC MC7: 1 UE memory read error on CPU_SrcID#1_DIMM#1 (channel:1 page:0x2)\n")};
  Observation seen;
  visibility::add_kernel_log(log, false, seen);
  visibility::NodeView node;
  visibility::parse_kernel_facts(seen, node);
  visibility::Findings findings;
  visibility::judge_kernel_log({node}, findings);
  EXPECT_EQ(findings.size(), 33u);
  EXPECT_EQ(findings.back().verdict, Verdict::fail);
}

TEST(KernelLogJudge, ALogThatNobodyMayReadIsSaidOnce) {
  visibility::Nodes nodes(2);
  visibility::Findings findings;
  Observation seen;
  visibility::add_kernel_log({}, false, seen);
  for (visibility::NodeView& node : nodes) {
    node.host = "a";
    static_cast<void>(node.inventory.seen(DeviceKind::gpu, *parse_pci_address("0000:c1:00.0"), "pci"));
    visibility::parse_kernel_facts(seen, node);
  }
  visibility::judge_kernel_log(nodes, findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].reason,
            "the kernel's log can't be read on a and 1 more: errors recorded only there (Xid) are not seen");
  EXPECT_EQ(findings[0].verdict, Verdict::pass);
  visibility::NodeView without_gpus;
  without_gpus.host = "b";
  visibility::parse_kernel_facts(seen, without_gpus);
  findings.clear();
  visibility::judge_kernel_log({without_gpus}, findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].reason,
            "the kernel's log can't be read on b: errors recorded only there (of memory, drives and file systems) are "
            "not seen");
}

}  // namespace
}  // namespace muster::gpu_copy
