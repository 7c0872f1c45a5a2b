// Expectations against readings: sentences, absence, items, rows.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>

#include "base/units.hpp"
#include "case_fixture.hpp"
#include "evaluate/like_items.hpp"
#include "model/program_metric.hpp"
#include "stats/stats.hpp"

namespace muster::testing {
namespace {

const Labels big{{"size", "16MiB"}};
const Labels small{{"size", "8B"}};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Expectations, AReferenceThatIsKeptIsEvidence) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 149, 151, 135}, big).expect_reference("busbw", 150).where = big;
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_EQ(result.reason, "busbw where size=16MiB: all 4 readings inside the bounds (reference)");
  EXPECT_TRUE(result.items.empty());
  ASSERT_EQ(result.metrics.size(), 1u);
  EXPECT_EQ(result.metrics[0].judged, 4);
  EXPECT_EQ(result.metrics[0].passed, 4);
  EXPECT_EQ(result.metrics[0].worst_rank, 3);
  EXPECT_EQ(result.metrics[0].unit, "GB/s");
  EXPECT_EQ(result.metrics[0].over.n, 4);
  EXPECT_TRUE(has(result.metrics[0].bound, "-10 % (checks/scene.toml:14)")) << result.metrics[0].bound;
}

TEST(Expectations, WhereMayNameCountsOfTheCase) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 149, 151, 150}, big).expect_reference("busbw", 150).where = {{"ranks", "4"},
                                                                                             {"size", "16MiB"}};
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << fixture.result().reason;
}

TEST(Expectations, AboutAnotherNumberOfRanksNothingIsJudged) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 149, 151, 1}, big).expect_reference("busbw", 150).where = {{"ranks", "8"},
                                                                                           {"size", "16MiB"}};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured) << result.reason;
  EXPECT_TRUE(has(result.reason, "is about 4 ranks on 2 nodes")) << result.reason;
  ASSERT_FALSE(result.notes.empty());
  EXPECT_TRUE(has(result.notes.front(), "here ranks is 4")) << result.notes.front();
}

TEST(Expectations, AboutAnotherModelNothingIsAskedAndNothingIsMissed) {
  const Labels h100{{"model", "H100 SXM"}};
  CaseFixture fixture;
  for (int rank = 0; rank < 4; ++rank) fixture.add(rank, "busbw", 150, rank < 3 ? h100 : Labels{{"model", "T4"}});
  fixture.expect_reference("busbw", 150).where = h100;
  fixture.expect_reference("busbw", 900).where = {{"model", "H200 SXM"}};
  auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_EQ(result.reason, "busbw where model=H100 SXM: all 3 readings inside the bounds (reference)");

  CaseFixture alone;
  for (int rank = 0; rank < 4; ++rank) alone.add(rank, "busbw", 150, h100);
  alone.expect_reference("busbw", 900).where = {{"model", "H200 SXM"}};
  result = alone.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "none of the expectations of this check is about H100 SXM");
}

TEST(Expectations, ARankThatTestsOneDeviceIsBlamedWithIt) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 149, 151, 71.2}, big).expect_reference("busbw", 150).where = big;
  fixture.rank(3).facts.push_back({"tested", "0000:c1:00.0 GPU-3 NVIDIA H100"});
  const auto result = fixture.result();
  EXPECT_TRUE(has(result.reason, "; rank 3 has GPU 0000:c1:00.0 (GPU-3)")) << result.reason;
  ASSERT_EQ(result.culprits.size(), 2u);
  EXPECT_EQ(result.culprits[1].name, "GPU 0000:c1:00.0");
  // Which of several devices it was nobody knows.
  fixture.rank(3).facts.push_back({"tested", "0000:c2:00.0 GPU-4 NVIDIA H100"});
  EXPECT_EQ(fixture.result().culprits.size(), 1u);
}

TEST(Expectations, AValueOutsideNamesWhoWhereWhatAndWhy) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 149, 151, 71.2}, big).expect_reference("busbw", 150).where = big;
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.reason, "busbw of rank 3 on nid002 where size=16MiB is " + format_value(71.2, "GB/s") + ", bound " +
                               format_value(135, "GB/s") + " (reference " + format_value(150, "GB/s") +
                               " -10 %, checks/scene.toml:14)");
  EXPECT_FALSE(result.remedy.empty());
  ASSERT_EQ(result.items.size(), 1u);
  const Item& item = result.items[0];
  EXPECT_EQ(item.metric, "busbw");
  EXPECT_EQ(item.rank, 3);
  EXPECT_EQ(item.node, "nid002");
  EXPECT_EQ(item.where, big);
  EXPECT_EQ(item.summary.median, 71.2);
  EXPECT_EQ(item.summary.n, 3);
  EXPECT_EQ(item.verdict, Verdict::fail);
  ASSERT_EQ(item.bounds.size(), 1u);
  EXPECT_EQ(item.bounds[0].kind, BoundKind::reference);
  EXPECT_EQ(item.bounds[0].verdict, Verdict::fail);
  EXPECT_EQ(item.bounds[0].least, 135);
  EXPECT_EQ(item.bounds[0].most, std::nullopt);
  EXPECT_EQ(result.node_rows[0].verdict, Verdict::pass);
  EXPECT_EQ(result.node_rows[1].verdict, Verdict::fail);
  EXPECT_TRUE(result.evidence.empty());
}

TEST(Expectations, TooHighIsOutsideAnUpperTolerance) {
  CaseFixture fixture;
  fixture.report("cores", {8, 8, 8, 16});
  auto& asked = fixture.expect("cores");
  asked.reference = CaseFixture::reference(8, 0, "p:1");
  asked.reference->upper = 0;
  asked.reference->unit = "cores";
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "rank 3")) << result.reason;
  EXPECT_TRUE(has(result.reason, "bound " + format_value(8, "cores"))) << result.reason;
}

