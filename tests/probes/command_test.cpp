#include <signal.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "probes/judging.hpp"
#include "probes/program_metrics.hpp"
#include "run/thread_comm.hpp"

namespace muster {
namespace {

const ProbeSpec& command() {
  return *find_probe("command");
}

/// What `ranks` ranks see of a shell script.
std::vector<Result<Observation>> run_script(const std::string& script, const std::string& deadline = "20s",
                                            int ranks = 1, SilentRecorder* told = nullptr) {
  Params params = MadeCase(command(), {{"deadline", deadline}}).params();
  params.set("argv", *parse_param(command().params[0], std::vector<std::string>{"/bin/sh", "-c", script}));
  std::vector<Result<Observation>> all(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{
        .rank = comm.rank(), .world_size = ranks, .local_rank = comm.rank(), .local_size = ranks, .host = "nid001"};
    RunContext context{params, place, told != nullptr ? *told : recorder, comm, nullptr};
    all[static_cast<std::size_t>(comm.rank())] = command().run(context);
  });
  return all;
}

TEST(Command, EveryRankGetsItsPlaceAndTheSameMaster) {
  const auto seen =
      run_script("echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE; echo $MASTER_ADDR:$MASTER_PORT", "20s", 3);
  std::string master;
  for (int rank = 0; rank < 3; ++rank) {
    const auto& one = seen[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(one) << to_string(one.error());
    EXPECT_EQ(one->output.substr(0, one->output.find('\n')), fmt::format("{0} 3 {0} 3", rank));
    ASSERT_NE(one->fact("last_line"), nullptr);
    if (rank == 0) master = *one->fact("last_line");
    EXPECT_EQ(*one->fact("last_line"), master);
  }
  EXPECT_EQ(master.rfind("nid001:", 0), 0u);
  EXPECT_NE(master, "nid001:0");
}

TEST(Command, TheTokenIsNotForPrograms) {
  ::setenv("MUSTER_TOKEN", "sesame", 1);
  const auto seen = run_script("echo [$MUSTER_TOKEN]");
  ::unsetenv("MUSTER_TOKEN");
  EXPECT_EQ(*seen[0]->fact("last_line"), "[]");
}

TEST(Command, StatusSignalAndBothStreamsAreKept) {
  EXPECT_EQ(*run_script("exit 3")[0]->fact("status"), "3");
  const auto killed = run_script("echo out; echo err >&2; kill -SEGV $$");
  EXPECT_EQ(*killed[0]->fact("signal"), "11");
  EXPECT_EQ(killed[0]->output, "out\nerr\n");
  EXPECT_EQ(killed[0]->fact("status"), nullptr);
}

TEST(Command, IsEndedAtItsDeadlineWithItsChildren) {
  SilentRecorder recorder;
  const double begun = monotonic_seconds();
  // The grandchild holds the output open and does not mind TERM.
  const auto seen = run_script("trap '' TERM; sleep 60 & echo $!; wait; sleep 60", "200ms", 1, &recorder);
  EXPECT_LT(monotonic_seconds() - begun, 10);
  ASSERT_TRUE(seen[0]);
  EXPECT_NE(seen[0]->fact("deadline"), nullptr);
  EXPECT_EQ(*seen[0]->fact("signal"), "9");
  ASSERT_EQ(recorder.groups.size(), 2u);
  EXPECT_GT(recorder.groups[0], 1);
  EXPECT_EQ(recorder.groups[1], 0);
  const double until = monotonic_seconds() + 5;
  while (::kill(-recorder.groups[0], 0) == 0 && monotonic_seconds() < until) ::usleep(1000);
  EXPECT_NE(::kill(-recorder.groups[0], 0), 0);
}

TEST(Command, WhatItStartedInASessionOfItsOwnEndsWithIt) {
  const auto seen = run_script("setsid sleep 60 >/dev/null 2>&1 & sleep 0.1; echo $!", "10s");
  ASSERT_TRUE(seen[0]);
  const int left = std::atoi(seen[0]->output.c_str());
  ASSERT_GT(left, 1);
  EXPECT_NE(::kill(left, 0), 0);
}

TEST(Command, OnlyTheTailOfALongOutputIsKept) {
  const auto seen = run_script("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; printf 'end\\033[31m'");
  EXPECT_LE(seen[0]->output.size(), (64u << 10) + 16);
  EXPECT_EQ(*seen[0]->fact("last_line"), "end\\x1b[31m");
  EXPECT_EQ(seen[0]->output.rfind("line ", 0), 0u);
}

TEST(Command, MetricLinesBecomeReadings) {
  const auto seen = run_script(
      R"(echo '{"metric":"bw","value":12.5,"unit":"GB/s","where":{"size":"1MiB","n":2}}'; echo hi; printf '{"metric":"t","values":[1,2,9]}')");
  ASSERT_EQ(seen[0]->readings.size(), 2u);
  const Reading& bandwidth = seen[0]->readings[0];
  EXPECT_EQ(bandwidth.metric, "bw");
  EXPECT_EQ(bandwidth.unit, "GB/s");
  EXPECT_EQ(bandwidth.where, (Labels{{"n", "2"}, {"size", "1MiB"}}));
  EXPECT_EQ(bandwidth.summary.median, 12.5);
  EXPECT_EQ(seen[0]->readings[1].summary.n, 3);
  EXPECT_EQ(seen[0]->readings[1].summary.median, 2);
}

TEST(Command, BadMetricLinesAreFacts) {
  for (const std::string line :
       {R"({"metric")", R"({"metric":"x"})", R"({"metric":"x","value":1,"values":[1]})",
        R"({"metric":"x","value":"1"})", R"({"metric":"x","value":1,"unit":"parsecs"})",
        R"({"metric":"x","value":1,"colour":2})", R"({"metric":7,"value":1})", R"({"metric":"x","values":[]})",
        R"({"metric":"x","value":1,"where":[1]})", R"({"metric":"x","value":1e999})"}) {
    program::Output output(1000);
    output.feed(line.substr(0, 5));
    output.feed(line.substr(5) + "\n");
    output.finish();
    EXPECT_TRUE(output.readings.empty()) << line;
    EXPECT_EQ(output.bad_lines.size(), 1u) << line;
  }
}

TEST(Command, PrepareNamesAMissingProgram) {
  Params params = MadeCase(command()).params();
  params.set("argv", *parse_param(command().params[0], std::vector<std::string>{"no-such-program-here"}));
  SilentRecorder recorder;
  const RankPlace place{.host = "nid001"};
  const auto prepared = command().prepare(PrepareContext{params, place, recorder});
  ASSERT_FALSE(prepared);
  EXPECT_EQ(to_string(prepared.error()), "no-such-program-here: no such program on nid001");
}

TEST(Command, WhatCanNotBeExecutedIsAnError) {
  Params params = MadeCase(command()).params();
  params.set("argv", *parse_param(command().params[0], std::vector<std::string>{"/proc/self/status"}));
  run_ranks(1, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{.host = "nid001"};
    RunContext context{params, place, recorder, comm, nullptr};
    const auto seen = command().run(context);
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().kind, ErrorKind::launch);
  });
}

