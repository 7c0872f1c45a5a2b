// Votes, the known answer, the judge of gpu_compute, and the probe on GPUs that execute on the host.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

#include "base/files.hpp"
#include "model/machine_description.hpp"
#include "probes/four_gpus.hpp"
#include "probes/gpu_compute/answer.hpp"
#include "probes/gpu_compute/vote_codec.hpp"
#include "probes/gpu_compute/votes.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"
#include "stats/stats.hpp"
#include "system/this_machine.hpp"

namespace muster::gpu_compute {
namespace {

const ProbeSpec& probe() {
  return *find_probe("gpu_compute");
}

ResultVotes got(std::uint64_t print, int times = 3) {
  ResultVotes ballot;
  ballot.prints[print].seen = times;
  return ballot;
}
ResultVotes known(std::uint64_t print, bool is_right) {
  ResultVotes ballot = got(print);
  ++(is_right ? ballot.prints[print].right : ballot.prints[print].wrong);
  return ballot;
}
Decision decided(const std::vector<ResultVotes>& ballots) {
  return decide(std::span<const ResultVotes>(ballots));
}

TEST(Votes, OneOfAHundredIsTheMinority) {
  std::vector<ResultVotes> ballots(99, got(7));
  ballots.insert(ballots.begin() + 31, got(8));
  const auto decision = decided(ballots);
  EXPECT_EQ(decision.right, 7u);
  EXPECT_EQ(decision.votes, 99);
  EXPECT_FALSE(decision.is_answered);
  for (std::size_t i = 0; i < ballots.size(); ++i) EXPECT_EQ(is_suspect(ballots[i], decision), i == 31) << i;
}

TEST(Votes, ResultsAreCountedAndNeverAveraged) {
  // The mean of these is 2^63, which nobody got; the largest is not the winner either.
  const std::uint64_t top = ~std::uint64_t{0};
  EXPECT_EQ(decided({got(0), got(top), got(0), got(top), got(5), got(5), got(5)}).right, 5u);
}

TEST(Votes, TwoThatDifferAreATieWithoutAKnownAnswer) {
  const auto decision = decided({got(1), got(2)});
  EXPECT_FALSE(decision.right);
  EXPECT_EQ(decision.tied, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_TRUE(is_suspect(got(1), decision));
  EXPECT_EQ(decided({got(1), got(2), got(1), got(2), got(3)}).tied, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(decided({got(1), got(2), got(3)}).tied.size(), 3u);
}

TEST(Votes, TheKnownAnswerDecidesATieAndOutweighsNumbers) {
  EXPECT_EQ(decided({got(1), known(2, true)}).right, 2u);
  // What it refuted stands back, even where nothing was confirmed.
  EXPECT_EQ(decided({known(1, false), got(2)}).right, 2u);
  const auto decision = decided({known(1, false), known(1, false), known(1, false), known(2, true)});
  EXPECT_EQ(decision.right, 2u);
  EXPECT_TRUE(decision.is_answered);
  EXPECT_EQ(decision.votes, 1);
}

TEST(Votes, WhereAllIsRefutedNothingIsRight) {
  const auto decision = decided({known(1, false), known(1, false)});
  EXPECT_FALSE(decision.right);
  EXPECT_TRUE(decision.is_refuted);
  EXPECT_TRUE(is_suspect(known(1, false), decision));
}

TEST(Votes, AHostThatChecksWronglyIsOutvoted) {
  const auto decision = decided({known(1, true), known(1, true), known(1, false)});
  EXPECT_EQ(decision.right, 1u);
  EXPECT_FALSE(is_suspect(known(1, false), decision));
}

TEST(Votes, AGpuVotesOnceForWhatItUsuallyGot) {
  ResultVotes mixed = got(7, 8);
  mixed.prints[9].seen = 2;
  mixed.prints[11].seen = 1;
  EXPECT_EQ(mixed.usual(), 7u);
  EXPECT_EQ(mixed.products(), 11);
  const auto decision = decided({mixed, got(7), got(7)});
  EXPECT_EQ(decision.right, 7u);
  EXPECT_EQ(decision.votes, 3);
  EXPECT_TRUE(is_suspect(mixed, decision));
  EXPECT_EQ(mixed.other_than(7), 3);
  // Many wrong results of one GPU are one vote, and one that can't make up its mind has none.
  EXPECT_EQ(decided({got(9, 1000), got(7, 1), got(7, 1)}).right, 7u);
  ResultVotes torn = got(7, 2);
  torn.prints[8].seen = 2;
  EXPECT_FALSE(torn.usual());
  EXPECT_EQ(decided({torn, got(8), got(8), got(7)}).right, 8u);
}

TEST(Votes, SilentOnesHaveNone) {
  EXPECT_FALSE(decided({}).right);
  EXPECT_FALSE(decided({ResultVotes(), ResultVotes()}).right);
  const auto decision = decided({ResultVotes(), got(7), got(7), ResultVotes()});
  EXPECT_EQ(decision.votes, 2);
  EXPECT_FALSE(is_suspect(ResultVotes(), decision));
  EXPECT_FALSE(is_suspect(ResultVotes(), decided({got(1), got(2)})));
}

TEST(Ballots, TravelAsFactsAndDamageIsLeftOut) {
  Ballots all;
  ResultVotes ballot = known(0xfedcba9876543210U, true);
  ballot.prints[3].seen = 1;
  auto facts = print_facts("0000:c1:00.0", NumberType::bfloat16, ballot);
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[1].value, "0000:c1:00.0 bfloat16 fedcba9876543210 3 1 0");
  for (const char* bad : {"", "a b", "a b 1 2 3 4 5", "a b zz 1 0 0", "a b 1 -1 0 0", "a b 1 1x 0 0",
                          "a b 11111111111111111 1 0 0", "a b 1 99999999999 0 0", "a b 1 2000000000 0 0"})
    facts.push_back({"print", bad});
  facts.push_back({"other", "a b 1 1 1 1"});
  add_ballots(4, facts, all);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all["bfloat16"].at({4, "0000:c1:00.0"}).prints, ballot.prints);
}

constexpr int small_size = 48;

std::vector<float> product_of(std::uint64_t seed, int n) {
  std::vector<float> c(static_cast<std::size_t>(n * n));
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      int sum = 0;
      for (int k = 0; k < n; ++k)
        sum += number_at(seed_of_a(seed), static_cast<std::uint64_t>(row * n + k)) *
               number_at(seed_of_b(seed), static_cast<std::uint64_t>(k * n + column));
      c[static_cast<std::size_t>(row * n + column)] = static_cast<float>(sum);
    }
  return c;
}

TEST(KnownAnswer, TakesTheProductAndNoneWithABitFlipped) {
  const Answer answer(1, small_size);
  auto c = product_of(1, small_size);
  const auto look = [&] {
    return answer.wrong_row(reinterpret_cast<const std::byte*>(c.data()), 0, small_size, NumberType::float32);
  };
  EXPECT_FALSE(look());
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::size_t at = 48 * 17 + bit;
    const float before = c[at];
    std::uint32_t bits;
    std::memcpy(&bits, &c[at], 4);
    bits ^= 1U << bit;
    std::memcpy(&c[at], &bits, 4);
    // The sign of nothing is none.
    if (before != 0 || bit != 31) {
      EXPECT_EQ(look(), 17) << "bit " << bit;
    }
    c[at] = before;
  }
  std::swap(c[5], c[6]);
  EXPECT_EQ(look(), 0);
  std::swap(c[5], c[6]);
  // In parts, as it comes from the device.
  EXPECT_FALSE(answer.wrong_row(reinterpret_cast<const std::byte*>(c.data() + 48 * 20), 20, 5, NumberType::float32));
  EXPECT_EQ(answer.wrong_row(reinterpret_cast<const std::byte*>(c.data() + 48 * 20), 21, 5, NumberType::float32), 21);
}