TEST(Expectations, ManyBadItemsAreOneFindingTheWorstFirst) {
  CaseFixture fixture(10, 4);
  for (int rank = 0; rank < 40; ++rank) fixture.add(rank, "busbw", rank < 20 ? 50 + rank : 150);
  fixture.expect_reference("busbw", 150);
  const auto result = fixture.result();
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.items.size(), 20u);
  EXPECT_EQ(result.culprits.size(), 16u);
  EXPECT_EQ(result.culprits[0].rank, 0);
  EXPECT_TRUE(has(result.reason, "busbw of rank 0 on nid001 is ")) << result.reason;
  EXPECT_TRUE(has(result.reason, " and 16 more, bound ")) << result.reason;
}

TEST(Expectations, AMetricThatNobodyReportsIsUnmeasured) {
  CaseFixture fixture;
  message.evidence = {"all else is well"};
  fixture.report("busbw", {1, 1, 1, 1}, small).expect_reference("busbw", 1).where = big;
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "metric busbw where size=16MiB: expected from 4 ranks, reported by none");
  for (const auto& row : result.node_rows) EXPECT_EQ(row.verdict, Verdict::unmeasured);
}

TEST(Expectations, ARankThatLacksWhatOthersReportIsNamed) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 150, 150}, big).expect_reference("busbw", 150);
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "rank 3 on nid002 did not report busbw where size=16MiB, 3 of 4 ranks did");
  EXPECT_EQ(result.culprits[0].rank, 3);
}

TEST(Expectations, EveryRankOwesEverySizeThatAnyReports) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 150, 150, 150}, small).report("busbw", {150, 150, 150}, big);
  fixture.expect_reference("busbw", 150);
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_TRUE(has(result.reason, "rank 3 on nid002 did not report busbw where size=16MiB")) << result.reason;
}

TEST(Expectations, NotEveryRankHasALinkOfEveryClass) {
  CaseFixture fixture;
  for (int rank = 0; rank < 4; ++rank)
    fixture.add(rank, "busbw", 150, {{"link", rank == 0 ? "node" : "network"}, {"size", "8B"}});
  fixture.expect_reference("busbw", 150);
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << fixture.result().reason;
}

TEST(Expectations, AReadingWithoutSamplesIsUnmeasured) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 150, 150, 150}).expect_reference("busbw", 150);
  fixture.rank(2).readings[0].summary = {};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_TRUE(has(result.reason, "busbw of rank 2 on nid002 has no value")) << result.reason;
  ASSERT_EQ(result.items.size(), 1u);
  EXPECT_EQ(result.items[0].verdict, Verdict::unmeasured);
  EXPECT_EQ(result.metrics[0].over.n, 3);
  EXPECT_EQ(result.metrics[0].judged, 3);
}

TEST(Expectations, WhatIsNotANumberIsUnmeasured) {
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CaseFixture fixture;
    fixture.report("busbw", {150, 150, 150, bad}).expect_reference("busbw", 150);
    EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured);
    EXPECT_EQ(fixture.result().items.size(), 1u);
  }
}

TEST(Expectations, AnExpectationWithoutABoundIsNoEvidence) {
  CaseFixture fixture;
  fixture.report("busbw", {1, 1, 1, 1}).expect("busbw");
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "no bound is given for busbw");
}

TEST(Expectations, LimitComparesWithTheCapableValueOfTheSameLink) {
  CaseFixture fixture;
  for (int rank = 0; rank < 4; ++rank) {
    fixture.add(rank, "busbw", 50, big, (rank + 1) % 4);
    fixture.add(rank, "busbw.capable", rank == 1 ? 400 : 100, big, (rank + 1) % 4);
  }
  fixture.expect("busbw").limit = Limit{0.25, {}};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.items.size(), 1u);
  EXPECT_TRUE(has(result.reason, "busbw of rank 1 on nid001 to rank 2 on nid002 where size=16MiB is")) << result.reason;
  EXPECT_TRUE(has(result.reason, "bound " + format_value(100, "GB/s") + " (limit at least 25 %")) << result.reason;
  EXPECT_EQ(result.culprits[0], (Culprit{CulpritKind::link, "rank 1 -> rank 2", "nid001", 1}));
  EXPECT_EQ(result.metrics[1].unit, "GB/s") << "a capable value is in the unit of its metric";
}

TEST(Expectations, LimitTooGoodToBeTrue) {
  CaseFixture fixture;
  fixture.report("busbw", {90, 90, 90, 130}).report("busbw.capable", {100, 100, 100, 100});
  fixture.expect("busbw").limit = Limit{0.25, 1.05};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.culprits[0].rank, 3);
}

TEST(Expectations, LimitWithoutACapableValueIsUnmeasured) {
  CaseFixture fixture;
  fixture.report("busbw", {90, 90, 90, 90}).expect("busbw").limit = Limit{0.25, {}};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "busbw: nothing to compare with: no capable value was measured");
}

TEST(Expectations, LimitWithoutACapableValueOnOneRankNamesIt) {
  CaseFixture fixture;
  fixture.report("busbw", {90, 90, 90, 90}).report("busbw.capable", {100, 100, 0});
  fixture.expect("busbw").limit = Limit{0.25, {}};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(
      result.reason,
      "busbw of rank 2 on nid002, of rank 3 on nid002 has nothing to compare with: no capable value was measured");
  EXPECT_EQ(result.items.size(), 2u);
}

TEST(Expectations, LimitWithoutFractionsIsUnmeasured) {
  CaseFixture fixture;
  fixture.report("busbw", {90, 90, 90, 90}).report("busbw.capable", {100, 100, 100, 100});
  fixture.expect("busbw").limit = Limit{};
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured);
}

