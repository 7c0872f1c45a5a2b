// Who tests which GPU, the judges of gpu_copy and gpu_memory, and gpu_copy on GPUs that execute on the host.
#include <cstdlib>
#include <fmt/format.h>

#include "base/files.hpp"
#include "measure/node_gpus.hpp"
#include "measure/peak_bandwidth.hpp"
#include "model/machine_description.hpp"
#include "probes/four_gpus.hpp"
#include "probes/gpu_copy/repeated_samples.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"
#include "stats/stats.hpp"
#include "system/this_machine.hpp"

namespace muster::gpu_copy {
namespace {

const ProbeSpec& probe() {
  return *find_probe("gpu_copy");
}

TEST(GpuSchedule, EveryRankTestsItsOwnWhereAllSeeAll) {
  const std::vector<std::string> all{"a", "b", "c"};
  const auto schedule = schedule_of({{0, 0, all}, {0, 1, all}, {0, 2, all}}, false);
  ASSERT_EQ(schedule.nodes.size(), 1u);
  EXPECT_EQ(schedule.nodes[0], (std::vector<Turn>{{0, "a", ""}, {1, "b", ""}, {2, "c", ""}}));
}

TEST(GpuSchedule, OneRankTestsAllAndTwoRanksShareOneGpu) {
  EXPECT_EQ(schedule_of({{0, 0, {"a", "b"}}}, false).nodes[0], (std::vector<Turn>{{0, "a", ""}, {0, "b", ""}}));
  EXPECT_EQ(schedule_of({{0, 0, {"a"}}, {0, 1, {"a"}}}, false).nodes[0], (std::vector<Turn>{{0, "a", ""}}));
}

TEST(GpuSchedule, PairsAreDoneByWhoeverSeesBoth) {
  const auto schedule = schedule_of({{0, 0, {"a"}}, {0, 1, {"b", "a"}}, {1, 0, {"x"}}}, true);
  EXPECT_EQ(schedule.nodes[0], (std::vector<Turn>{{0, "a", ""}, {1, "b", ""}, {1, "a", "b"}, {1, "b", "a"}}));
  EXPECT_EQ(schedule.nodes[1], (std::vector<Turn>{{2, "x", ""}}));
  EXPECT_EQ(schedule.turns(), 4u);
  const auto apart = schedule_of({{0, 0, {"a"}}, {0, 1, {"b"}}}, true);
  EXPECT_EQ(apart.nodes[0].size(), 2u);
  EXPECT_EQ(apart.apart[0], 2u);
  EXPECT_EQ(apart.owner(0, "c"), -1);
}

TEST(GpuSchedule, OneRankReportsOnAGpuWithPartitions) {
  const auto schedule = schedule_of({{0, 0, {"G/10", "w"}}, {0, 1, {"G/2"}}, {0, 2, {"G/3"}}}, false);
  EXPECT_EQ(schedule.reporting_rank(0, "G"), 1) << "of the lowest by number";
  EXPECT_EQ(schedule.reporting_rank(0, "w"), 0);
  EXPECT_EQ(schedule.reporting_rank(0, "none"), -1);
}

Observation seen_on(const std::string& address, double in, double capable) {
  Observation seen;
  seen.facts = {{"visible", "1"}, {"tested", address + " GPU-1 H100"}, {"checked", "7"}, {"link.pcie", "1"}};
  seen.readings.push_back({"host_to_device", {{"by", "engine"}}, summarize(std::span(&in, 1))});
  if (capable > 0)
    seen.readings.push_back({"host_to_device.capable", {{"by", "engine"}}, summarize(std::span(&capable, 1))});
  return seen;
}

TEST(GpuCopy, AHealthyGpuPasses) {
  MadeCase made(probe());
  made.rank("a", seen_on("0000:c1:00.0", 50, 63));
  const auto judgement = made.judge();
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_EQ(judgement.evidence.at(0), "host_to_device 50 GB/s (by engine)");
  EXPECT_EQ(judgement.evidence.at(1), "7 series of copies on 1 GPU: all compared data was right");
}

TEST(GpuCopy, FarBelowItsLinkIsAFinding) {
  MadeCase made(probe());
  made.rank("a", seen_on("0000:c1:00.0", 20, 63));
  expect_finding(
      made.judge(), Verdict::fail,
      "copies from host to device of GPU 0000:c1:00.0 (GPU-1) on a run at 20 GB/s, below 60 % of the 63 GB/s "
      "that its PCIe link can do");
  made.doubt("2 ranks share a core");
  EXPECT_TRUE(made.judge().findings.empty());
}

/// Looks at the medians of `rates` in turn; 0 is a look without samples.
struct LooksAt {
  std::vector<double> rates;
  double least = 0;
  std::size_t taken = 1;
  int pauses = 0;