TEST(KnownAnswer, OfOtherTypesAndOtherSeeds) {
  const auto c = product_of(9, small_size);
  std::vector<double> doubles(c.begin(), c.end());
  std::vector<std::int32_t> whole;
  for (const float value : c) whole.push_back(static_cast<std::int32_t>(value));
  const Answer answer(9, small_size);
  const auto look = [&](const Answer& by, const auto& values, NumberType type) {
    return by.wrong_row(reinterpret_cast<const std::byte*>(values.data()), 0, small_size, type);
  };
  EXPECT_FALSE(look(answer, doubles, NumberType::float64));
  EXPECT_FALSE(look(answer, whole, NumberType::int8));
  EXPECT_FALSE(look(answer, c, NumberType::bfloat16));
  EXPECT_EQ(look(Answer(8, small_size), c, NumberType::bfloat16), 0);
  whole[48 * 3] += 16;
  EXPECT_EQ(look(answer, whole, NumberType::int8), 3);
  doubles[48 * 4] = std::nan("");
  EXPECT_EQ(look(answer, doubles, NumberType::float64), 4);
}

/// A rank with one GPU of that address, and the prints that it told.
Observation reported(const std::string& address, const std::vector<std::string>& prints, double rate = 0) {
  Observation seen;
  seen.facts = {{"visible", "1"}, {"tested", address + " GPU-1 H100"}};
  for (const std::string& print : prints) seen.facts.push_back({"print", address + " " + print});
  if (rate > 0)
    seen.readings.push_back({"rate", {{"by", "blas"}, {"type", "bfloat16"}}, summarize(std::span(&rate, 1))});
  return seen;
}