TEST(Expectations, PeersNameTheOddOne) {
  CaseFixture fixture(3, 2);
  fixture.report("latency", {2.0, 2.1, 2.0, 9.0, 1.9, 0.1}).expect("latency").peers = Peers{};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  ASSERT_EQ(result.items.size(), 1u) << "a latency that is too good is not a failure";
  EXPECT_EQ(result.items[0].rank, 3);
  EXPECT_TRUE(has(result.reason, "peers: median " + format_value(2, "us") + " of 6 readings, z at most 5"));
  EXPECT_EQ(result.metrics[0].worst_rank, 3);
}

TEST(Expectations, APassByPeersStatesItsDetectionLimit) {
  CaseFixture fixture(3, 2);
  fixture.report("latency", {2.0, 2.1, 2.0, 2.0, 1.9, 2.0}).expect("latency").peers = Peers{};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass);
  EXPECT_TRUE(has(result.reason, "latency: all 6 readings inside the bounds (peers); one worse by ")) << result.reason;
}

TEST(Expectations, PeersOfAMetricWithoutDirectionFailBothWays) {
  CaseFixture fixture(3, 2);
  fixture.report("cores", {4, 4, 4, 8, 4, 1}).expect("cores").peers = Peers{};
  const auto result = fixture.result();
  EXPECT_EQ(result.items.size(), 2u);
  EXPECT_EQ(result.metrics[0].worst_rank, -1);
}

TEST(Expectations, PeersOfTwoBinsAreJudgedWithinTheirs) {
  std::vector<double> values;
  for (int i = 0; i < 18; ++i) values.push_back(100 + 0.1 * i);
  for (int i = 0; i < 6; ++i) values.push_back(80 + 0.1 * i);
  CaseFixture two_bins(24, 1);
  two_bins.report("busbw", values).expect("busbw").peers = Peers{};
  const auto well = two_bins.result();
  EXPECT_EQ(well.verdict, Verdict::pass) << well.reason;
  EXPECT_TRUE(std::any_of(well.notes.begin(), well.notes.end(), [](const std::string& note) {
    return has(note, "two bins, 6 readings around ") && has(note, " and 18 around ");
  })) << "the bins are named";
  values.back() = 60;
  CaseFixture slow(24, 1);
  slow.report("busbw", values).expect("busbw").peers = Peers{};
  const auto result = slow.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  ASSERT_EQ(result.items.size(), 1u);
  EXPECT_EQ(result.items[0].rank, 23);
  EXPECT_TRUE(has(result.reason, "in one of two bins: 6 around ")) << result.reason;
}

/// A reading of the better bin is first judged in the other one: it fails from that one's bound on.
TEST(Expectations, TheDetectionLimitOfTwoBinsHolds) {
  const auto judged = [](double first) {
    std::vector<double> values{first};
    for (int i = 1; i < 18; ++i) values.push_back(100 + 0.1 * i);
    for (int i = 0; i < 6; ++i) values.push_back(80 + 0.1 * i);
    CaseFixture fixture(24, 1);
    fixture.report("busbw", values).expect("busbw").peers = Peers{};
    return fixture.result();
  };
  const std::string reason = judged(100).reason;
  const auto at = reason.find("; one worse by ");
  ASSERT_NE(at, std::string::npos) << reason;
  const double limit = std::stod(reason.substr(at + 15)) / 100;
  EXPECT_GT(limit, 0.2);
  EXPECT_EQ(judged(100.9 * (1 - limit - 0.01)).verdict, Verdict::fail);
  EXPECT_EQ(judged(100.9 * (1 - limit + 0.05)).verdict, Verdict::pass);
}

TEST(Expectations, ALimitIsNotStatedWhereAGroupHasNone) {
  CaseFixture fixture(3, 2);
  fixture.report("busbw", {90, 91, 90, 90, 89, 90}, big).report("busbw", {0, 0, 0, 0, 0, 0}, small);
  fixture.expect("busbw").peers = Peers{};
  EXPECT_FALSE(has(fixture.result().reason, "would have failed")) << "the median is 0";
}

TEST(Expectations, ASpreadThatHidesALossOfAnySizeIsStated) {
  const std::vector<double> values{10, 60, 100, 140, 190, 95};
  CaseFixture rates(6, 1);
  rates.report("busbw", values).expect("busbw").peers = Peers{};
  EXPECT_TRUE(has(rates.result().reason, "(peers); their spread hides a loss of any size")) << rates.result().reason;
  CaseFixture times(6, 1);
  times.report("latency", values).expect("latency").peers = Peers{};
  // A time may be worse by more than itself.
  EXPECT_TRUE(has(times.result().reason, "(peers); one worse by ")) << times.result().reason;
}

TEST(Expectations, PeersAreJudgedPerSize) {
  CaseFixture fixture(3, 2);
  fixture.report("busbw", {1, 1, 1, 1, 1, 1}, small).report("busbw", {90, 90, 90, 90, 90, 90}, big);
  fixture.expect("busbw").peers = Peers{};
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << fixture.result().reason;
}

TEST(Expectations, TooFewPeersAloneAreUnmeasured) {
  CaseFixture fixture;
  fixture.report("busbw", {1, 1, 1, 1}).expect("busbw").peers = Peers{};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "busbw has 4 values, its peers judge from 5");
  EXPECT_EQ(result.remedy, "use more ranks, or judge it by a reference") << "it has no hardware maximum";
}

