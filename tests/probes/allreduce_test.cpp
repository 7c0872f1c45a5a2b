#include "base/text.hpp"
#include "probes/allreduce/judge.hpp"
#include "probes/allreduce/measure.hpp"
#include "probes/judging.hpp"

namespace muster::allreduce {
namespace {

const ProbeSpec& probe() {
  return *find_probe("allreduce");
}

/// What a rank saw in two operations: a short one, and one that takes 1000 us.
Observation seen(double skew_us, std::vector<std::string> wrong = {}) {
  Observation seen;
  const auto add = [&](const char* metric, const char* size, double value) {
    seen.readings.push_back({metric, {{"size", size}, {"type", "float"}}, {100, value, value, value, value, 0}});
  };
  add("time", "8B", 2);
  add("skew", "8B", skew_us == 0 ? 1.9 : 0.1);
  add("time", "16MiB", 1000);
  add("skew", "16MiB", skew_us);
  for (std::string& reported : wrong) seen.facts.push_back({"wrong", std::move(reported)});
  seen.facts.push_back({"checked", "12"});
  return seen;
}

constexpr const char* flipped = "float 1MiB 70 -12 -12.5 80000 1";

TEST(Allreduce, RightSumsAreEvidence) {
  MadeCase made(probe());
  made.rank("a", seen(0)).rank("a", seen(10)).rank("b", seen(20));
  expect_evidence(made.judge(), "3 ranks looked at every element of 36 results: all exact", {"time 2 us at 8B"});
}

TEST(Allreduce, WhatHadNoCleanTimingIsSaid) {
  MadeCase made(probe());
  Observation disturbed = seen(0);
  disturbed.facts.push_back({"disturbed", "float 16MiB"});
  made.rank("a", disturbed).rank("b", disturbed);
  expect_evidence(made.judge(),
                  "2 ranks looked at every element of 24 results: all exact; 1 had no clean timing, others used the "
                  "CPUs",
                  {"time 2 us at 8B"});
}

TEST(Allreduce, TimingsAreThoseOfTheFirstRank) {
  MadeCase made(probe());
  Observation first = seen(0);
  first.facts.push_back({"precise", "3 of 4"});
  made.rank("a", first).rank("b", seen(0));
  const std::string evidence = join(made.judge().evidence, "\n");
  EXPECT_NE(evidence.find("; 3 of 4 timings known to "), std::string::npos) << evidence;
}

TEST(Allreduce, AWrongSumOfOneRankNamesRankElementAndBits) {
  MadeCase made(probe());
  made.rank("a", seen(0)).rank("b", seen(0, {flipped})).rank("c", seen(0));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "rank 1 on b has a wrong sum of float (1MiB): element 70 is -12.5 instead of -12 (bit 19 is flipped)");
  ASSERT_EQ(judgement.findings[0].culprits.size(), 1u);
  EXPECT_EQ(judgement.findings[0].culprits[0], (Culprit{CulpritKind::rank, "rank 1", "b", 1}));
  EXPECT_EQ(judgement.findings[0].remedy.substr(0, 25), "keep that node out of job");
}

TEST(Allreduce, ManyWrongElementsAndOtherSumsAreCounted) {
  MadeCase made(probe());
  made.rank("a", seen(0, {"int64 8B 3 4 7 3 9", "float 8B 3 4 7 3 9", "double 8B 3 4 7 3 9"})).rank("b", seen(0));
  expect_finding(made.judge(), Verdict::fail,
                 "rank 0 on a has a wrong sum of int64 (8B): element 3 is 7 instead of 4 (bits 0 and 1 differ), 9 "
                 "elements are wrong in all; 2 other sums are wrong, too");
}

TEST(Allreduce, AContributionThatChangedIsOnAllRanks) {
  MadeCase made(probe());
  for (const char* host : {"a", "b", "c"}) made.rank(host, seen(0, {"int32 8B 1 4 -9 ffffffff 1"}));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "all 3 ranks have a wrong sum of int32 (8B): element 1 is -9 instead of 4 (32 bits differ)");
  EXPECT_TRUE(judgement.findings[0].culprits.empty());
  EXPECT_EQ(judgement.findings[0].remedy.substr(0, 32), "a contribution or a partial sum ");
}

TEST(Allreduce, ASilentRankDoesNotMakeAllIntoSome) {
  MadeCase made(probe());
  made.rank("a", seen(0, {flipped})).rank("b", std::nullopt).rank("c", seen(0, {flipped}));
  EXPECT_EQ(made.judge().findings.at(0).reason.substr(0, 32), "all 2 ranks have a wrong sum of ");
}

TEST(Allreduce, RanksWithTheSameWrongSumAreOneFinding) {
  MadeCase made(probe());
  for (int rank = 0; rank < 24; ++rank)
    made.rank("n" + std::to_string(rank / 8),
              seen(0, rank < 12 ? std::vector<std::string>{flipped} : std::vector<std::string>{}));
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].reason.substr(0, 40), "rank 0 on n0, rank 1 on n0, rank 2 on n0");
  EXPECT_NE(judgement.findings[0].reason.find("and 4 more have a wrong sum"), std::string::npos)
      << judgement.findings[0].reason;
  EXPECT_EQ(judgement.findings[0].culprits.size(), 8u);
  EXPECT_EQ(judgement.findings[0].remedy.substr(0, 32), "a contribution or a partial sum ");
}