TEST(GpuCompute, TheSameBitsPassWithTheirRate) {
  MadeCase made(probe());
  for (const double rate : {700.0, 720.0, 710.0}) made.rank("a", reported("gpu", {"bfloat16 7 3 1 0"}, rate));
  expect_evidence(made.judge(), "9 products of bfloat16 on 3 GPUs: the same bits, and the known answer",
                  {"rate 710 TFLOP/s (by blas)"});
}

TEST(GpuCompute, TheMinorityOfTheWholeJobIsNamed) {
  MadeCase made(probe());
  for (int i = 0; i < 100; ++i)
    made.rank("n" + std::to_string(i / 4),
              reported("gpu" + std::to_string(i % 4), {i == 42 ? "tf32 8 13 0 0" : "tf32 7 3 0 0"}));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "GPU gpu2 (GPU-1) on n10 computes wrong: 13 of 13 products of tf32 differ from what 99 GPUs got");
  ASSERT_EQ(judgement.findings[0].culprits.size(), 1u);
  EXPECT_EQ(judgement.findings[0].culprits[0], (Culprit{CulpritKind::device, "GPU gpu2", "n10", 42}));
}

TEST(GpuCompute, SomeProductsOfOneGpuAreIntermittent) {
  MadeCase made(probe());
  for (int i = 0; i < 3; ++i) made.rank("a", reported("gpu" + std::to_string(i), {"int8 7 3 1 0"}));
  auto seen = reported("gpu3", {"int8 7 28 1 0", "int8 9 2 0 2"});
  seen.facts.push_back({"wrong_row", "gpu3 int8 0000000000000009 row 5"});
  made.rank("a", seen);
  expect_finding(
      made.judge(), Verdict::fail,
      "GPU gpu3 (GPU-1) on a computes wrong: 2 of 30 products of int8 (intermittent) differ from what 3 GPUs "
      "got and the known answer, first in row 5");
}