TEST(Expectations, TooFewPeersBesideAnotherBoundAreANote) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 150, 150, 150}).expect_reference("busbw", 150).peers = Peers{};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_EQ(result.notes, (std::vector<std::string>{"peers not judged: busbw has 4 values, its peers judge from 5"}));
  EXPECT_EQ(result.reason, "busbw: all 4 readings inside the bounds (reference)");
}

TEST(Expectations, EveryKindOfBoundThatFailsSaysSo) {
  CaseFixture fixture(3, 2);
  fixture.report("busbw", {150, 150, 150, 150, 150, 20}).report("busbw.capable", {200, 200, 200, 200, 200, 200});
  auto& asked = fixture.expect_reference("busbw", 150);
  asked.limit = Limit{0.5, {}};
  asked.peers = Peers{};
  const auto result = fixture.result();
  ASSERT_EQ(result.findings.size(), 3u);
  EXPECT_TRUE(has(result.findings[0].reason, "(reference"));
  EXPECT_TRUE(has(result.findings[1].reason, "(limit"));
  EXPECT_TRUE(has(result.findings[2].reason, "(peers"));
  ASSERT_EQ(result.items.size(), 1u);
  EXPECT_EQ(result.items[0].bounds.size(), 3u);
}

TEST(Expectations, OneBoundMissingMakesAKeptOneNoPass) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 150, 150, 150}).expect_reference("busbw", 150).limit = Limit{0.5, {}};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  ASSERT_EQ(result.items.size(), 4u);
  EXPECT_EQ(result.items[0].bounds[0].verdict, Verdict::pass);
  EXPECT_EQ(result.items[0].bounds[1].verdict, Verdict::unmeasured);
  EXPECT_EQ(result.metrics[0].judged, 4);
  EXPECT_EQ(result.metrics[0].passed, 0);
}

TEST(Expectations, TwoExpectationsOnOneReadingBothCount) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 150, 150, 120}, big);
  fixture.expect_reference("busbw", 100);
  fixture.expect_reference("busbw", 150).where = big;
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  ASSERT_EQ(result.items.size(), 1u);
  ASSERT_EQ(result.items[0].bounds.size(), 2u);
  EXPECT_EQ(result.items[0].bounds[0].verdict, Verdict::pass);
  EXPECT_EQ(result.items[0].bounds[1].verdict, Verdict::fail);
}

TEST(Expectations, TimingIsNotJudgedWhereItMeansNothing) {
  CaseFixture fixture;
  fixture.world.timing_doubt = "4 ranks share 2 cores on nid001";
  fixture.report("busbw", {1, 1, 1, 1}).expect_reference("busbw", 150);
  auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "timing is not judged: 4 ranks share 2 cores on nid001");
  EXPECT_EQ(result.notes, (std::vector<std::string>{"timing is not judged: 4 ranks share 2 cores on nid001"}));
  EXPECT_TRUE(result.items.empty());
  EXPECT_EQ(result.metrics[0].judged, 0);
  EXPECT_EQ(result.metrics[0].bound, "");

  message.evidence = {"the data is right"};
  result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass);
  EXPECT_EQ(result.reason, "the data is right");
}

TEST(Expectations, TheRateOfAProgramNeedsCoresOfItsOwn) {
  CaseFixture fixture;
  fixture.world.timing_doubt = "4 ranks share 2 cores on nid001";
  fixture.item.metrics = {{.name = "triad", .unit = "MB/s"}};
  fixture.report("triad", {1, 1, 1, 1}).expect_reference("triad", 150);
  message.evidence = {"the program ended with 0"};
  auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "triad is not judged: 4 ranks share 2 cores on nid001");
  EXPECT_NE(result.remedy.find("--ranks-per-node"), std::string::npos);

  fixture.world.nodes.resize(1);
  fixture.world.nodes[0].facts = {{"simulated", "lumi"}};
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << "times of simulated machines are judged nowhere";
}

TEST(Expectations, WhatIsNoTimingIsJudgedAllTheSame) {
  CaseFixture fixture;
  fixture.world.timing_doubt = "4 ranks share 2 cores on nid001";
  fixture.report("width", {4, 4, 4, 1});
  auto& asked = fixture.expect("width");
  asked.reference = CaseFixture::reference(4, 0, "p:1");
  asked.reference->unit = "cores";
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.culprits[0].rank, 3);
}

TEST(Expectations, ACaseWithTimingsSaysThatTheyAreNotJudged) {
  CaseFixture fixture;
  fixture.world.timing_doubt = "16 ranks share 2 cores";
  fixture.report("busbw", {1, 1, 1, 1});
  message.evidence = {"the data is right"};
  EXPECT_EQ(fixture.result().notes, (std::vector<std::string>{"timing is not judged: 16 ranks share 2 cores"}));
  fixture.world.timing_doubt.clear();
  EXPECT_TRUE(fixture.result().notes.empty());
}

TEST(Expectations, TimesThatSomeNodesAloneKeepFromBeingJudgedAreMissing) {
  CaseFixture fixture;
  for (const char* name : {"nid001", "nid002"}) fixture.world.nodes.push_back({name, {}});
  fixture.world.timing_doubt = "2 ranks share 1 core on nid002";
  fixture.world.node_doubts = {"", "2 ranks share 1 core on nid002"};
  fixture.report("busbw", {1, 1, 1, 1});
  message.evidence = {"the data is right"};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "times are not judged: 2 ranks share 1 core on nid002, unlike the other nodes");
  ASSERT_EQ(result.culprits.size(), 1U);
  EXPECT_EQ(result.culprits[0].node, "nid002");
  fixture.world.node_doubts[0] = "2 ranks share 1 core on nid001";
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << "as the launch has them share";
}