  static Summary summary(double rate) { return rate > 0 ? summarize(std::span(&rate, 1)) : Summary{}; }
  Result<Looks> all() {
    return look_again(
        summary(rates[0]), least, [&]() -> Result<Summary> { return summary(rates.at(taken++)); }, [&] { ++pauses; });
  }
};

TEST(GpuCopyLooks, TwoThatAgreeAreEnough) {
  LooksAt looks{{55.1, 54.8}, 37.8};
  const auto seen = looks.all();
  ASSERT_TRUE(seen);
  EXPECT_EQ(looks.taken, 2u);
  EXPECT_EQ(looks.pauses, 0);
  EXPECT_EQ(seen->best.median, 55.1);
  EXPECT_FALSE(seen->have_varied());
}

// As seen on an H100 whose neighbours used the same switch: docs/measurements/gpu.md.
TEST(GpuCopyLooks, ADisturbedLookIsNotTheLinks) {
  LooksAt first{{24.9, 55.1, 55.0}, 37.8};
  LooksAt second{{55.1, 23.5}, 37.8};
  for (LooksAt* looks : {&first, &second}) {
    const auto seen = looks->all();
    ASSERT_TRUE(seen);
    EXPECT_EQ(looks->taken, looks->rates.size());
    EXPECT_EQ(seen->best.median, 55.1);
    EXPECT_TRUE(seen->have_varied());
  }
}

TEST(GpuCopyLooks, ASlowLinkIsLookedAtMoreOftenAndStaysSlow) {
  LooksAt slow{{24.9, 25.0, 24.8, 25.1, 24.9}, 37.8};
  const auto seen = slow.all();
  ASSERT_TRUE(seen);
  EXPECT_EQ(slow.taken, 5u);
  EXPECT_EQ(slow.pauses, 3);
  EXPECT_LT(seen->best.median, 25.2);
  EXPECT_FALSE(seen->have_varied());
  LooksAt longer{{24.9, 25.0, 55.0, 55.0}, 37.8};
  EXPECT_EQ(longer.all()->best.median, 55.0);
}

TEST(GpuCopyLooks, LooksWithoutSamplesCountForNothing) {
  LooksAt one{{0, 50, 50}, 0};
  EXPECT_EQ(one.all()->best.median, 50);
  LooksAt none{{0, 0, 0, 0, 0}, 0};
  const auto seen = none.all();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->best.n, 0);
  EXPECT_FALSE(seen->have_varied());
}

TEST(GpuCopy, LooksThatVariedAreNotedBesideAPass) {
  auto seen = seen_on("0000:c1:00.0", 55, 63);
  seen.facts.push_back({"varied", "0000:c1:00.0 - host_to_device engine 24.9 55.0"});
  MadeCase made(probe());
  made.rank("a", seen);
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
  EXPECT_EQ(judgement.findings[0].reason,
            "copies by engine from host to device of GPU 0000:c1:00.0 (GPU-1) on a varied from 24.9 to 55.0 GB/s; the "
            "highest rate is judged");
  EXPECT_EQ(judgement.evidence.at(1), "7 series of copies on 1 GPU: all compared data was right");
}

void add(Observation& seen, const std::string& metric, Labels where, double value, double capable) {
  seen.readings.push_back({metric, where, summarize(std::span(&value, 1))});
  seen.readings.push_back({metric + ".capable", where, summarize(std::span(&capable, 1))});
}

TEST(GpuCopy, MemoryThatIsNotNearIsSaid) {
  const auto labels = [](int near, const char* pages) {
    Labels where{{"device", "0000:c1:00.0"}, {"to", "x"}};
    add_pages(near, pages, where);
    return where;
  };
  EXPECT_EQ(labels(1, "0"), (Labels{{"device", "0000:c1:00.0"}, {"pages", "0"}, {"to", "x"}}));
  for (const auto& where : {labels(1, "1"), labels(-1, "0"), labels(1, "")}) EXPECT_EQ(where.size(), 2u);
}

TEST(GpuCopy, BelowItsMemoryIsAFinding) {
  auto seen = seen_on("0000:c1:00.0", 50, 63);
  add(seen, "local_copy", {{"by", "kernel"}, {"model", "H100 SXM"}}, 1600, 3352);
  MadeCase made(probe());
  made.rank("a", seen);
  expect_finding(
      made.judge(), Verdict::fail,
      "copies within the device of GPU 0000:c1:00.0 (GPU-1) on a run at 1600 GB/s, below 50 % of the 3352 GB/s "
      "that its memory can do");
}

TEST(GpuCopy, LinksBetweenGpus) {
  const auto judged = [](const char* by, const char* link, double value, double capable) {
    auto seen = seen_on("0000:c1:00.0", 50, 63);
    add(seen, "peer_copy", {{"by", by}, {"device", "0000:c1:00.0"}, {"link", link}, {"to", "0000:c2:00.0"}}, value,
        capable);
    MadeCase made(probe());
    made.rank("a", seen);
    const auto judgement = made.judge();
    return judgement.findings.empty() ? std::string() : judgement.findings[0].reason;
  };
  EXPECT_EQ(judged("engine", "nvlink", 390, 478), "");
  EXPECT_EQ(
      judged("engine", "nvlink", 200, 478),
      "copies to GPU 0000:c2:00.0 of GPU 0000:c1:00.0 (GPU-1) on a run at 200 GB/s, below 50 % of the 478 GB/s that "
      "the way over NVLink can do");
  // An engine uses one link or more of several.
  EXPECT_EQ(judged("engine", "xgmi", 140, 50), "");
  EXPECT_NE(judged("kernel", "xgmi", 60, 200), "");
  // Through root complexes anything may be well, and nobody may have told of an NVLink.
  EXPECT_EQ(judged("engine", "pcie", 10, 63), "");
  EXPECT_EQ(judged("engine", "pcie", 80, 63), "");
}

TEST(GpuCopy, SlowerThanItsLikeIsAFinding) {
  MadeCase made(probe());
  for (const double rate : {50.0, 51.0, 30.0, 49.0}) made.rank("a", seen_on("0000:c1:00.0", rate, 0));
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(
      judgement.findings[0].reason,
      "copies by engine from host to device of GPU 0000:c1:00.0 (GPU-1) on a run at 30 GB/s, those of 3 like it at "
      "49.5 GB/s in the median");
  EXPECT_EQ(judgement.findings[0].culprits.at(0).rank, 2);
}

TEST(GpuCopy, WrongDataNamesTheGpuAndTheByte) {
  auto seen = seen_on("0000:c1:00.0", 50, 63);
  seen.facts.push_back({"wrong", "0000:c1:00.0 - host_to_device engine bit 4 of byte 8 differs"});
  MadeCase made(probe());
  made.rank("a", seen);
  const auto judgement = made.judge();
  expect_finding(
      judgement, Verdict::fail,
      "a copy by engine from host to device of GPU 0000:c1:00.0 (GPU-1) on a gave wrong data: bit 4 of byte 8 "
      "differs");
  EXPECT_EQ(judgement.findings[0].culprits.at(0).name, "GPU 0000:c1:00.0");
}

MadeCase three_with(std::vector<Fact> bad) {
  MadeCase made(probe());
  for (int i = 0; i < 3; ++i) {
    auto seen = seen_on("gpu" + std::to_string(i), 50, 63);
    for (const Fact& fact : bad)
      if (fact.value.rfind("gpu" + std::to_string(i), 0) == 0) seen.facts.push_back(fact);
    made.rank("a", seen);
  }
  return made;
}

TEST(GpuCopy, ADeviceThatFailsExplainsThePairsWithIt) {
  const auto judgement =
      three_with(
          {{"failed", "gpu0 gpu1 lost"}, {"failed", "gpu1 - call returned 719: gone"}, {"failed", "gpu2 gpu1 lost"}})
          .judge();
  expect_finding(judgement, Verdict::fail,
                 "GPU gpu1 (GPU-1) on a failed while copying: call returned 719: gone; 2 copy kinds more with it");
  ASSERT_EQ(judgement.findings[0].culprits.size(), 1u);
  EXPECT_EQ(judgement.findings[0].culprits[0].name, "GPU gpu1");
}

TEST(GpuCopy, BadPairsBlameTheGpuThatAllOfThemShare) {
  expect_finding(
      three_with({{"wrong", "gpu0 gpu2 peer_copy engine bit 1"}, {"wrong", "gpu1 gpu2 peer_copy engine bit 1"}})
          .judge(),
      Verdict::fail,
      "a copy by engine from GPU gpu0 of GPU gpu2 (GPU-1) on a gave wrong data: bit 1; 1 copy kind more with it");
  // One pair, and one pair both ways: it may be either, or what lies between.
  const auto one = three_with({{"failed", "gpu0 gpu2 lost"}}).judge();
  expect_finding(one, Verdict::fail, "GPU gpu0 (GPU-1) failed while copying to GPU gpu2 (GPU-1) on a: lost");
  EXPECT_EQ(one.findings[0].culprits.size(), 2u);
  EXPECT_EQ(three_with({{"failed", "gpu0 gpu2 lost"}, {"failed", "gpu2 gpu0 lost"}}).judge().findings.size(), 2u);
}

TEST(GpuCopy, SilenceIsNoPass) {
  Observation seen = seen_on("0000:c1:00.0", 50, 0);
  seen.facts.erase(seen.facts.begin() + 2);
  MadeCase made(probe());
  made.rank("a", seen);
  expect_finding(made.judge(), Verdict::unmeasured, "rank 0 on a did not report what it verified");
  MadeCase silent(probe());
  silent.rank("a", std::optional<Observation>());
  EXPECT_TRUE(silent.judge().evidence.empty());
}

std::vector<Fact> blind(const Inventory& inventory, std::vector<Fact> more = {}) {
  auto facts = to_facts(inventory);
  facts.push_back({"visible", "0"});
  for (Fact& fact : more) facts.push_back(std::move(fact));
  return facts;
}

Inventory with_gpu(LibraryState state, int code = 0) {
  Inventory inventory;
  Device& gpu = inventory.seen(DeviceKind::gpu, {0, 0xc1, 0, 0}, "pci");
  gpu.vendor_id = "10de";
  LibraryReport library;
  library.name = "libcuda.so.1";
  library.state = state;
  library.code = code;
  if (state == LibraryState::broken) library.error = fmt::format("cuInit returned {}: words", code);
  inventory.libraries.push_back(library);
  return inventory;
}

TEST(GpuCopy, WithoutGpusThereIsNothingToDo) {
  MadeCase made(probe());
  made.rank("a", blind({}));
  expect_finding(made.judge(), Verdict::skip, "no GPU on this node and none expected");
}

TEST(GpuCopy, WhereTheProfileExpectsGpusTheirAbsenceFollowsFromThat) {
  MadeCase made(probe());
  ExpectedNode node;
  node.gpus = GpuExpectation{4, {}, {}};
  made.rank("a", blind({})).node(node);
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail, "a has no GPU, 4 expected by the profile");
  EXPECT_EQ(judgement.findings[0].subject, Subject::mapping);
}