TEST(GpuCompute, OfTwoWithoutAKnownAnswerItIsOneOrTheOther) {
  MadeCase made(probe());
  made.rank("a", reported("gpu0", {"int8 7 3 0 0", "tf32 1 3 0 0"}))
      .rank("b", reported("gpu0", {"int8 8 3 0 0", "tf32 2 3 0 0"}));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "GPU gpu0 (GPU-1) on a or GPU gpu0 (GPU-1) on b computes wrong: their products of int8 and tf32 "
                 "differ, and neither has a majority");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 2u);
}

TEST(GpuCompute, AHostThatChecksWronglyIsNamedInsteadOfItsGpu) {
  MadeCase made(probe());
  made.rank("a", reported("gpu0", {"int8 7 3 1 0"}))
      .rank("a", reported("gpu1", {"int8 7 3 1 0"}))
      .rank("b", reported("gpu0", {"int8 7 3 0 1"}));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "rank 2 on b rejects a product of int8 that other ranks accept, bit by bit the same: GPU gpu0 "
                 "(GPU-1) is not at fault, but the copy from it, or the host's memory or processor");
  EXPECT_EQ(judgement.findings[0].culprits.at(0).kind, CulpritKind::node);
}

TEST(GpuCompute, SlowerThanItsLikeIsAFindingWhereTimeIsJudged) {
  MadeCase made(probe());
  for (const double rate : {700.0, 690.0, 500.0, 710.0}) made.rank("a", reported("gpu", {"bfloat16 7 3 1 0"}, rate));
  expect_finding(made.judge(), Verdict::fail,
                 "GPU gpu (GPU-1) on a multiplies bfloat16 at 500 TFLOP/s, 3 like it at 695 TFLOP/s in the median");
  made.doubt("simulated");
  EXPECT_TRUE(made.judge().findings.empty());
}

TEST(GpuCompute, FarBelowWhatItsModelCanDoIsAFinding) {
  MadeCase made(probe());
  auto seen = reported("gpu", {"bfloat16 7 3 1 0"}, 200);
  const double able = 989.4;
  seen.readings.push_back({"rate.capable", {{"by", "blas"}, {"type", "bfloat16"}}, summarize(std::span(&able, 1))});
  made.rank("a", seen);
  expect_finding(made.judge(), Verdict::fail,
                 "GPU gpu (GPU-1) on a multiplies bfloat16 at 200 TFLOP/s, below 25 % of the 989.4 TFLOP/s that its "
                 "model can do");
}

TEST(GpuCompute, SilenceIsNoPass) {
  MadeCase made(probe());
  made.rank("a", reported("gpu0", {"int8 7 3 1 0"})).rank("a", reported("gpu1", {}));
  expect_finding(made.judge(), Verdict::unmeasured, "GPU gpu1 (GPU-1) on a reported no product");
  MadeCase silent(probe());
  silent.rank("a", std::optional<Observation>());
  EXPECT_TRUE(silent.judge().evidence.empty());
  MadeCase lonely(probe());
  lonely.rank("a", reported("gpu0", {"int8 7 3 0 0"}));
  expect_finding(lonely.judge(), Verdict::unmeasured,
                 "a product of int8 was not verified: only one GPU computed it, and known_answer is off");
  MadeCase failed(probe());
  auto seen = reported("gpu0", {});
  seen.facts.push_back({"failed", "gpu0 cuLaunchKernel returned 719: gone"});
  failed.rank("a", seen);
  expect_finding(failed.judge(), Verdict::fail,
                 "GPU gpu0 (GPU-1) on a failed while it multiplied: cuLaunchKernel returned 719: gone");
}