TEST(Expectations, AValueOfTheSweepBelongsToTheCaseThatHasIt) {
  CaseFixture fixture;
  message.evidence = {"met"};
  fixture.item.swept = {"sizes"};
  fixture.item.params.set("sizes", {ParamType::bytes_list, {Bytes{8}}});
  fixture.report("busbw", {1, 1, 1, 1}, small).expect_reference("busbw", 150).where = big;
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_EQ(result.notes, (std::vector<std::string>{"busbw where size=16MiB is judged in another case of this sweep"}));
}

TEST(Expectations, AReferenceIsPrintedInItsUnit) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 150, 150, 100}).expect_reference("busbw", 1200).reference->unit = "Gbit/s";
  EXPECT_TRUE(has(fixture.result().reason, "is 100 GB/s, bound 135 GB/s (reference 1200 Gbit/s -10 %, "))
      << fixture.result().reason;
}

TEST(Expectations, AProgramsOwnUnitIsConverted) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 150, 150, 150}).expect_reference("busbw", 150);
  auto& own = fixture.rank(3).readings[0];
  own.unit = "MB/s";
  own.summary.median = 150000;
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << fixture.result().reason;
  own.summary.median = 100000;
  auto low = fixture.result();
  ASSERT_EQ(low.items.size(), 1u);
  EXPECT_EQ(low.items[0].unit, "GB/s");
  EXPECT_EQ(low.items[0].summary.median, 100) << "told in the unit beside it";
  own.unit = "us";
  low = fixture.result();
  EXPECT_EQ(low.verdict, Verdict::unmeasured);
  EXPECT_EQ(low.reason, "busbw was printed in us, which can't be converted to GB/s");
  EXPECT_EQ(low.culprits, (std::vector<Culprit>{{CulpritKind::program, "the program", "", -1}}))
      << "on half of the nodes";
  EXPECT_TRUE(has(low.remedy, "correct the unit in [check.NAME.metrics]")) << low.remedy;
  ASSERT_EQ(low.items.size(), 1u);
  EXPECT_EQ(low.items[0].unit, "us") << "as it was printed";
}

TEST(Expectations, ADeclaredMetricIsJudgedInItsUnit) {
  CaseFixture fixture;
  fixture.item.metrics = {{"samples", "samples/s", Better::higher}};
  fixture.report("samples", {10, 10, 10, 2});
  auto& asked = fixture.expect("samples");
  asked.reference = CaseFixture::reference(10, -0.1, "p:1");
  asked.reference->unit = "samples/s";
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.metrics[0].unit, "samples/s");
}

/// Four nodes with a rank each, of which the first `count` print a number that the check declares; without a bound.
CaseFixture printed_by(int count, bool has_pattern = true) {
  CaseFixture fixture(4, 1);
  fixture.item.metrics.push_back({"triad", "GB/s", Better::higher});
  ProgramMetric metric;
  metric.name = "triad";
  metric.pattern = "Triad: ([0-9.]+)";
  metric.unit = "GB/s";
  if (has_pattern) fixture.item.params.set("metric", {ParamType::text_list, {to_text(metric)}});
  fixture.report("triad", std::vector<double>(static_cast<std::size_t>(count), 10));
  message.evidence = {"4 of 4 programs exited with 0"};
  return fixture;
}

TEST(Expectations, APatternThatMatchesOnSomeRanksIsUnmeasuredWithoutABoundToo) {
  EXPECT_EQ(printed_by(4).result().verdict, Verdict::pass);
  EXPECT_EQ(printed_by(1, false).result().verdict, Verdict::pass) << "what a program prints itself may be a sum";
  const auto one = printed_by(3).result();
  EXPECT_EQ(one.verdict, Verdict::unmeasured);
  EXPECT_EQ(one.reason, "rank 3 on nid004 did not report triad, 3 of 4 ranks did");
  EXPECT_EQ(one.culprits.at(0).node, "nid004");
  EXPECT_EQ(one.node_rows.at(0).verdict, Verdict::pass);
}

TEST(Expectations, ANumberWithoutABoundIsNotedWithWhatBoundsIt) {
  const auto note = printed_by(4).result().notes;
  EXPECT_EQ(note,
            (std::vector<std::string>{
                "triad has no bound; to judge it, add to the check `expect = [{ metric = \"triad\", reference = { "
                "value = ..., lower = -0.1, unit = \"GB/s\" } }]`"}));
  auto bounded = printed_by(4);
  bounded.expect_reference("triad", 10);
  EXPECT_EQ(bounded.result().notes, std::vector<std::string>());
  EXPECT_EQ(printed_by(4, false).result().notes, std::vector<std::string>()) << "a program that prints it as JSON";
  auto two = printed_by(4);
  two.item.metrics.push_back({"latency", "us", Better::lower});
  two.report("latency", {1, 1, 1, 1});
  EXPECT_EQ(two.result().notes.at(0),
            "triad and latency have no bound; to judge latency, add to the check `expect = [{ metric = \"latency\", "
            "reference = { value = ..., upper = 0.1, unit = \"us\" } }]`");
}

TEST(Expectations, ANumberThatHalfOfTheNodesLackIsNoNodesFault) {
  for (const int count : {1, 2})
    for (const bool has_bound : {false, true}) {
      CaseFixture fixture = printed_by(count);
      if (has_bound) fixture.expect_reference("triad", 10);
      const auto result = fixture.result();
      EXPECT_EQ(result.verdict, Verdict::unmeasured);
      EXPECT_EQ(result.reason, fmt::format("metric triad: expected from 4 ranks, reported by {}", count));
      EXPECT_EQ(result.culprits, (std::vector<Culprit>{{CulpritKind::file, "checks/scene.toml:2", "", -1}}));
      for (const NodeRow& row : result.node_rows) EXPECT_EQ(row.verdict, Verdict::unmeasured) << row.node;
    }
}