TEST(GpuCopy, ALibraryIsAbsentBrokenOrShowsNothing) {
  MadeCase absent(probe());
  absent.rank("a", blind(with_gpu(LibraryState::absent)));
  expect_finding(absent.judge(), Verdict::fail, "libcuda.so.1 is not on a, which has 1 GPU");
  MadeCase broken(probe());
  broken.rank("a", blind(with_gpu(LibraryState::broken, 803), {{"remedy.nvidia", "reboot"}}));
  const auto judgement = broken.judge();
  expect_finding(judgement, Verdict::fail, "libcuda.so.1 on a is unusable: cuInit returned 803: words");
  EXPECT_EQ(judgement.findings[0].remedy, "reboot");
  MadeCase hidden(probe());
  hidden.rank("a", blind(with_gpu(LibraryState::working)));
  expect_finding(hidden.judge(), Verdict::unmeasured, "no runtime shows any of the 1 GPU of a to rank 0");
}

TEST(GpuCopy, ALibraryWithoutGpusIsNoFault) {
  Inventory inventory = with_gpu(LibraryState::broken, 100);
  inventory.devices.clear();
  MadeCase made(probe());
  made.rank("a", blind(inventory));
  expect_finding(made.judge(), Verdict::skip, "no GPU on this node and none expected");
}