TEST(Command, JudgesTheEndOfEveryProgram) {
  MadeCase good(command());
  good.rank("a", {{"status", "0"}}).rank("b", {{"status", "0"}});
  expect_evidence(good.judge(), "2 of 2 programs exited with 0");

  MadeCase status(command());
  status.rank("a", {{"status", "0"}}).rank("a", {{"status", "3"}, {"last_line", "no licence"}});
  expect_finding(status.judge(), Verdict::fail, "rank 1 on a exited with 3 (expected 0); its last line: no licence");

  MadeCase signal(command());
  signal.rank("a", {{"signal", "11"}});
  expect_finding(signal.judge(), Verdict::fail, "rank 0 on a was ended by signal 11 (SIGSEGV); it printed nothing");

  MadeCase late(command(), {{"deadline", "5s"}});
  late.rank("a", {{"deadline", "passed"}, {"signal", "15"}, {"last_line", "x"}})
      .rank("b", {{"deadline", "passed"}, {"signal", "9"}})
      .rank("b", {{"status", "0"}});
  const auto judgement = late.judge();
  expect_finding(judgement, Verdict::fail,
                 "rank 0 on a did not end within 5s; its last line: x (and 1 more rank likewise)");
  EXPECT_EQ(judgement.findings[0].culprits.size(), 2u);
}

TEST(Command, AnotherStatusMayBeExpected) {
  MadeCase made(command(), {{"expect_status", "7"}});
  made.rank("a", {{"status", "7"}});
  expect_evidence(made.judge(), "1 of 1 programs exited with 7");
}

TEST(Command, AMetricThatCanNotBeReadIsUnmeasured) {
  MadeCase made(command());
  made.rank("a", {{"status", "0"}, {"bad_metric_line", "is not JSON: {\"metric\""}});
  expect_finding(made.judge(), Verdict::unmeasured,
                 "rank 0 on a printed a metric that can't be read: is not JSON: {\"metric\"");
}

}  // namespace
}  // namespace muster