TEST(Expectations, ANumberIsNotMissedBesideTheCauseOfItsAbsence) {
  for (const bool has_bound : {false, true}) {
    CaseFixture none = printed_by(0);
    for (Observation& one : none.record.observations) one.facts.push_back({"no_reading", has_bound ? "*" : "triad"});
    if (has_bound) none.expect_reference("triad", 10);
    message.findings = {{Verdict::error, "stream is not on PATH", {}, "install it"}};
    EXPECT_EQ(none.result().verdict, Verdict::error);
    ASSERT_EQ(none.result().findings.size(), 1u) << none.result().findings[1].reason;
    message.findings.clear();
    EXPECT_EQ(none.result().verdict, Verdict::unmeasured) << "a rank excuses itself only where the judge has the cause";
    EXPECT_EQ(none.result().findings.size(), 1u);
  }
  CaseFixture some = printed_by(2);
  some.rank(3).facts.push_back({"no_reading", "*"});
  message.findings = {{Verdict::fail, "rank 3 on nid004 exited with 1", {}, "look at it"}};
  ASSERT_EQ(some.result().findings.size(), 2u);
  EXPECT_EQ(some.result().findings[1].reason, "rank 2 on nid003 did not report triad, 2 of 3 ranks did");
  some.rank(2).facts.push_back({"no_reading", "copy"});
  EXPECT_EQ(some.result().findings.size(), 2u) << "the cause of another metric";
}

TEST(Expectations, AUnitOfAnotherKindIsUnmeasuredWithoutABoundToo) {
  CaseFixture fixture = printed_by(4);
  fixture.rank(3).readings[0].unit = "GiB";
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured);
  EXPECT_EQ(fixture.result().reason, "rank 3 on nid004 printed triad in GiB, which can't be converted to GB/s");
  EXPECT_EQ(fixture.result().culprits.at(0).node, "nid004");
  for (Observation& one : fixture.record.observations) one.readings[0].unit = "GiB";
  EXPECT_EQ(fixture.result().reason, "triad was printed in GiB, which can't be converted to GB/s");
  EXPECT_EQ(fixture.result().culprits, (std::vector<Culprit>{{CulpritKind::program, "the program", "", -1}}));
}

TEST(Expectations, ANumberOfRank0AloneIsHeldAgainstNoNode) {
  const std::vector<Culprit> rank_0{{CulpritKind::rank, "rank 0", "", 0}};
  CaseFixture fixture = printed_by(4);
  fixture.rank(0).readings[0].unit = "GiB";
  EXPECT_EQ(fixture.result().reason, "rank 0 on nid001 printed triad in GiB, which can't be converted to GB/s");
  EXPECT_EQ(fixture.result().culprits, rank_0);
  EXPECT_TRUE(has(fixture.result().remedy, "run it once more without nid001 (--nodes 'nid[002-004]')"));
  fixture.rank(0).readings.clear();
  EXPECT_EQ(fixture.result().reason, "rank 0 on nid001 did not report triad, 3 of 4 ranks did");
  EXPECT_EQ(fixture.result().culprits, rank_0);
}

/// `values` of a program on as many nodes, of a metric that the check declares, with a reference of 10.
CaseFixture program_scene(const std::vector<double>& values) {
  CaseFixture fixture(static_cast<int>(values.size()), 1);
  fixture.item.metrics = {{"samples", "samples/s", Better::higher}};
  fixture.report("samples", values).expect_reference("samples", 10).reference->unit = "samples/s";
  return fixture;
}

TEST(Expectations, AReferenceThatMostNodesMissBlamesNone) {
  for (const auto& values : std::vector<std::vector<double>>{{1}, {1, 1}, {1, 1.1, 1, 0.9}, {1, 1, 10}}) {
    const auto result = program_scene(values).result();
    EXPECT_EQ(result.verdict, Verdict::fail);
    EXPECT_EQ(result.culprits, (std::vector<Culprit>{{CulpritKind::file, "checks/scene.toml:14", "", -1}}));
    EXPECT_TRUE(has(result.remedy, "correct the value or the unit of the reference")) << result.remedy;
    for (const auto& row : result.node_rows) EXPECT_EQ(row.verdict, Verdict::unmeasured) << row.node;
  }
  const auto most = program_scene({1, 1, 10}).result();
  EXPECT_TRUE(has(most.reason,
                  "bound 9 samples/s (reference 10 samples/s -10 %, checks/scene.toml:14); "
                  "2 of 3 nodes are outside"))
      << most.reason;
  const auto alone = program_scene({1}).result();
  EXPECT_TRUE(has(alone.remedy, "run it on more nodes")) << alone.remedy;
}

TEST(Expectations, AReferenceThatHalfOfTheNodesMeetIsHeldAgainstTheOthers) {
  for (const auto& values : std::vector<std::vector<double>>{{10, 1}, {10, 11, 1}}) {
    const auto result = program_scene(values).result();
    ASSERT_EQ(result.culprits.size(), 1u);
    EXPECT_EQ(result.culprits[0].node, host(static_cast<int>(values.size()) - 1));
    EXPECT_EQ(result.node_rows.back().verdict, Verdict::fail);
    EXPECT_EQ(result.node_rows.front().verdict, Verdict::pass);
  }
}

TEST(Expectations, AMetricOfMustersOwnBlamesANodeByItself) {
  CaseFixture fixture(1, 1);
  fixture.report("busbw", {1}).expect_reference("busbw", 10);
  EXPECT_EQ(fixture.result().culprits.at(0).node, "nid001");
}

