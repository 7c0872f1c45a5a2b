// The whole probe on ranks that are threads, some of which do wrong.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <unistd.h>

#include "base/clock.hpp"
#include "device/inventory.hpp"
#include "probes/allreduce/measure.hpp"
#include "probes/judging.hpp"
#include "run/forwarding_comm.hpp"
#include "run/thread_comm.hpp"

namespace muster::allreduce {
namespace {

const ProbeSpec& probe() {
  return *find_probe("allreduce");
}

/// A communicator that does what it is told, but for what a test changes.
class BadComm final : public ForwardingComm {
 public:
  using ForwardingComm::ForwardingComm;

  std::function<void(std::span<std::byte>)> spoil_input = [](auto) {};
  std::function<void(std::span<std::byte>)> spoil_result = [](auto) {};
  std::function<void(ByteVector&)> spoil_gathered = [](auto&) {};
  std::function<void(ByteVector&)> spoil_broadcast = [](auto&) {};
  std::chrono::milliseconds late{0};

  Result<void> barrier() override {
    auto met = good_.barrier();
    std::this_thread::sleep_for(late);
    return met;
  }
  Result<ByteVector> broadcast(std::span<const std::byte> bytes, int root) override {
    auto reported = good_.broadcast(bytes, root);
    if (reported) spoil_broadcast(*reported);
    return reported;
  }
  Result<std::vector<ByteVector>> gather(std::span<const std::byte> bytes, int root) override {
    ByteVector mine(bytes.begin(), bytes.end());
    spoil_gathered(mine);
    return good_.gather(mine, root);
  }
  Result<void> all_reduce_sum(SumType type, std::span<const std::byte> in, std::span<std::byte> out) override {
    ByteVector mine(in.begin(), in.end());
    spoil_input(mine);
    auto done = good_.all_reduce_sum(type, mine, out);
    spoil_result(out);
    return done;
  }
};

using Spoil = std::function<void(BadComm&)>;
using Texts = std::vector<std::pair<std::string, std::string>>;

struct Outcome {
  ProbeJudgement judgement;
  std::vector<Observation> seen;
};

/// The probe from prepare to judge; `spoil` changes the communicator of one rank or of all.
Outcome run_probe(int ranks, const Texts& params, const Spoil& corrupt, std::string_view doubt = {},
                  const ExpectedNode& promised = no_expectations) {
  const MadeCase settings(probe(), params);
  Outcome outcome;
  outcome.seen.resize(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](ThreadComm& good) {
    BadComm comm(good);
    corrupt(comm);
    SilentRecorder recorder;
    const RankPlace place{.rank = comm.rank(), .world_size = ranks, .local_size = ranks, .host = "here"};
    auto state = probe().prepare({settings.params(), place, recorder, doubt});
    ASSERT_TRUE(state) << to_string(state.error());
    RunContext context{settings.params(), place, recorder, comm, state->get(), doubt, {}, promised};
    auto seen = probe().run(context);
    ASSERT_TRUE(seen) << to_string(seen.error());
    outcome.seen[static_cast<std::size_t>(comm.rank())] = std::move(*seen);
  });
  MadeCase made(probe(), params);
  made.doubt(std::string(doubt));
  for (const Observation& seen : outcome.seen) made.rank("here", seen);
  outcome.judgement = made.judge();
  return outcome;
}

Texts quick(const std::string& sizes, const std::string& types) {
  return {{"sizes", sizes}, {"types", types}, {"memory", "4096B"}, {"cap", "10ms"}, {"max_skew", "100"}};
}

void flip(std::span<std::byte> bytes, std::size_t bit) {
  bytes[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
}

TEST(AllreduceRun, RightSumsOfAllTypesPass) {
  for (const char* buffers : {"rotating", "reused"}) {
    Texts params = quick("8B,1KiB", "float,double,int32,int64");
    params.emplace_back("buffers", buffers);
    const Outcome outcome = run_probe(3, params, [](BadComm&) {});
    EXPECT_TRUE(outcome.judgement.findings.empty()) << outcome.judgement.findings[0].reason;
    const auto& evidence = outcome.judgement.evidence;
    ASSERT_FALSE(evidence.empty());
    const std::string& looked = evidence[evidence.size() - 2];
    EXPECT_EQ(looked.substr(0, 35), "3 ranks looked at every element of ");
    // On a busy machine some types have no clean timing, which the sentence then says.
    if (looked.find("had no clean timing") == std::string::npos) {
      ASSERT_EQ(evidence.size(), 4u);
      EXPECT_EQ(evidence[0].substr(0, 22), "busbw at 1KiB: double ");
      EXPECT_EQ(evidence[1].substr(0, 19), "time at 8B: double ");
    }
    for (const Observation& seen : outcome.seen) EXPECT_EQ(seen.readings.size(), 8u * 5);
  }
}

// A node that lost all of its GPUs, or a login node.
TEST(AllreduceRun, WithoutAnyGpuThatTheProfileExpectsNothingPassesOnHostMemory) {
  if (const auto here = read_inventory("/");
      !here || std::any_of(here->devices.begin(), here->devices.end(),
                           [](const Device& one) { return one.kind == DeviceKind::gpu; }))
    GTEST_SKIP() << "this machine has a GPU";
  ExpectedNode promised;
  promised.gpus = GpuExpectation{8, {}, {}};
  const auto judged = [&] {
    return run_probe(
               2, quick("8B", "int32"), [](BadComm&) {}, {}, promised)
        .judgement;
  };
  ASSERT_EQ(judged().findings.size(), 1u);
  EXPECT_EQ(judged().findings[0].verdict, Verdict::error);
  EXPECT_EQ(judged().findings[0].reason,
            "no data on GPUs: no GPU is there, 8 expected by the profile (rank 0 on here and rank 1 on here)");
  EXPECT_NE(judged().findings[0].remedy.find("device_visibility"), std::string::npos);
  promised.unverified["gpus"] = "from a data sheet";
  EXPECT_TRUE(judged().findings.empty()) << "nothing fails by what nobody has verified";
}

TEST(AllreduceRun, TypesThatMpiLacksAreLeftOutAndThatIsSaid) {
  const Outcome some = run_probe(3, quick("64B", "int32,half,bfloat16"), [](BadComm&) {});
  EXPECT_TRUE(some.judgement.findings.empty());
  ASSERT_FALSE(some.judgement.evidence.empty());
  EXPECT_EQ(some.judgement.evidence.back(),
            "half and bfloat16 are not summed: MPI has no such type, NCCL and RCCL have");
  EXPECT_EQ(some.seen[0].readings.size(), 5u);

  const Outcome all = run_probe(3, quick("64B", "half"), [](BadComm&) {});
  ASSERT_EQ(all.judgement.findings.size(), 1u);
  EXPECT_EQ(all.judgement.findings[0].verdict, Verdict::skip);
  EXPECT_EQ(all.judgement.findings[0].reason, "half is not summed: MPI has no such type, NCCL and RCCL have");
}

TEST(AllreduceRun, ATypeForGpusAndMemoryOfTheHostContradictEachOther) {
  for (const auto& [param, value] : Texts{{"on", "host"}, {"transport", "mpi"}}) {
    const MadeCase settings(probe(), {{"types", "int32,half"}, {param, value}});
    SilentRecorder recorder;
    const RankPlace place{.world_size = 2, .host = "here"};
    const auto state = probe().prepare({settings.params(), place, recorder});
    ASSERT_FALSE(state);
    EXPECT_EQ(to_string(state.error()), "types: half can't be summed with " + param + " = " + value +
                                            ": MPI has no such type, NCCL and RCCL have");
  }
}

TEST(AllreduceRun, AFlippedBitOfOneRanksResultIsFound) {
  const Outcome outcome = run_probe(3, quick("64B", "int32"), [](BadComm& comm) {
    if (comm.rank() == 2) comm.spoil_result = [](std::span<std::byte> out) { flip(out, 5 * 32 + 9); };
  });
  ASSERT_EQ(outcome.judgement.findings.size(), 1u);
  const Finding& finding = outcome.judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  const std::string start = "rank 2 on here has a wrong sum of int32 (64B): element 5 is ";
  EXPECT_EQ(finding.reason.substr(0, start.size()), start);
  EXPECT_NE(finding.reason.find("(bit 9 is flipped)"), std::string::npos) << finding.reason;
  EXPECT_EQ(finding.culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 2", "here", 2}}));
  EXPECT_TRUE(outcome.judgement.evidence.empty());
}

/// All sums use one buffer: what the last one leaves there shows a rare fault hardly ever.
Texts rare() {
  Texts params = quick("64B", "int32");
  params.emplace_back("buffers", "reused");
  params.emplace_back("verify", "100");
  return params;
}

void expect_rare(const Outcome& outcome, const std::string& start) {
  ASSERT_EQ(outcome.judgement.findings.size(), 1u) << "nothing was noticed";
  const std::string& reason = outcome.judgement.findings[0].reason;
  EXPECT_EQ(reason.substr(0, start.size()), start) << reason;
  EXPECT_NE(reason.find(" sums compared"), std::string::npos) << reason;
}

TEST(AllreduceRun, ARareWrongSumIsFound) {
  const Outcome outcome = run_probe(3, rare(), [](BadComm& comm) {
    if (comm.rank() == 2)
      comm.spoil_result = [n = 0](std::span<std::byte> out) mutable {
        if (++n % 97 == 0) flip(out, 5 * 32 + 9);
      };
  });
  expect_rare(outcome, "rank 2 on here has a wrong sum of int32 (64B): element 5 is ");
}

TEST(AllreduceRun, ASumThatLeavesTheOneBeforeInItsPlaceIsFound) {
  const Outcome outcome = run_probe(3, rare(), [](BadComm& comm) {
    if (comm.rank() == 2)
      comm.spoil_result = [n = 0, before = ByteVector()](std::span<std::byte> out) mutable {
        if (++n % 97 == 0 && before.size() == out.size()) std::copy(before.begin(), before.end(), out.begin());
        before.assign(out.begin(), out.end());
      };
  });
  expect_rare(outcome, "rank 2 on here has a wrong sum of int32 (64B): element 0 is ");
}

TEST(AllreduceRun, TheShareOfSumsComparedIsReported) {
  const auto evidence = run_probe(3, rare(), [](BadComm&) {}).judgement.evidence;
  ASSERT_FALSE(evidence.empty());
  EXPECT_EQ(evidence.back().rfind("sums compared whole: ", 0), 0u) << evidence.back();
  EXPECT_NE(evidence.back().find("; one wrong sum in "), std::string::npos) << evidence.back();
}

TEST(AllreduceRun, AContributionThatChangesIsWrongForAll) {
  const Outcome outcome = run_probe(3, quick("64B", "int64"), [](BadComm& comm) {
    if (comm.rank() == 1) comm.spoil_input = [](std::span<std::byte> in) { flip(in, 2 * 64 + 40); };
  });
  ASSERT_EQ(outcome.judgement.findings.size(), 1u);
  const std::string start = "all 3 ranks have a wrong sum of int64 (64B): element 2 is ";
  EXPECT_EQ(outcome.judgement.findings[0].reason.substr(0, start.size()), start);
}

TEST(AllreduceRun, AResultThatIsNeverWrittenIsNotWhatWasThere) {
  const Outcome outcome = run_probe(2, quick("8B", "float"), [](BadComm& comm) {
    if (comm.rank() == 1)
      comm.spoil_result = [](std::span<std::byte> out) { std::fill(out.begin(), out.end(), std::byte{0xa5}); };
  });
  ASSERT_EQ(outcome.judgement.findings.size(), 1u);
  EXPECT_EQ(outcome.judgement.findings[0].culprits.at(0).rank, 1);
}

TEST(AllreduceRun, BandwidthsAreTheTimesTurnedRound) {
  // On a machine with other work there may be no clean sample at the first try.
  Outcome outcome;
  for (int i = 0; i < 20 && (i == 0 || outcome.seen[2].fact("disturbed") != nullptr); ++i)
    outcome = run_probe(4, quick("800B", "double"), [](BadComm&) {});
  const auto& readings = outcome.seen[2].readings;
  ASSERT_EQ(readings.size(), 5u);
  ASSERT_EQ(readings[0].metric, "time");
  ASSERT_EQ(readings[1].metric, "algbw");
  ASSERT_EQ(readings[2].metric, "busbw");
  const Summary& time = readings[0].summary;
  ASSERT_GT(time.n, 0);
  EXPECT_DOUBLE_EQ(readings[1].summary.median, 800 / (time.median * 1e-6) * 1e-9);
  EXPECT_DOUBLE_EQ(readings[1].summary.min, 800 / (time.max * 1e-6) * 1e-9);
  EXPECT_DOUBLE_EQ(readings[2].summary.median, 1.5 * readings[1].summary.median) << "2 (n-1) / n";
  EXPECT_EQ(outcome.seen[0].readings[0], readings[0]) << "one time for all";
}

TEST(AllreduceRun, WhereTimingMeansNothingTheResultsAreStillLookedAt) {
  Texts params = quick("64B,1KiB", "int32");
  params.back().second = "0.5";
  const auto late = [](BadComm& comm) {
    if (comm.rank() == 0) comm.late = std::chrono::milliseconds(5);
  };
  const Outcome outcome = run_probe(3, params, late, "3 ranks share 2 cores");
  ASSERT_EQ(outcome.judgement.evidence.size(), 2u);
  EXPECT_EQ(outcome.judgement.evidence[1], "sums compared whole: all 1 of 64B and all 1 of 1KiB");
  EXPECT_EQ(outcome.judgement.evidence[0], "3 ranks looked at every element of 6 results: all exact");
}

TEST(AllreduceRun, OneRankMeasuresNothing) {
  const Outcome outcome = run_probe(1, quick("8B", "float"), [](BadComm&) {});
  EXPECT_EQ(outcome.judgement.findings.at(0).verdict, Verdict::skip);
  EXPECT_TRUE(outcome.seen[0].readings.empty());
}

TEST(AllreducePrepare, NothingToAddUpIsRefused) {
  for (const auto& params : {Texts{{"sizes", ""}}, Texts{{"types", ""}}}) {
    const MadeCase made(probe(), params);
    SilentRecorder recorder;
    const RankPlace place;
    const auto state = probe().prepare({made.params(), place, recorder});
    ASSERT_FALSE(state);
    EXPECT_EQ(to_string(state.error()), "sizes, types: neither may be empty");
  }
}

/// `measure` alone, with a watch that the test feeds.
struct Bench {
  Task task{SumType::float32, 64, 4};
  SamplingGoal goal{.interval = 0.0001, .cap = {0.4}, .steady = 1e9};
  std::function<void(BadComm&)> corrupt = [](BadComm&) {};
  /// Of rank 0: CPU time that others have used so far, asked after each batch.
  std::function<double()> foreign;
};

std::vector<Result<Measured>> measure_on(int ranks, Bench& bench) {
  std::vector<Result<Measured>> all(static_cast<std::size_t>(ranks), fail(ErrorKind::system, "", ""));
  const fs::path root = fs::temp_directory_path() / ("muster-allreduce-" + random_hex(8));
  fs::create_directories(root / "proc");
  const auto write_stat = [&](double foreign) {
    const long ticks = std::lround(foreign * static_cast<double>(::sysconf(_SC_CLK_TCK)));
    ASSERT_TRUE(write_file(root / "proc/stat", "cpu0 " + std::to_string(ticks) + " 0 0 0 0 0 0 0 0 0\n"));
  };
  write_stat(0);
  run_ranks(ranks, [&](ThreadComm& good) {
    BadComm comm(good);
    bench.corrupt(comm);
    SilentRecorder recorder;
    const auto out = p2p::Buffer::make(4096);
    const auto in = p2p::Buffer::make(4096);
    ContaminationWatch watch(*CpuMask::parse_list("0"), 0, root);
    const bool is_watched = comm.rank() == 0 && bench.foreign;
    p2p::Equipment with{comm, recorder, *out, *in, 1, is_watched ? &watch : nullptr, [&] {
                          write_stat(bench.foreign());
                          return std::optional<double>(0);
                        }};
    all[static_cast<std::size_t>(comm.rank())] = measure(with, bench.task, bench.goal);
  });
  fs::remove_all(root);
  return all;
}

TEST(AllreduceMeasure, OwnTimeAndSkewAreOfTheOperationsThatCount) {
  Bench bench;
  for (const auto& measured : measure_on(3, bench)) {
    ASSERT_TRUE(measured);
    EXPECT_EQ(measured->own.n, measured->time.summary.n);
    EXPECT_EQ(measured->skew.n, measured->time.summary.n);
    EXPECT_LT(measured->time.summary.n, static_cast<std::int64_t>(measured->operations)) << "warm-up is left out";
    EXPECT_GE(measured->skew.min, 0);
    EXPECT_EQ(measured->looked, 4u);
  }
}

TEST(AllreduceMeasure, WhoComesLateHasTheSkew) {
  Bench bench;
  bench.corrupt = [](BadComm& comm) {
    if (comm.rank() == 1) comm.late = std::chrono::milliseconds(10);
  };
  const auto all = measure_on(3, bench);
  for (const std::size_t rank : {0u, 1u, 2u}) {
    ASSERT_TRUE(all[rank]);
    EXPECT_GE(all[rank]->time.summary.median, 5000);
    EXPECT_EQ(all[rank]->skew.median > 0.5 * all[rank]->time.summary.median, rank == 1) << rank;
  }
  EXPECT_NE(all[0]->slowest, 1);
}

TEST(AllreduceMeasure, WhatOthersDisturbedCountsNowhere) {
  for (const bool is_enough_left : {true, false}) {
    Bench bench;
    if (is_enough_left)
      bench.goal.cap = {1.5};
    else
      bench.goal.least = bench.goal.most;
    const double begun = monotonic_seconds();
    bench.foreign = [&] { return std::min(0.15, monotonic_seconds() - begun); };
    const auto all = measure_on(2, bench);
    ASSERT_TRUE(all[0]);
    EXPECT_GT(all[0]->time.contaminated.n, 0) << "rank 1 is not watched, but what rank 0 says is enough";
    for (const auto& measured : all) {
      ASSERT_TRUE(measured);
      EXPECT_EQ(measured->time.is_disturbed, !is_enough_left);
      EXPECT_EQ(measured->time.summary.n > 0, is_enough_left);
      EXPECT_EQ(measured->own.n, measured->time.summary.n);
      EXPECT_EQ(measured->skew.n, measured->time.summary.n);
    }
  }
}

TEST(AllreduceMeasure, AReportThatIsCutShortIsNoTime) {
  Bench bench;
  bench.goal.cap = {0.01};
  bench.corrupt = [](BadComm& comm) {
    if (comm.rank() == 1) comm.spoil_gathered = [](ByteVector& bytes) { bytes.pop_back(); };
  };
  for (const auto& measured : measure_on(3, bench)) {
    ASSERT_TRUE(measured);
    EXPECT_EQ(measured->time.summary.n, 0) << "the one that is silent may have been the slowest";
    EXPECT_FALSE(measured->wrong);
    EXPECT_GT(measured->looked, 0u);
  }
}

TEST(AllreduceMeasure, ABroadcastOfAnotherLengthIsAnError) {
  Bench bench;
  bench.corrupt = [](BadComm& comm) { comm.spoil_broadcast = [](ByteVector& bytes) { bytes.resize(3); }; };
  for (const auto& measured : measure_on(2, bench)) {
    ASSERT_FALSE(measured);
    EXPECT_EQ(to_string(measured.error()), "broadcast: rank 0 sent data of another length");
  }
}

}  // namespace
}  // namespace muster::allreduce