TEST(Allreduce, AThousandDifferentWrongSumsAreNotAThousandFindings) {
  MadeCase made(probe());
  for (int rank = 0; rank < 1000; ++rank)
    made.rank("n", seen(0, {"int32 8B 1 4 " + std::to_string(rank + 5) + " 1 1"}));
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 9u);
  EXPECT_NE(judgement.findings[8].reason.find("and 984 more"), std::string::npos) << judgement.findings[8].reason;
}

TEST(Allreduce, WhatARankTellsIsNotTrusted) {
  MadeCase made(probe());
  made.rank("a", seen(0, {"float 8B 1 2 \x1b[31m 1 1"})).rank("b", seen(0, {"nonsense"}));
  const auto judgement = made.judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].reason.find('\x1b'), std::string::npos);
  EXPECT_EQ(judgement.findings[1].reason, "rank 1 on b has a wrong sum");
}

TEST(Allreduce, AStragglerIsNamed) {
  MadeCase made(probe());
  made.rank("a", seen(0)).rank("b", seen(612)).rank("c", seen(3));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "rank 1 on b comes late: the others wait up to 612 us of 1e+03 us, more than 50 % (max_skew)");
  EXPECT_EQ(judgement.findings[0].culprits.at(0), (Culprit{CulpritKind::rank, "rank 1", "b", 1}));
}

TEST(Allreduce, TheTimesOfRankZeroAreEnoughToNameAStraggler) {
  MadeCase made(probe());
  Observation no_times = seen(612);
  std::erase_if(no_times.readings, [](const Reading& reading) { return reading.metric == "time"; });
  made.rank("a", seen(0)).rank("b", no_times).rank("c", seen(3));
  expect_finding(made.judge(), Verdict::fail,
                 "rank 1 on b comes late: the others wait up to 612 us of 1e+03 us, more than 50 % (max_skew)");
}

TEST(Allreduce, ASkewWithinTheLimitOrOfAShortOperationIsNone) {
  MadeCase made(probe(), {{"max_skew", "0.7"}});
  made.rank("a", seen(0)).rank("b", seen(612)).rank("c", seen(3));
  expect_evidence(made.judge(), "3 ranks looked at every element of 36 results: all exact", {"time 2 us at 8B"});
}

TEST(Allreduce, WhenMostAreEarlyNobodyIsLate) {
  MadeCase made(probe());
  made.rank("a", seen(0)).rank("b", seen(612)).rank("c", seen(700));
  EXPECT_TRUE(made.judge().findings.empty());
}

TEST(Allreduce, OfTwoRanksNeitherIsAStraggler) {
  MadeCase made(probe());
  made.rank("a", seen(0)).rank("b", seen(900));
  EXPECT_TRUE(made.judge().findings.empty());
}

TEST(Allreduce, WhereTimingMeansNothingNobodyIsLate) {
  MadeCase made(probe());
  made.rank("a", seen(0)).rank("b", seen(612)).rank("c", seen(3)).doubt("3 ranks share 2 cores");
  expect_evidence(made.judge(), "3 ranks looked at every element of 36 results: all exact");
}

TEST(Allreduce, AnOperationWithoutCleanTimingNamesNoStraggler) {
  MadeCase made(probe());
  for (const double skew : {0., 612., 3.}) {
    Observation observation = seen(skew);
    for (Reading& reading : observation.readings)
      if (reading.where[0].second == "16MiB") reading.summary = {};
    for (Reading& reading : observation.readings)
      if (reading.metric == "skew") reading.summary.median = 0.1;
    made.rank("a", observation);
  }
  EXPECT_TRUE(made.judge().findings.empty());
}

TEST(Allreduce, WhoeverLookedAtNothingIsUnmeasured) {
  MadeCase made(probe());
  made.rank("a", seen(0)).rank("b", std::vector<Fact>{{"checked", "0"}}).rank("c", std::vector<Fact>{});
  expect_finding(made.judge(), Verdict::unmeasured, "ranks 1 and 2 looked at no result");
}

TEST(Allreduce, NobodyThereIsNoEvidence) {
  MadeCase made(probe());
  made.rank("a", std::nullopt).rank("b", std::nullopt);
  const auto judgement = made.judge();
  EXPECT_TRUE(judgement.findings.empty()) << "the frame judges silence";
  EXPECT_TRUE(judgement.evidence.empty());
}

TEST(Allreduce, OneRankIsSkipped) {
  MadeCase made(probe());
  made.rank("a", std::vector<Fact>{});
  expect_finding(made.judge(), Verdict::skip, "a single rank has no partner to add up with");
}

TEST(AllreduceRate, SlowTimesAreLowRates) {
  const Summary rate = rate_of({50, 2, 4, 8, 10, 0.5}, 80);
  EXPECT_EQ(rate.n, 50);
  EXPECT_DOUBLE_EQ(rate.min, 8);
  EXPECT_DOUBLE_EQ(rate.median, 20);
  EXPECT_DOUBLE_EQ(rate.p95, 40) << "the largest: what 95 % reach isn't known";
  EXPECT_DOUBLE_EQ(rate.max, 40);
  EXPECT_DOUBLE_EQ(rate.mad, 2.5) << "to first order: 80 / 4 - 80 / 4.5 is 2.2, 80 / 3.5 - 80 / 4 is 2.9";
  EXPECT_EQ(rate_of({}, 80), Summary());
}

}  // namespace
}  // namespace muster::allreduce
