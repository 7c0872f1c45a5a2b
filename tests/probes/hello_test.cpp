#include "probes/judging.hpp"
#include "run/thread_comm.hpp"

namespace muster {
namespace {

const ProbeSpec& hello() {
  return *find_probe("hello");
}

TEST(Hello, EveryRankAnswering) {
  MadeCase made(hello());
  for (const char* host : {"a", "a", "b", "b"}) made.rank(host, {{"answers", "4 of 4"}});
  expect_evidence(made.judge(), "4 of 4 ranks on 2 nodes answered");
}

TEST(Hello, AWrongAnswerNamesTheRankThatGotIt) {
  MadeCase made(hello());
  made.rank("a", {{"answers", "2 of 2"}}).rank("b", {{"fault", "rank 0 answered as rank 7"}, {"answers", "1 of 2"}});
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail, "rank 1 on b got 1 of 2 right answers: rank 0 answered as rank 7");
  EXPECT_EQ(judgement.findings[0].culprits.at(0), (Culprit{CulpritKind::rank, "rank 1", "b", 1}));
}

TEST(Hello, AnAnswerThatClaimsTooFewIsAFault) {
  MadeCase made(hello());
  made.rank("a", {{"answers", "1 of 1"}}).rank("a", {{"answers", "2 of 2"}});
  expect_finding(made.judge(), Verdict::fail, "rank 0 on a got 1 of 1 right answers");
}

TEST(Hello, SilenceIsNoEvidence) {
  MadeCase made(hello());
  made.rank("a", std::nullopt);
  Observation failed;
  failed.state = ObservationState::failed;
  made.rank("a", failed);
  const auto judgement = made.judge();
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_TRUE(judgement.evidence.empty());
}

TEST(Hello, RunsOverRealRanks) {
  const MadeCase made(hello(), {{"repetitions", "5"}, {"warmups", "1"}});
  run_ranks(3, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{.rank = comm.rank(), .world_size = 3, .host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    const auto seen = hello().run(context);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->readings.at(0).metric, "barrier");
    EXPECT_EQ(seen->readings[0].summary.n, 5);
    EXPECT_GT(seen->readings[0].summary.max, 0);
    EXPECT_EQ(*seen->fact("answers"), "3 of 3");
    EXPECT_EQ(recorder.steps, (std::vector<std::string>{"barrier", "gather"}));
  });
}

TEST(Hello, ACommThatFailsIsAnError) {
  const MadeCase made(hello());
  for (const int calls : {0, 1, 23}) {
    run_ranks(1, [&](ThreadComm& comm) {
      comm.calls_left = calls;
      SilentRecorder recorder;
      const RankPlace place{.host = "a"};
      RunContext context{made.params(), place, recorder, comm, nullptr};
      EXPECT_FALSE(hello().run(context)) << calls;
    });
  }
}

}  // namespace
}  // namespace muster
