#include "base/clock.hpp"
#include "probes/clock_skew/exchange.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"

namespace muster::clock_skew {
namespace {

const ProbeSpec& probe() {
  return *find_probe("clock_skew");
}

Observation clock_at(double offset_us, double uncertainty_us) {
  Observation seen;
  seen.readings.push_back({"offset", {}, {1, offset_us, offset_us, offset_us, offset_us, 0}});
  seen.readings.push_back({"uncertainty", {}, {1, uncertainty_us, uncertainty_us, uncertainty_us, uncertainty_us, 0}});
  return seen;
}

TEST(RoundTripTest, FollowsTheFormulaOfNtp) {
  // The other clock is 1000 ahead; 40 there, 60 back, 5 to answer.
  const auto found = offset_of({0, 1040, 1045, 105});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset_ns, 990);
  EXPECT_EQ(found->uncertainty_ns, 50);
}

TEST(RoundTripTest, TheTruthIsWithinTheUncertaintyHoweverLopsided) {
  for (const std::int64_t there : {0, 1, 50, 99, 100}) {
    const std::int64_t ahead = -7'000'000'000;
    const auto found = offset_of({500, 500 + there + ahead, 500 + there + ahead + 3, 603});
    ASSERT_TRUE(found);
    EXPECT_LE(std::abs(found->offset_ns - static_cast<double>(ahead)), found->uncertainty_ns) << there;
  }
}

TEST(RoundTripTest, AClockThatRanBackwardsSaysNothing) {
  EXPECT_FALSE(offset_of({100, 120, 121, 50}));
  EXPECT_FALSE(offset_of({100, 120, 110, 150}));
  EXPECT_FALSE(offset_of({100, 120, 200, 150})) << "answered for longer than it was away";
}

/// The whole exchange between rank 0 and the others, whose clocks are ahead by these nanoseconds.
std::vector<std::optional<Offset>> exchange(const std::vector<std::int64_t>& ahead) {
  std::vector<std::optional<Offset>> found(ahead.size());
  run_ranks(static_cast<int>(ahead.size()), [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const auto rank = static_cast<std::size_t>(comm.rank());
    const ReadClock now = [&] { return realtime_nanoseconds() + ahead[rank]; };
    for (int other = 1; comm.rank() == 0 && other < comm.size(); ++other) {
      const auto asked = ask_clock({comm, recorder, other, 20, now});
      ASSERT_TRUE(asked && *asked);
      EXPECT_EQ(recorder.steps.back(), "ask");
    }
    if (comm.rank() == 0) return;
    const auto answered = answer_clock({comm, recorder, 0, 20, now});
    ASSERT_TRUE(answered);
    found[rank] = *answered;
  });
  return found;
}

TEST(Exchange, FindsEachClocksOffset) {
  const std::vector<std::int64_t> ahead = {0, 2'000'000'000, -3'600'000'000'000, 0};
  const auto found = exchange(ahead);
  for (std::size_t rank = 1; rank < ahead.size(); ++rank) {
    ASSERT_TRUE(found[rank]) << rank;
    EXPECT_LE(std::abs(found[rank]->offset_ns - static_cast<double>(ahead[rank])), found[rank]->uncertainty_ns) << rank;
    EXPECT_LT(found[rank]->uncertainty_ns, 1e9) << rank;
  }
}

TEST(Exchange, RankZerosOwnClockMovesAllOthers) {
  const auto found = exchange({1'000'000'000, 0, 0});
  ASSERT_TRUE(found[1] && found[2]);
  EXPECT_NEAR(found[1]->offset_ns, -1e9, found[1]->uncertainty_ns);
  EXPECT_NEAR(found[2]->offset_ns, -1e9, found[2]->uncertainty_ns);
}

TEST(Exchange, BothSidesKnowThatNothingMadeSense) {
  run_ranks(2, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    std::int64_t time = 1'000'000;
    const ReadClock backwards = [&] { return time -= 10; };
    const auto found =
        comm.rank() == 0 ? ask_clock({comm, recorder, 1, 5, backwards}) : answer_clock({comm, recorder, 0, 5, backwards});
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, std::nullopt);
  });
}

TEST(ClockSkew, ClocksThatAgree) {
  MadeCase made(probe());
  made.rank("a", clock_at(0, 0)).rank("b", clock_at(30, 8)).rank("c", clock_at(-1200, 12));
  expect_evidence(made.judge(), "clocks of 3 nodes are within 1.2 ms (+-12 us) of their median");
}

TEST(ClockSkew, TheOddOneIsNamed) {
  MadeCase made(probe());
  made.rank("a", clock_at(0, 0)).rank("b", clock_at(3.2e6, 8)).rank("c", clock_at(10, 12));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "clock of b is 3.2 s ahead of the median of 3 nodes (+-20 us), limit 100 ms");
  EXPECT_EQ(judgement.findings[0].culprits.at(0), (Culprit{CulpritKind::node, "b", "b", 1}));
}

TEST(ClockSkew, RankZeroMayBeTheOddOne) {
  MadeCase made(probe());
  made.rank("a", clock_at(0, 0)).rank("b", clock_at(5e5, 8)).rank("c", clock_at(5e5, 12)).rank("d", clock_at(5e5, 9));
  expect_finding(made.judge(), Verdict::fail,
                 "clock of a is 500 ms behind the median of 4 nodes (+-10.5 us), limit 100 ms");
}

TEST(ClockSkew, HalfAgainstHalfNamesBoth) {
  MadeCase made(probe());
  made.rank("a", clock_at(0, 0)).rank("b", clock_at(3e5, 8)).rank("c", clock_at(20, 8)).rank("d", clock_at(3e5, 12));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "clocks of a and c are 300 ms behind those of b and d (+-16 us), limit 100 ms: half against half, "
                 "it is unknown which are right");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 4u);
}