TEST(Expectations, ADeclaredMetricThatNobodyPrintsIsUnmeasured) {
  CaseFixture fixture;
  fixture.item.metrics = {{"loss", "1", Better::lower}, {"samples", "samples/s", Better::higher}};
  message.evidence = {"4 of 4 programs exited with 0"};
  fixture.report("samples", {1, 1, 1, 1});
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_TRUE(has(result.reason, "metric loss: expected from 4 ranks, reported by none")) << result.reason;
  // A bound that is never missed does not make its metric one.
  fixture.expect("loss").history = Drift{};
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured);
  fixture.add(0, "loss", 0.1);
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << fixture.result().reason;
}

TEST(Expectations, WhatDoesNotApplyIsNotMissed) {
  CaseFixture fixture;
  fixture.item.metrics = {{"loss", "1", Better::lower}};
  fixture.expect_reference("busbw", 150);
  message.findings = {{Verdict::skip, "no python3 on PATH has torch", {}, "install it"}};
  EXPECT_EQ(fixture.result().verdict, Verdict::skip) << fixture.result().reason;
  fixture.report("latency", {1, 1, 1, 1});
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured) << "something was measured, so the rest is missed";
}

TEST(Rows, MetricsAreRolledUpOverTheCaseAndPerNode) {
  CaseFixture fixture;
  fixture.report("latency", {1, 2, 3, 4}, small).report("latency", {10, 20, 30, 40}, big);
  const auto result = fixture.result();
  ASSERT_EQ(result.metrics.size(), 2u);
  EXPECT_EQ(result.metrics[0].where, small);
  EXPECT_EQ(result.metrics[0].over, summarize(std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(result.metrics[0].worst_rank, 3);
  EXPECT_EQ(result.metrics[0].node, "");
  ASSERT_EQ(result.node_rows.size(), 2u);
  EXPECT_EQ(result.node_rows[1].node, "nid002");
  EXPECT_EQ(result.node_rows[1].ranks, 2);
  ASSERT_EQ(result.node_rows[1].metrics.size(), 2u);
  EXPECT_EQ(result.node_rows[1].metrics[1].over.median, 35);
  EXPECT_EQ(result.node_rows[1].metrics[1].node, "nid002");
}

TEST(Rows, EveryReadingIsListedWithTheBoundsAsNumbers) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 149, 151, 71.2}, big).report("busbw", {1, 2, 3, 4}, small);
  fixture.expect_reference("busbw", 150).where = big;
  const auto result = fixture.result();
  ASSERT_EQ(result.metrics.size(), 2u);
  const auto& judged = result.metrics[0].where == big ? result.metrics[0] : result.metrics[1];
  const auto& reported = result.metrics[0].where == big ? result.metrics[1] : result.metrics[0];
  ASSERT_EQ(judged.readings.size(), 4u);
  EXPECT_EQ(judged.readings[3].rank, 3);
  EXPECT_EQ(judged.readings[3].summary.median, 71.2);
  EXPECT_EQ(judged.readings[3].verdict, Verdict::fail);
  EXPECT_EQ(judged.readings[0].verdict, Verdict::pass);
  ASSERT_EQ(judged.bounds.size(), 1u);
  EXPECT_EQ(judged.bounds[0].least, 135);
  EXPECT_EQ(judged.bounds[0].most, std::nullopt);
  EXPECT_EQ(judged.bounds[0].verdict, Verdict::fail);
  ASSERT_EQ(reported.readings.size(), 4u);
  EXPECT_EQ(reported.readings[2].verdict, Verdict::skip) << "reported, not judged";
  EXPECT_TRUE(reported.bounds.empty());
  for (const auto& node : result.node_rows)
    for (const auto& row : node.metrics) EXPECT_TRUE(row.readings.empty() && row.bounds.empty());
}

TEST(Rows, ABoundOfItsOwnForEachLinkHasNoCommonEnd) {
  CaseFixture fixture;
  for (int rank = 0; rank < 4; ++rank) {
    fixture.add(rank, "busbw", 50, big, (rank + 1) % 4);
    fixture.add(rank, "busbw.capable", rank == 1 ? 150 : 100, big, (rank + 1) % 4);
  }
  fixture.expect("busbw").limit = Limit{0.25, {}};
  const auto result = fixture.result();
  ASSERT_EQ(result.metrics[0].bounds.size(), 1u);
  EXPECT_EQ(result.metrics[0].bounds[0].least, std::nullopt);
  EXPECT_EQ(result.metrics[0].bounds[0].verdict, Verdict::pass);
  EXPECT_EQ(result.metrics[0].readings[1].peer, 2);
}

TEST(Rows, ABoundThatIsNoNumberHasNoEnds) {
  CaseFixture fixture;
  fixture.report("busbw", {150, 149, 151, 152}).expect_reference("busbw", std::nan(""));
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  ASSERT_FALSE(result.items.empty());
  ASSERT_EQ(result.items[0].bounds.size(), 1u);
  EXPECT_EQ(result.items[0].bounds[0].least, std::nullopt);
}

TEST(Rows, OnlyANodeIsFoundByItsName) {
  const auto verdicts = [](Culprit culprit) {
    CaseFixture fixture;
    message.findings = {{Verdict::fail, "is wrong", {std::move(culprit)}, "correct it"}};
    std::vector<Verdict> all;
    for (const NodeRow& row : fixture.result().node_rows) all.push_back(row.verdict);
    return all;
  };
  const std::vector<Verdict> of_none{Verdict::unmeasured, Verdict::unmeasured};
  EXPECT_EQ(verdicts({CulpritKind::node, "nid002", "", -1}).at(1), Verdict::fail);
  EXPECT_EQ(verdicts({CulpritKind::device, "GPU 1", "nid002", -1}).at(1), Verdict::fail);
  EXPECT_EQ(verdicts({CulpritKind::node, "blade 7", "nid002", -1}).at(1), Verdict::fail);
  EXPECT_EQ(verdicts({CulpritKind::setting, "nid002", "", -1}), of_none) << "a variable of that name";
}