TEST(GpuMemory, BadWordsAndWhatWasCovered) {
  const ProbeSpec& memory = *find_probe("gpu_memory");
  std::vector<Fact> facts{
      {"visible", "1"}, {"tested", "0000:c1:00.0 GPU-1 H100"}, {"covered", "0000:c1:00.0 1073741824 4294967296"}};
  MadeCase good(memory);
  good.rank("a", facts);
  expect_evidence(good.judge(), "1 GiB of 4 GiB in 1 GPU kept every pattern");
  auto silent = facts;
  silent.pop_back();
  MadeCase half(memory);
  half.rank("a", silent);
  expect_finding(half.judge(), Verdict::unmeasured, "1 of 1 GPUs did not report what was tested");
  facts.push_back({"wrong", "0000:c1:00.0 1 word wrong"});
  facts.push_back({"wrong", "0000:c1:00.0 1 word wrong again"});
  MadeCase bad(memory);
  bad.rank("a", facts);
  expect_finding(bad.judge(), Verdict::fail, "memory of GPU 0000:c1:00.0 (GPU-1) on a is bad: 1 word wrong");
}

/// Runs gpu_copy on it, one rank with all GPUs, and judges. To be called in a process of its own: it stays on that
/// machine.
ProbeJudgement judged_on(std::vector<std::string> lines) {
  const fs::path folder = fs::temp_directory_path() / ("muster-gpus-" + std::to_string(::getpid()));
  ::setenv(env_drivers, MUSTER_STAND_INS, 1);
  ProbeJudgement judgement;
  const auto written = write_machine(four_gpus(std::move(lines)), "a", folder);
  RankPlace place;
  place.host = "a";
  if (written && simulate(folder, place)) {
    MadeCase made(probe(), {{"bytes", "64KiB"}, {"cap", "5ms"}});
    run_ranks(1, [&](ThreadComm& comm) {
      SilentRecorder recorder;
      RunContext context{made.params(), place, recorder, comm, nullptr};
      const auto seen = probe().run(context);
      if (seen) made.rank("a", *seen);
    });
    judgement = made.judge();
  }
  fs::remove_all(folder);
  return judgement;
}