TEST(ClockSkew, OfTwoBothAreNamed) {
  MadeCase made(probe(), {{"max_offset", "1ms"}});
  made.rank("a", clock_at(0, 0)).rank("b", clock_at(-1500, 8));
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail, "clocks of a and b are 1.5 ms apart (+-8 us), limit 1 ms");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 2u);
  MadeCase good(probe());
  good.rank("a", clock_at(0, 0)).rank("b", clock_at(-1500, 8));
  expect_evidence(good.judge(), "clocks of a and b are 1.5 ms apart (+-8 us)");
}

TEST(ClockSkew, WhatIsTooUncertainIsUnmeasured) {
  MadeCase made(probe());
  made.rank("a", clock_at(0, 0)).rank("b", clock_at(9e4, 2e4)).rank("c", clock_at(0, 8));
  expect_finding(made.judge(), Verdict::unmeasured,
                 "clock of b is 90 ms ahead of the median of 3 nodes (+-20.01 ms), limit 100 ms: too uncertain");
  MadeCase beyond(probe());
  beyond.rank("a", clock_at(0, 0)).rank("b", clock_at(1.1e5, 2e4)).rank("c", clock_at(0, 8));
  EXPECT_EQ(beyond.judge().findings.at(0).verdict, Verdict::unmeasured) << "nor is it a fail";
}

TEST(ClockSkew, OneNodeIsSkipped) {
  MadeCase made(probe());
  made.rank("a", clock_at(0, 0)).rank("a", std::vector<Fact>{});
  expect_finding(made.judge(), Verdict::skip, "one node has one clock: there is nothing to compare it with");
}

TEST(ClockSkew, ANodeWithoutAnOffsetIsUnmeasured) {
  MadeCase made(probe());
  made.rank("a", clock_at(0, 0)).rank("b", std::vector<Fact>{{"no_offset", "a clock ran backwards"}});
  expect_finding(made.judge(), Verdict::unmeasured, "clock of b gave no offset");
}

TEST(ClockSkew, SilenceIsNoEvidence) {
  MadeCase made(probe());
  made.rank("a", clock_at(0, 0)).rank("b", std::nullopt);
  const auto judgement = made.judge();
  EXPECT_TRUE(judgement.findings.empty()) << "the frame names the silent rank";
  EXPECT_TRUE(judgement.evidence.empty());
}

TEST(ClockSkew, RunsOverRealRanks) {
  const MadeCase made(probe(), {{"round_trips", "10"}});
  run_ranks(4, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const int local = comm.rank() % 2;
    const RankPlace place{.rank = comm.rank(),
                          .world_size = 4,
                          .local_rank = local,
                          .local_size = 2,
                          .node_index = comm.rank() / 2,
                          .node_count = 2,
                          .host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    const auto seen = probe().run(context);
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->readings.size(), local == 0 ? 2u : 0u) << "one rank speaks for its node";
    if (local != 0) return;
    const double offset = seen->readings[0].summary.median;
    const double uncertainty = seen->readings[1].summary.median;
    EXPECT_LE(std::abs(offset), uncertainty) << "it is the same clock";
    EXPECT_EQ(comm.rank() == 0, uncertainty == 0);
  });
}

TEST(ClockSkew, ACommThatFailsIsAnError) {
  const MadeCase made(probe());
  run_ranks(1, [&](ThreadComm& comm) {
    comm.calls_left = 0;
    SilentRecorder recorder;
    const RankPlace place{.host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    EXPECT_FALSE(probe().run(context));
  });
}

}  // namespace
}  // namespace muster::clock_skew