TEST(Rows, BeyondSoManyReadingsOnlyTheRowsAreLeft) {
  CaseFixture fixture(2, static_cast<int>(most_listed_readings) / 2 + 1);
  fixture.report("busbw", std::vector<double>(most_listed_readings + 2, 150), big);
  const auto result = fixture.result();
  ASSERT_EQ(result.metrics.size(), 1u);
  EXPECT_EQ(result.metrics[0].over.n, static_cast<int>(most_listed_readings) + 2);
  EXPECT_TRUE(result.metrics[0].readings.empty());
  EXPECT_TRUE(result.rank_rows.empty());
}

TEST(Rows, RanksSayWhereTheyStood) {
  static constexpr std::string_view stated[] = {"tested", "mask"};
  CaseFixture fixture;
  fixture.probe.reported_facts = stated;
  fixture.report("busbw", {1, 2, 3, 4});
  fixture.rank(3).facts = {{"secret", "x"}, {"tested", "a"}, {"mask", "0-3\x1b"}, {"tested", "b"}};
  const auto result = fixture.result();
  ASSERT_EQ(result.rank_rows.size(), 4u);
  EXPECT_EQ(result.rank_rows[3].node, "nid002");
  EXPECT_EQ(result.rank_rows[3].facts, (std::vector<Fact>{{"mask", "0-3\\x1b"}, {"tested", "a; b"}}));
  EXPECT_TRUE(result.rank_rows[0].facts.empty());
}

TEST(Rows, RanksDealtRoundRobinStillBelongToTheirNodes) {
  CaseFixture fixture;
  for (int rank = 0; rank < 4; ++rank) {
    auto& place = fixture.world.ranks[static_cast<std::size_t>(rank)];
    place.node_index = rank % 2;
    place.host = host(rank % 2);
  }
  fixture.report("busbw", {1, 2, 3, 4});
  const auto result = fixture.result();
  ASSERT_EQ(result.node_rows.size(), 2u);
  ASSERT_EQ(result.node_rows[0].metrics.size(), 1u);
  EXPECT_EQ(result.node_rows[0].metrics[0].over.median, 2);
  EXPECT_EQ(result.node_rows[1].metrics[0].over.median, 3);
}

TEST(Rows, ForeignTextIsHarmless) {
  CaseFixture fixture;
  fixture.world.ranks[3].host = "nid\x1b[0m";
  fixture.world.ranks[3].node_index = 7;
  fixture.report("evil\x1b", {1, 1, 1, 1}, {{"k\n", "v\x07"}});
  const auto result = fixture.result();
  for (const auto& row : result.metrics) {
    EXPECT_EQ(row.metric.find('\x1b'), std::string::npos);
    EXPECT_EQ(row.where[0].first.find('\n'), std::string::npos);
    EXPECT_EQ(row.where[0].second.find('\x07'), std::string::npos);
  }
  ASSERT_EQ(result.node_rows.size(), 3u);
  EXPECT_EQ(result.node_rows[2].node.find('\x1b'), std::string::npos);
}

TEST(LikeItems, ANodeByItselfHasItsPeersOnTheOthers) {
  const std::vector<double> latencies{2.0, 2.1, 2.0, 9.0, 1.9, 2.0};
  std::vector<CaseFixture> nodes;
  LikeItems like;
  for (const double latency : latencies) {
    auto& fixture = nodes.emplace_back(1, 1);
    fixture.report("latency", {latency}).expect("latency").peers = Peers{};
    like.add(fixture.item, fixture.probe, fixture.record, fixture.world);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto alone = nodes[i].result();
    EXPECT_EQ(alone.verdict, Verdict::unmeasured) << "one value has no peers";
    const auto result = evaluate(nodes[i].item, nodes[i].probe, nodes[i].record, nodes[i].world, &like);
    EXPECT_EQ(result.verdict, i == 3 ? Verdict::fail : Verdict::pass) << result.reason;
    EXPECT_EQ(result.metrics.at(0).over.n, 1) << "rows are of its own readings";
    if (i == 3) {
      EXPECT_TRUE(has(result.reason, "of 6 readings")) << result.reason;
    }
  }
}

TEST(LikeItems, AReferenceIsConfirmedByTheOtherNodes) {
  for (const double others : {10.0, 1.0}) {
    LikeItems like;
    for (const double value : {others, others, 1.0}) {
      const auto fixture = program_scene({value});
      like.add(fixture.item, fixture.probe, fixture.record, fixture.world);
    }
    const auto slow = program_scene({1});
    const auto result = evaluate(slow.item, slow.probe, slow.record, slow.world, &like);
    EXPECT_EQ(result.culprits.at(0).kind, others == 10 ? CulpritKind::rank : CulpritKind::file) << result.reason;
  }
}

TEST(LikeItems, OtherLabelsAreNoPeers) {
  LikeItems like;
  std::vector<CaseFixture> nodes;
  for (int i = 0; i < 6; ++i) {
    auto& fixture = nodes.emplace_back(1, 1);
    fixture.report("latency", {i == 0 ? 9.0 : 2.0}, {{"link", i == 0 ? "network" : "node"}}).expect("latency").peers =
        Peers{};
    like.add(fixture.item, fixture.probe, fixture.record, fixture.world);
  }
  const auto result = evaluate(nodes[0].item, nodes[0].probe, nodes[0].record, nodes[0].world, &like);
  EXPECT_EQ(result.reason, "latency where link=network has 1 value, its peers judge from 5");
}

}  // namespace
}  // namespace muster::testing