/// One rank with four GPUs. To be called in a process of its own: it stays on that machine.
ProbeJudgement judged_on(std::vector<std::string> lines, const char* types = "float64,bfloat16") {
  const MachineDescription machine = four_gpus(std::move(lines));
  const fs::path folder = fs::temp_directory_path() / ("muster-compute-" + std::to_string(::getpid()));
  ::setenv(env_drivers, MUSTER_STAND_INS, 1);
  ProbeJudgement judgement;
  RankPlace place;
  place.host = "a";
  if (write_machine(machine, "a", folder) && simulate(folder, place)) {
    MadeCase made(probe(), {{"types", types}, {"cap", "5ms"}});
    run_ranks(1, [&](ThreadComm& comm) {
      SilentRecorder recorder;
      RunContext context{made.params(), place, recorder, comm, nullptr};
      if (const auto seen = probe().run(context)) made.rank("a", *seen);
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

TEST(GpuComputeOnStandIns, HealthyOnesPassWithTheirRates) {
  EXPECT_EXIT(
      {
        const auto judgement = judged_on({});
        announce(judgement);
        std::exit(judgement.findings.empty() && !judgement.evidence.empty() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "rate .by blas.: bfloat16 200 TFLOP/s, float64 50 TFLOP/s\n.*the known answer");
}

TEST(GpuComputeOnStandIns, WhereLaunchesWaitForTheirKernelNothingIsGated) {
  EXPECT_EXIT(
      {
        ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
        const auto judgement = judged_on({});
        announce(judgement);
        std::exit(judgement.findings.empty() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "bfloat16 200 TFLOP/s(.|\n)*timed without a gate: launches return only when");
}

TEST(GpuComputeOnStandIns, ATypeThatASettingTurnsIntoAnotherIsNotMeasured) {
  EXPECT_EXIT(
      {
        ::setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
        const auto judgement = judged_on({}, "float64,tf32");
        announce(judgement);
        std::exit(judgement.findings.empty() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      "products? of float64 on(.|\n)*tf32 not measured: NVIDIA_TF32_OVERRIDE=0 turns it into another type");
}

TEST(GpuCompute, ALibraryThatASettingKeepsFromStartingIsNotTheGpusFault) {
  MadeCase failed(probe());
  auto seen = reported("gpu0", {});
  seen.facts.push_back({"no_blas", "gpu0 cublasCreate_v2 returned 14: CUBLAS_STATUS_INTERNAL_ERROR"});
  seen.facts.push_back({"blas_setting", "CUDA_FORCE_PTX_JIT=1"});
  failed.rank("a", seen);
  const auto judgement = failed.judge();
  ASSERT_FALSE(judgement.findings.empty());
  const Finding& finding = judgement.findings[0];
  EXPECT_NE(finding.reason.find("unusable to GPU gpu0 (GPU-1) on a: cublasCreate_v2 returned 14"), std::string::npos);
  EXPECT_EQ(finding.culprits, (std::vector<Culprit>{{CulpritKind::setting, "CUDA_FORCE_PTX_JIT", "a", 0}}));
  EXPECT_EQ(finding.remedy.find("unset CUDA_FORCE_PTX_JIT"), 0U);
}

TEST(GpuComputeOnStandIns, ASlowGpuIsNamedAndNoOther) {
  EXPECT_EXIT(
      {
        const auto judgement = judged_on({"set 2 slow 3"});
        announce(judgement);
        bool only = !judgement.findings.empty();
        for (const Finding& finding : judgement.findings)
          only &= finding.reason.find("0000:c3:00.0") != std::string::npos;
        std::exit(only ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "GPU 0000:c3:00.0 .GPU-[-0-9a-f]*. on a multiplies bfloat16 at 66.67 TFLOP/s");
}

TEST(GpuComputeOnStandIns, AWrongBitNowAndThenIsCounted) {
  EXPECT_EXIT(
      {
        const auto judgement = judged_on({"wrong_product 1 every 5"});
        announce(judgement);
        std::exit(
            judgement.findings.size() == 1 && judgement.findings[0].culprits.at(0).name == "GPU 0000:c2:00.0" ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "products of bfloat16 .intermittent. differ from what 3 GPUs got and the known");
}

}  // namespace
}  // namespace muster::gpu_compute