void announce(const ProbeJudgement& judgement) {
  for (const std::string& sentence : judgement.evidence) std::fprintf(stderr, "%s\n", sentence.c_str());
  for (const Finding& finding : judgement.findings) std::fprintf(stderr, "%s\n", finding.reason.c_str());
}

TEST(GpuCopyOnStandIns, HealthyOnesPassWithTheirRates) {
  EXPECT_EXIT(
      {
        const auto judgement = judged_on({});
        announce(judgement);
        std::exit(judgement.findings.empty() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "host_to_device 25 GB/s.*\n.*local_copy 2000 GB/s");
}

TEST(GpuCopyOnStandIns, WhereLaunchesWaitForTheirKernelNothingIsGated) {
  EXPECT_EXIT(
      {
        ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
        const auto judgement = judged_on({});
        announce(judgement);
        std::exit(judgement.findings.empty() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      "host_to_device 25 GB/s.*local_copy 2000 GB/s(.|\n)*timed without a gate: launches return only when");
}

/// The library's own words then are of a device; the fault is not.
TEST(GpuCopyOnStandIns, AListThatHidesEveryGpuIsTheCulpritNotTheNode) {
  EXPECT_EXIT(
      {
        ::setenv("CUDA_VISIBLE_DEVICES", "0,0", 1);
        const auto judgement = judged_on({"fail cuInit 101"});
        announce(judgement);
        bool only = !judgement.findings.empty();
        for (const Finding& finding : judgement.findings)
          only &= finding.culprits.size() == 1 && finding.culprits[0].kind == CulpritKind::setting &&
                  finding.culprits[0].name == "CUDA_VISIBLE_DEVICES";
        std::exit(only ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "libcuda.so.1 on a is unusable: cuInit returned 101");
}

TEST(GpuCopyOnStandIns, ASlowGpuIsNamedAndNoOther) {
  EXPECT_EXIT(
      {
        const auto judgement = judged_on({"set 2 slow 3"});
        announce(judgement);
        bool only = !judgement.findings.empty();
        for (const Finding& finding : judgement.findings)
          only &= finding.reason.find("0000:c3:00.0") != std::string::npos;
        std::exit(only ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      "copies from host to device of GPU 0000:c3:00.0 .GPU-[-0-9a-f]*. on a run at 8.333 GB/s, below 60 % of the 31.5");
}

TEST(GpuCopyOnStandIns, OthersOnAGpuMakeItsTimesWorthless) {
  EXPECT_EXIT(
      {
        const auto judgement = judged_on({"set 2 processes 4242:61440", "set 2 slow 3"});
        announce(judgement);
        std::exit(judgement.findings.size() == 1 && judgement.findings[0].verdict == Verdict::unmeasured ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      "GPU 0000:c3:00.0 .* is used by other programs, so that its times are invalid: 4242");
}

}  // namespace
}  // namespace muster::gpu_copy
