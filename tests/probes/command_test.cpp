#include <fmt/format.h>
#include <fstream>
#include <signal.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "model/program_metric.hpp"
#include "probes/command/output.hpp"
#include "probes/judging.hpp"
#include "run/thread_comm.hpp"

namespace muster {
namespace {

const ProbeSpec& command() {
  return *find_probe("command");
}

/// What `ranks` ranks see of a shell script.
std::vector<Result<Observation>> run_with(const Params& params, int ranks = 1, SilentRecorder* reported = nullptr,
                                          const std::string& host = "nid001.invalid", const std::string& folder = {}) {
  std::vector<Result<Observation>> all(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{
        .rank = comm.rank(), .world_size = ranks, .local_rank = comm.rank(), .local_size = ranks, .host = host};
    RunContext context{params, place, reported != nullptr ? *reported : recorder, comm, nullptr, {}, folder};
    all[static_cast<std::size_t>(comm.rank())] = command().run(context);
  });
  return all;
}

Params argv_of(std::vector<std::string> words, std::vector<std::pair<std::string, std::string>> others = {}) {
  Params params = MadeCase(command(), std::move(others)).params();
  params.set("argv", *parse_param(command().params[0], words));
  return params;
}

std::vector<Result<Observation>> run_script(const std::string& script, const std::string& deadline = "20s",
                                            int ranks = 1, SilentRecorder* reported = nullptr) {
  return run_with(argv_of({"/bin/sh", "-c", script}, {{"deadline", deadline}}), ranks, reported);
}

std::vector<std::string> facts(const Observation& seen, std::string_view key) {
  std::vector<std::string> all;
  for (const Fact& fact : seen.facts)
    if (fact.key == key) all.push_back(fact.value);
  return all;
}

TEST(CommandJudge, SaysByWhichPythonAlsoOfAFailure) {
  const Fact python{"interpreter", "/venv/bin/python3 (Python 3.11.2)"};
  MadeCase good(command());
  good.rank("a", {{"status", "0"}, python}).rank("b", {{"status", "0"}, python});
  const auto passed = good.judge();
  EXPECT_TRUE(passed.findings.empty());
  EXPECT_EQ(passed.evidence.back(), "run by /venv/bin/python3 (Python 3.11.2)");
  MadeCase bad(command());
  bad.rank("a", {{"status", "1"}, python}).rank("b", {{"status", "0"}, {"interpreter", "/b (Python 3.9)"}});
  const auto failed = bad.judge();
  ASSERT_EQ(failed.findings.size(), 1u);
  EXPECT_EQ(failed.evidence, std::vector<std::string>{"run by /venv/bin/python3 (Python 3.11.2) and /b (Python 3.9)"});
  MadeCase skipped(command());
  skipped.rank("a", {{"status", "0"}, python, {"finding", R"({"reason":"x","remedy":"y","verdict":"skip"})"}});
  EXPECT_TRUE(skipped.judge().evidence.empty()) << "a skip with evidence would owe its metrics";
}

TEST(CommandJudge, WhatShouldBeTheSameNamesWhoDiffers) {
  const auto with = [](const std::string& torch) { return std::vector<Fact>{{"status", "0"}, {"same.torch", torch}}; };
  MadeCase good(command());
  good.rank("a", with("2.7.1")).rank("b", with("2.7.1"));
  EXPECT_TRUE(good.judge().findings.empty());
  MadeCase node(command());
  node.rank("a", with("2.7.1"))
      .rank("a", with("2.7.1"))
      .rank("b", with("2.7.1"))
      .rank("c", with("2.4.0"))
      .rank("c", with("2.4.0"));
  const auto found = node.judge();
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].verdict, Verdict::fail);
  EXPECT_EQ(found.findings[0].reason, "torch is \"2.7.1\" on 3 of 5 ranks, but \"2.4.0\" on c");
  EXPECT_EQ(found.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::node, "c", "c", -1}}));
  MadeCase tie(command());
  tie.rank("a", with("2.7.1")).rank("b", with("2.4.0"));
  EXPECT_EQ(tie.judge().findings.at(0).reason, "torch is \"2.7.1\" on a, but \"2.4.0\" on b");
  EXPECT_EQ(tie.judge().findings.at(0).culprits, (std::vector<Culprit>{{CulpritKind::setting, "torch", "", -1}}))
      << "without a majority no node is named";
  MadeCase rank(command());
  rank.rank("a", with("1")).rank("a", with("1")).rank("a", with("2"));
  EXPECT_EQ(rank.judge().findings.at(0).culprits, (std::vector<Culprit>{{CulpritKind::setting, "torch", "", -1}}))
      << "on the only node";
  rank.rank("b", with("1"));
  EXPECT_EQ(rank.judge().findings.at(0).culprits.at(0), (Culprit{CulpritKind::rank, "rank 2", "a", 2}));
  MadeCase everywhere(command());
  for (const char* node : {"a", "b", "c", "d"}) everywhere.rank(node, with(std::string("up since ") + node));
  EXPECT_EQ(everywhere.judge().findings.at(0).culprits, (std::vector<Culprit>{{CulpritKind::program, "argv", "", -1}}));
  EXPECT_EQ(everywhere.judge().findings.at(0).remedy,
            "print under \"same\" only what must be equal everywhere: torch differs on every rank");
  MadeCase half(command());
  half.rank("a", with("1")).rank("b", with("1")).rank("c", with("2")).rank("d", with("3"));
  EXPECT_EQ(half.judge().findings.at(0).culprits, (std::vector<Culprit>{{CulpritKind::setting, "torch", "", -1}}));
  MadeCase silent(command());
  silent.rank("a", with("1")).rank("b", {{"status", "0"}});
  EXPECT_TRUE(silent.judge().findings.empty()) << "a rank that says nothing is not compared";
}

TEST(Command, WhatShouldBeTheSameIsRead) {
  const auto seen = run_script(R"(echo '{"same": {"torch": "2.7.1", "file": "/x"}}'; echo '{"same": {"torch": 3}}')");
  ASSERT_TRUE(seen[0]);
  ASSERT_NE(seen[0]->fact("same.torch"), nullptr);
  EXPECT_EQ(*seen[0]->fact("same.torch"), "2.7.1");
  EXPECT_EQ(*seen[0]->fact("same.file"), "/x");
  ASSERT_NE(seen[0]->fact("bad_same_line"), nullptr);
  EXPECT_NE(seen[0]->fact("bad_same_line")->find("whose name is empty or whose value is not a text"),
            std::string::npos);
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
  // No name of .invalid resolves: an address takes its place.
  EXPECT_NE(master.rfind("nid001.invalid:", 0), 0u);
  EXPECT_NE(master.rfind(':'), master.npos);
  EXPECT_GT(std::atoi(master.c_str() + master.rfind(':') + 1), 0);
}

TEST(Command, TheTokenIsNotForPrograms) {
  ::setenv("MUSTER_KEY", "sesame", 1);
  const auto seen = run_script("echo [$MUSTER_KEY]");
  ::unsetenv("MUSTER_KEY");
  EXPECT_EQ(*seen[0]->fact("last_line"), "[]");
}

TEST(Command, WhatTorchrunLeftIsNotForPrograms) {
  ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  const auto seen = run_script("echo [$TORCHELASTIC_USE_AGENT_STORE]");
  ::unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  EXPECT_EQ(*seen[0]->fact("last_line"), "[]");
}

TEST(Command, AllRanksOfAStartKnowItsWordAndNoOtherDoes) {
  const auto first = run_script("echo $MUSTER_MEETING; echo $MASTER_ADDR $MASTER_PORT", "20s", 2);
  const auto second = run_script("echo $MUSTER_MEETING", "20s", 1);
  const std::string& output = first[0]->output;
  EXPECT_EQ(output, first[1]->output);
  const std::size_t space = output.find(' ');
  ASSERT_EQ(space, 16u) << output;
  EXPECT_EQ(output.substr(space + 1, output.find('\n') - space - 1), *first[0]->fact("last_line"));
  EXPECT_NE(output.substr(0, space), second[0]->output.substr(0, space));
}

TEST(Command, StatusSignalAndBothStreamsAreKept) {
  EXPECT_EQ(*run_script("exit 3")[0]->fact("status"), "3");
  const auto killed = run_script("echo out; echo err >&2; kill -SEGV $$");
  EXPECT_EQ(*killed[0]->fact("signal"), "11");
  EXPECT_EQ(killed[0]->output, "out\nerr\n");
  EXPECT_EQ(killed[0]->fact("status"), nullptr);
}

TEST(Command, AStoppedProgramIsCalledSo) {
  MadeCase stopped(command());
  stopped.rank("a", {{"status", "1"}, {"finding", R"({"reason":"lost rank 1","remedy":"look","consequence":true})"}})
      .rank("b", {{"stopped", "6"}, {"signal", "9"}, {"last_line", "epoch 2"}})
      .rank("c", {{"status", "1"}, {"finding", R"({"reason":"lost rank 1","remedy":"look","consequence":true})"}});
  const auto findings = stopped.judge().findings;
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].reason,
            "rank 1 on b was stopped (SIGSTOP or SIGTSTP) for 6 s and ended for it; its last line: epoch 2");
  EXPECT_EQ(findings[0].culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 1", "b", 1}}));
  EXPECT_NE(findings[0].remedy.find("see who stops processes"), std::string::npos) << findings[0].remedy;
}

TEST(Command, AnExportedAddressThatIsWrongFailsProgramsThatMeetByIt) {
  const Fact wrong{"wrong_address", "MASTER_ADDR=x: the name can't be resolved (no such name)"};
  MadeCase plain(command());
  plain.rank("a", {{"status", "0"}}).rank("b", {{"status", "0"}, wrong});
  EXPECT_TRUE(plain.judge().findings.empty()) << "a program without torch need not use it";
  MadeCase torch(command(), {{"imports", "torch"}});
  torch.rank("a", {{"status", "0"}, wrong}).rank("b", {{"status", "0"}, wrong});
  const auto findings = torch.judge().findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].reason,
            "MASTER_ADDR=x: the name can't be resolved (no such name), seen from a; rank 0 is on a");
  EXPECT_EQ(findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "MASTER_ADDR", "", -1}}));
  EXPECT_NE(findings[0].remedy.find("export MASTER_ADDR=a"), std::string::npos);
  MadeCase silent(command(), {{"imports", "torch"}});
  silent.rank("a", std::optional<Observation>()).rank("b", {{"status", "0"}, wrong});
  const auto of_the_others = silent.judge().findings;
  ASSERT_EQ(of_the_others.size(), 1u);
  EXPECT_EQ(of_the_others[0].reason,
            "MASTER_ADDR=x: the name can't be resolved (no such name), seen from b; rank 0 is on a");
}

TEST(Command, AnExportedAddressOfAnotherNodeOfTheJobIsNoted) {
  const Fact elsewhere{"address_elsewhere", "MASTER_ADDR=n1: rank 0 does not answer at 10.0.0.1"};
  MadeCase torch(command(), {{"imports", "torch"}});
  torch.rank("n2", {{"status", "0"}, elsewhere}).rank("n3", {{"status", "0"}, elsewhere});
  const auto findings = torch.judge().findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].verdict, Verdict::pass);
  EXPECT_EQ(findings[0].reason,
            "MASTER_ADDR=n1: rank 0 does not answer at 10.0.0.1, seen from n2; rank 0 is on n2 in this run");
  EXPECT_TRUE(findings[0].culprits.empty());
  ::setenv("MASTER_ADDR", "nowhere.invalid", 1);
  ::setenv("SLURM_JOB_NODELIST", "nowhere[1-2],nowhere", 1);
  const auto seen = run_script("true");
  ::setenv("SLURM_JOB_NODELIST", "nowhere[1-2]", 1);
  const auto other = run_script("true");
  ::unsetenv("SLURM_JOB_NODELIST");
  ::unsetenv("MASTER_ADDR");
  ASSERT_TRUE(seen[0] && other[0]);
  EXPECT_NE(seen[0]->fact("address_elsewhere"), nullptr);
  EXPECT_EQ(seen[0]->fact("wrong_address"), nullptr);
  EXPECT_NE(other[0]->fact("wrong_address"), nullptr);
}

TEST(Command, TheExportedAddressIsTried) {
  ::setenv("MASTER_ADDR", "nowhere.invalid", 1);
  const auto bad = run_script("echo $MASTER_ADDR");
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  const auto good = run_script("true");
  ::unsetenv("MASTER_ADDR");
  ASSERT_TRUE(bad[0] && good[0]);
  ASSERT_NE(bad[0]->fact("wrong_address"), nullptr);
  EXPECT_TRUE(bad[0]->fact("wrong_address")->starts_with("MASTER_ADDR=nowhere.invalid: the name can't be resolved"));
  EXPECT_NE(*bad[0]->fact("last_line"), "nowhere.invalid") << "the program gets muster's own";
  EXPECT_EQ(good[0]->fact("wrong_address"), nullptr);
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

TEST(Command, TheHostNameIsTheMasterWhereItIsReached) {
  EXPECT_EQ(*run_with(argv_of({"/bin/sh", "-c", "echo $MASTER_ADDR"}), 2, nullptr, "localhost")[1]->fact("last_line"),
            "localhost");
}

TEST(Command, ArgumentsFollowAndTheFolderIsFilledIn) {
  const auto seen =
      run_with(argv_of({"echo", "{check}/passwd", "--file={check}/b", "${check}"}, {{"arguments", "c,{check}/passwd"}}),
               1, nullptr, "nid001", "/etc");
  EXPECT_EQ(*seen[0]->fact("last_line"), "/etc/passwd --file=/etc/b ${check} c /etc/passwd");
  const auto script = run_with(argv_of({"sh", "-c", "{check}/echo a | cat"}), 1, nullptr, "nid001", "/bin");
  EXPECT_EQ(*script[0]->fact("last_line"), "a") << "the whole word is not a path";
}

TEST(Command, AFileOfTheCheckMustBeThere) {
  const auto seen = run_with(argv_of({"sh", "{check}/no-such-script.sh"}), 2, nullptr, "nid001", "/tmp");
  for (const auto& one : seen) {
    ASSERT_TRUE(one) << to_string(one.error());
    ASSERT_NE(one->fact("lack_what"), nullptr);
    EXPECT_EQ(*one->fact("lack_what"), "/tmp/no-such-script.sh does not exist");
    EXPECT_EQ(one->fact("status"), nullptr) << "nothing was started";
  }
}

TEST(Command, FindingsAndEvidenceAreTold) {
  const auto seen = run_script(
      R"(echo '{"finding":{"reason":"port 1 is in use","remedy":"take another","culprits":[{"setting":"MASTER_PORT"}]}}'
echo '{"evidence":"all is well"}'; echo '{"evidence":7}'; echo '{"finding":{"reason":"x"}}')");
  EXPECT_EQ(facts(*seen[0], "finding").size(), 1u);
  EXPECT_EQ(facts(*seen[0], "evidence"), std::vector<std::string>{"all is well"});
  EXPECT_EQ(facts(*seen[0], "bad_evidence_line"), std::vector<std::string>{R"(is not text: {"evidence":7})"});
  EXPECT_EQ(facts(*seen[0], "bad_finding_line"),
            std::vector<std::string>{R"(has no remedy: {"finding":{"reason":"x"}})"});
}

TEST(Command, DamagedFindingsAreFacts) {
  for (const std::string content :
       {R"(7)", R"({})", R"({"reason":"","remedy":"b"})", R"({"reason":"a","remedy":"b","colour":1})",
        R"({"reason":"a","remedy":"b","verdict":"pass"})", R"({"reason":"a","remedy":"b","verdict":7})",
        R"({"reason":"a","remedy":"b","consequence":1})", R"({"reason":"a","remedy":"b","culprits":{}})",
        R"({"reason":"a","remedy":"b","culprits":[{}]})", R"({"reason":"a","remedy":"b","culprits":[{"rank":"1"}]})",
        R"({"reason":"a","remedy":"b","culprits":[{"moon":"1"}]})",
        R"({"reason":"a","remedy":"b","culprits":[{"rank":1,"setting":"x"}]})"}) {
    EXPECT_FALSE(program::read_result_line("finding", "{\"finding\":" + content + "}")) << content;
    const auto reported = program::to_program_finding(content, RankPlace{.host = "a"}, {});
    EXPECT_EQ(reported.finding.verdict, Verdict::unmeasured) << content;
  }
  EXPECT_FALSE(program::read_result_line("finding", R"({"finding":{"reason":"a","remedy":"b"},"more":1})"));
  EXPECT_FALSE(program::read_result_line("evidence", R"({"evidence":"x")"));
}

constexpr const char* not_seen =
    R"({"reason":"rank 1 did not come","remedy":"look there","culprits":[{"rank":1},{"rank":99}],"consequence":true})";

TEST(Command, CausesStandBeforeConsequences) {
  MadeCase killed(command());
  killed.rank("a", {{"status", "1"}, {"finding", not_seen}, {"evidence", "half of it was right"}})
      .rank("b", {{"signal", "9"}});
  auto judgement = killed.judge();
  ASSERT_EQ(judgement.findings.size(), 2u) << "the status of a program that said why it fails is nothing new";
  EXPECT_EQ(judgement.findings[0].reason, "rank 1 on b was ended by signal 9 (SIGKILL); it printed nothing");
  EXPECT_EQ(judgement.findings[1].reason, "rank 1 did not come");
  EXPECT_EQ(judgement.findings[1].culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 1", "b", 1}}));
  EXPECT_TRUE(judgement.evidence.empty());

  MadeCase three(command());
  three.rank("a", {{"status", "1"}, {"finding", not_seen}})
      .rank("b", {{"signal", "9"}})
      .rank("c", {{"status", "1"}, {"finding", not_seen}});
  EXPECT_EQ(three.judge().findings.at(0).culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 1", "b", 1}}))
      << "the others only follow";

  MadeCase misled(command());
  misled.rank("a", {{"status", "1"}, {"finding", not_seen}})
      .rank("b", {{"status", "1"}, {"finding", R"({"reason":"can't reach x","remedy":"set MASTER_ADDR",
        "culprits":[{"setting":"MASTER_ADDR"}]})"}});
  judgement = misled.judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].reason, "can't reach x");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "MASTER_ADDR", "b", 1}}));
}

TEST(Command, WhatManyRanksTellIsOneFinding) {
  MadeCase made(command());
  for (const char* node : {"a", "b", "c"})
    made.rank(node, {{"status", "0"}, {"finding", R"({"reason":"no GPU","remedy":"ask for one"})"}});
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail, "no GPU");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::program, "argv", "", -1}}));
}

TEST(CommandBlame, AFindingOfMostNodesIsNoNodesFault) {
  const auto culprits = [](const std::vector<std::string>& bad, const std::vector<std::string>& good,
                           const std::string& more) {
    MadeCase made(command());
    const Fact status{"status", "0"};
    for (const std::string& node : good) made.rank(node, {status});
    for (const std::string& node : bad)
      made.rank(node, {status, {"finding", R"({"reason":"slow","remedy":"y")" + more + "}"}});
    const auto judgement = made.judge();
    EXPECT_EQ(judgement.findings.at(0).verdict, Verdict::fail);
    EXPECT_EQ(judgement.findings.at(0).reason, "slow");
    return judgement.findings.at(0).culprits;
  };
  using All = std::vector<Culprit>;
  const All program{{CulpritKind::program, "argv", "", -1}};
  EXPECT_EQ(culprits({"a"}, {}, ""), program) << "the only node";
  EXPECT_EQ(culprits({"a"}, {}, R"(,"culprits":[{"node":"a"}])"), program);
  EXPECT_EQ(culprits({"a"}, {}, R"(,"culprits":[{"device":"GPU 3"}])"), (All{{CulpritKind::device, "GPU 3", "", 0}}));
  EXPECT_EQ(culprits({"a"}, {}, R"(,"culprits":[{"rank":0}])"), (All{{CulpritKind::rank, "rank 0", "", 0}}));
  EXPECT_EQ(culprits({"a"}, {"a"}, ""), (All{{CulpritKind::rank, "rank 1", "", 1}})) << "one rank of the only node";
  EXPECT_EQ(culprits({"a", "b", "c"}, {"d"}, R"(,"culprits":[{"node":"a"},{"node":"b.site"},{"node":"c"}])"), program);
  EXPECT_EQ(culprits({"a"}, {"b"}, ""), (All{{CulpritKind::rank, "rank 1", "a", 1}}))
      << "another node shows that it works";
  EXPECT_EQ(culprits({"a"}, {"b", "c"}, R"(,"culprits":[{"node":"c"}])"), (All{{CulpritKind::node, "c", "c", -1}}));
  EXPECT_EQ(culprits({"a", "b"}, {"c", "d"}, "").size(), 2u) << "at most half";
}

/// The finding about rank 0, which has these facts, beside three nodes whose programs ended well.
Finding of_rank_0_alone(std::vector<Fact> facts, const std::vector<std::string>& hosts = {"a", "b", "c", "d"}) {
  MadeCase made(command());
  made.rank(hosts[0], std::move(facts));
  for (std::size_t i = 1; i < hosts.size(); ++i) made.rank(hosts[i], {{"status", "0"}, {"same.x", "1"}});
  const auto judgement = made.judge();
  EXPECT_EQ(judgement.findings.size(), 1u);
  return judgement.findings.at(0);
}

const Culprit rank_0{CulpritKind::rank, "rank 0", "", 0};
const std::vector<Culprit> rank_0_alone{rank_0};

TEST(CommandBlame, WhatRank0AloneDoesWrongIsHeldAgainstNoNode) {
  const Fact status{"status", "0"};
  const Finding ended = of_rank_0_alone({{"status", "3"}, {"last_line", "cat: /input: No such file or directory"}});
  EXPECT_EQ(ended.reason,
            "rank 0 on a exited with 3 (expected 0); its last line: cat: /input: No such file or directory");
  EXPECT_EQ(ended.culprits, rank_0_alone);
  EXPECT_EQ(ended.remedy,
            "run it once more without a (--nodes 'b,c,d'): if rank 0 fails there, too, correct what rank 0 alone does "
            "in the program, otherwise look at a");
  for (const std::vector<Fact>& facts :
       std::vector<std::vector<Fact>>{{{"deadline", "5.0"}, {"signal", "15"}},
                                      {status, {"unprinted", "^finished"}},
                                      {status, {"bad_metric_line", "x"}},
                                      {status, {"same.x", "2"}},
                                      {status, {"finding", R"({"reason":"slow","remedy":"y"})"}}}) {
    const Finding found = of_rank_0_alone(facts);
    EXPECT_EQ(found.culprits, rank_0_alone) << found.reason;
    EXPECT_NE(found.remedy.find("run it once more without a"), std::string::npos) << found.remedy;
  }
  const Finding file =
      of_rank_0_alone({status, {"finding", R"({"reason":"x","remedy":"y","culprits":[{"file":"/f"}]})"}});
  EXPECT_EQ(file.culprits, (std::vector<Culprit>{{CulpritKind::file, "/f", "", 0}, rank_0}));
  EXPECT_EQ(of_rank_0_alone({{"status", "3"}}, {"a", "b"}).culprits, rank_0_alone) << "of two nodes, too";
  EXPECT_EQ(of_rank_0_alone({{"status", "3"}}, {"a", "a", "b"}).culprits, rank_0_alone)
      << "the node's other rank works";
}

TEST(CommandBlame, WhatShowsTheNodeOfRank0IsHeldAgainstIt) {
  const Fact status{"status", "0"};
  EXPECT_EQ(of_rank_0_alone({{"signal", "7"}}).culprits.at(0).node, "a") << "a crash";
  EXPECT_EQ(of_rank_0_alone({{"lack", "/x"}, {"lack_what", "/x does not exist"}}).culprits.at(0).node, "a")
      << "each rank looks for the program";
  for (const char* culprit : {R"({"node":"a"})", R"({"rank":0})", R"({"device":"GPU 3"})"}) {
    const auto text = fmt::format(R"({{"reason":"x","remedy":"y","culprits":[{}]}})", culprit);
    EXPECT_EQ(of_rank_0_alone({status, {"finding", text}}).culprits.at(0).node, "a") << text;
  }
  MadeCase both(command());
  both.rank("a", {{"status", "1"}, {"last_line", "/scratch: No such file or directory"}})
      .rank("a", {{"status", "1"}, {"last_line", "/scratch: No such file or directory"}});
  for (const char* node : {"b", "c"}) both.rank(node, {status});
  EXPECT_EQ(both.judge().findings.at(0).culprits.at(0).node, "a") << "other ranks of the node, too";
}

TEST(CommandBlame, ConsequencesOnMostNodesLeaveTheCauseWhereItIs) {
  MadeCase made(command());
  for (const char* node : {"b", "c", "d"})
    made.rank(node, {{"status", "1"}, {"finding", R"({"reason":"rank 3 is gone","remedy":"y","consequence":true})"}});
  made.rank("a", {{"status", "1"}, {"finding", R"({"reason":"bad disk","remedy":"y"})"}});
  const auto judgement = made.judge();
  EXPECT_EQ(judgement.findings.at(0).culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 3", "a", 3}}));
  for (const Culprit& culprit : judgement.findings.at(1).culprits) EXPECT_EQ(culprit.node, "");
}

TEST(Command, AFileThatManyRanksNameIsOneCulprit) {
  MadeCase made(command());
  for (const char* node : {"a", "a", "b"})
    made.rank(node, {{"status", "1"}, {"finding", R"({"reason":"x","remedy":"y","culprits":[{"file":"/f"}]})"}});
  EXPECT_EQ(made.judge().findings.at(0).culprits, (std::vector<Culprit>{{CulpritKind::file, "/f", "", 0}}));
  for (const char* node : {"c", "d"}) made.rank(node, {{"status", "0"}});
  EXPECT_EQ(made.judge().findings.at(0).culprits,
            (std::vector<Culprit>{{CulpritKind::file, "/f", "a", 0}, {CulpritKind::file, "/f", "b", 2}}));
}

TEST(Command, EvidenceOfProgramsIsToldOnce) {
  MadeCase made(command());
  made.rank("a", {{"status", "0"}, {"evidence", "right"}}).rank("b", {{"status", "0"}, {"evidence", "right"}});
  const auto judgement = made.judge();
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.evidence, (std::vector<std::string>{"right", "2 of 2 programs exited with 0"}));
}

TEST(Command, NoInterpreterAnywhereIsAnErrorOfTheCheck) {
  const auto seen = run_with(argv_of({"{python}", "-c", "pass"}, {{"imports", "no_such_module"}}), 2);
  for (const auto& one : seen) {
    ASSERT_NE(one->fact("absent"), nullptr);
    EXPECT_EQ(one->fact("status"), nullptr) << "nothing was started";
  }
  MadeCase nowhere(command());
  nowhere.rank("a", {{"absent", "no python3 on PATH has tirch: /usr/bin/python3"}})
      .rank("b", {{"absent", "no python3 on PATH has tirch: /usr/bin/python3"}});
  const auto judgement = nowhere.judge();
  expect_finding(judgement, Verdict::error, "no python3 on PATH has tirch: /usr/bin/python3");
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::program, "python3", "", -1}}));
  EXPECT_EQ(judgement.findings[0].remedy.find("correct the check's `imports`"), 0u);
}

TEST(Command, ACheckForSomeClustersAloneIsSkippedWhereNoNodeHasItsModules) {
  MadeCase nowhere(command(), {{"missing", "skip"}});
  nowhere.rank("a", {{"absent", "no python3 on PATH has torch: /usr/bin/python3"}})
      .rank("b", {{"absent", "no python3 on PATH has torch: /usr/bin/python3"}});
  expect_finding(nowhere.judge(), Verdict::skip, "no python3 on PATH has torch: /usr/bin/python3");
}

TEST(Command, AModuleThatIsMisspeltIsFound) {
  const auto seen = run_with(argv_of({"{python}", "-c", "pass"}, {{"imports", "jsom"}}));
  const std::string* lack = seen[0]->fact("absent");
  ASSERT_NE(lack, nullptr);
  if (*lack == "no python3 on PATH") GTEST_SKIP() << "skipped: " << *lack;
  EXPECT_NE(lack->find("has jsom"), lack->npos) << *lack;
  EXPECT_TRUE(lack->ends_with("; did you mean \"json\"?")) << *lack;
}

TEST(Command, AnInterpreterOnMostNodesOnlyIsAFaultOfTheOthers) {
  MadeCase half(command());
  half.rank("a", {{"not_started", "x"}}).rank("b", {{"absent", "no python3 on PATH has torch: /usr/bin/python3"}});
  EXPECT_EQ(half.judge().findings.at(0).verdict, Verdict::error) << "of two nodes neither is the usual one";
  EXPECT_EQ(half.judge().findings.at(0).culprits.at(0).node, "");
  MadeCase made(command());
  made.rank("a", {{"not_started", "x"}})
      .rank("b", {{"absent", "no python3 on PATH has torch: /usr/bin/python3"}})
      .rank("c", {{"not_started", "x"}});
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "b: no python3 on PATH has torch: /usr/bin/python3, though other nodes have one that does");
  EXPECT_EQ(judgement.findings[0].culprits[0].node, "b");
}

TEST(Command, ANamedInterpreterMustDo) {
  MadeCase made(command(), {{"python", "/opt/python"}});
  made.rank("a", {{"absent", "there is no /opt/python"}});
  expect_finding(made.judge(), Verdict::error, "a: there is no /opt/python");
}

TEST(Command, TheInterpreterIsFilledIn) {
  // The standard library is in every Python; a module of the current folder is not asked for.
  const auto seen =
      run_with(argv_of({"{python}", "-c", "import sys; print(sys.executable)"}, {{"imports", "json,sqlite3"}}), 2);
  for (const auto& one : seen) {
    if (one->fact("absent") != nullptr) GTEST_SKIP() << "skipped: " << *one->fact("absent");
    EXPECT_EQ(*one->fact("status"), "0");
    EXPECT_NE(one->fact("last_line")->find("python"), std::string::npos);
  }
}

std::string lack_of(const std::string& program) {
  const auto seen = run_with(argv_of({program}));
  const std::string* what = seen[0] ? seen[0]->fact("lack_what") : nullptr;
  return what == nullptr ? "" : *what;
}

TEST(Command, WhatCanNotBeStartedIsNamed) {
  EXPECT_EQ(lack_of("no-such-program-here"), "no-such-program-here is not on PATH");
  EXPECT_EQ(lack_of("/no/such/program"), "/no/such/program does not exist");
  EXPECT_EQ(lack_of("/etc/passwd"), "/etc/passwd is not executable");
  EXPECT_EQ(lack_of("/usr/bin"), "/usr/bin is a directory");
  EXPECT_EQ(lack_of("mychecks/x.sh").find("mychecks/x.sh does not exist below /"), 0u);
}

std::string remedy_of(const std::string& program) {
  const auto seen = run_with(argv_of({program}));
  const std::string* remedy = seen[0] ? seen[0]->fact("lack_remedy") : nullptr;
  return remedy == nullptr ? "" : *remedy;
}

TEST(Command, AFileInTheCurrentFolderIsNotOnPath) {
  const std::string name = "muster-stream-" + std::to_string(::getpid());
  const fs::path file = fs::current_path() / name;
  const std::string what =
      name + " is not on PATH; the file of that name in " + fs::current_path().string() + " is not searched for";
  const std::string remedy = "write argv = [\"./" + name + "\"] for that file, or argv = [\"{check}/" + name +
                             "\"] for one beside the check file";
  std::ofstream(file) << "#!/bin/sh\n";
  fs::permissions(file, fs::perms::owner_all);
  EXPECT_EQ(lack_of(name), what);
  EXPECT_EQ(remedy_of(name), remedy);
  fs::permissions(file, fs::perms::owner_read);
  EXPECT_EQ(lack_of(name), what);
  EXPECT_EQ(remedy_of(name), remedy + "; it also needs chmod +x " + name);
  EXPECT_EQ(lack_of("./" + name), "./" + name + " is not executable");
  fs::remove(file);
}

TEST(Command, WhatAShellWouldDoIsNamed) {
  EXPECT_EQ(lack_of("~/bin/x.sh"),
            "~/bin/x.sh does not exist: programs are started without a shell, which would replace ~");
  EXPECT_EQ(lack_of("$HOME/bin/x.sh"),
            "$HOME/bin/x.sh does not exist: programs are started without a shell, which would replace variables");
  EXPECT_NE(remedy_of("~/bin/x.sh").find("write the path in full"), std::string::npos);
  EXPECT_EQ(lack_of("ls -l  /tmp"), "program \"ls -l  /tmp\" does not exist: argv has a text for each word");
  EXPECT_EQ(remedy_of("ls -l  /tmp"), R"(write argv = ["ls", "-l", "/tmp"])");
  EXPECT_EQ(remedy_of("no-such-stream 3"), R"(write argv = ["no-such-stream", "3"])");
  EXPECT_EQ(remedy_of("./no-such-stream -n 3"), R"(write argv = ["./no-such-stream", "-n", "3"])");
  EXPECT_EQ(lack_of("/no such/stream"), "/no such/stream does not exist");
}

/// A file of the test's own.
class ProgramFile {
 public:
  explicit ProgramFile(const std::string& content, fs::perms mode = fs::perms::owner_all)
      : path_(fs::temp_directory_path() / ("muster-program-" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << content;
    fs::permissions(path_, mode);
  }
  ~ProgramFile() { fs::remove(path_); }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

TEST(Command, AFileThatIsNoProgramForHereIsNamed) {
  {
    const ProgramFile windows("#!/bin/sh\r\nexit 0\r\n");
    EXPECT_EQ(lack_of(windows.path()),
              "the lines of " + windows.path() +
                  " end with CR LF, so that the interpreter in its first line has a CR in its name");
    EXPECT_EQ(remedy_of(windows.path()), "convert them: sed -i 's/\\r$//' " + windows.path());
  }
  {
    std::string elf = *read_file("/bin/true", 1u << 20);
    elf[18] = '\xf3';
    const ProgramFile other(elf);
    EXPECT_EQ(lack_of(other.path()).find(other.path() + " is a program for another processor (ELF machine 243, here "),
              0u)
        << lack_of(other.path());
  }
  {
    const ProgramFile bare("exit 0\n");
    EXPECT_EQ(lack_of(bare.path()),
              bare.path() + " is not a program, and has no first line that names its interpreter");
  }
  {
    const ProgramFile missing("#!/no/such/interpreter\n");
    EXPECT_NE(lack_of(missing.path()).find("names /no/such/interpreter in its first line, which does not exist"),
              std::string::npos)
        << lack_of(missing.path());
  }
  const ProgramFile plain("#!/bin/sh\n", fs::perms::owner_read);
  EXPECT_EQ(lack_of(plain.path()), plain.path() + " is not executable");
  EXPECT_EQ(remedy_of(plain.path()).find("chmod +x " + plain.path()), 0u);
}

TEST(CommandBlame, TheLastLineTellsWhatToCorrect) {
  const auto remedy = [](const char* status, const char* last) {
    MadeCase made(command());
    made.rank("a", {{"status", status}, {"last_line", last}}).rank("b", {{"status", status}, {"last_line", last}});
    return made.judge().findings.at(0).remedy;
  };
  EXPECT_EQ(remedy("127",
                   "x: error while loading shared libraries: libq.so.6: cannot open shared object file: No such "
                   "file or directory")
                .find("install that library"),
            0u);
  EXPECT_EQ(remedy("1", "ModuleNotFoundError: No module named 'torhc'").find("load the module or environment"), 0u);
  EXPECT_EQ(remedy("2", "x.sh: 1: Syntax error: \"fi\" unexpected").find("correct the script at the line"), 0u);
  EXPECT_EQ(remedy("2", "sh: 1: NODES: parameter not set").find("set that variable before muster"), 0u);
  EXPECT_EQ(remedy("1", "bash: line 1: NODES: unbound variable").find("set that variable before muster"), 0u);
  EXPECT_EQ(remedy("1", "cat: /no/input: No such file or directory").find("correct the path"), 0u);
  MadeCase crash(command());
  crash.rank("a", {{"signal", "11"}, {"last_line", ""}});
  EXPECT_EQ(crash.judge().findings.at(0).remedy.find("run the program by hand under a debugger"), 0u);
}

Fact lack(const std::string& key, const std::string& value) {
  return {"lack" + key, value};
}

std::vector<Fact> lacking_program() {
  return {lack("", "/opt/x"), lack("_what", "/opt/x does not exist")};
}

TEST(CommandBlame, WhatIsMissingOnMostNodesIsNoNodesFault) {
  MadeCase alone(command());
  alone.rank("a", lacking_program());
  const auto one = alone.judge();
  expect_finding(one, Verdict::error, "/opt/x does not exist");
  EXPECT_EQ(one.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::file, "/opt/x", "", -1}}));
  MadeCase half(command());
  half.rank("a", {{"not_started", "x"}}).rank("b", lacking_program());
  const auto tie = half.judge();
  expect_finding(tie, Verdict::error, "/opt/x does not exist on b");
  EXPECT_EQ(tie.findings[0].culprits.at(0).node, "");
  MadeCase few(command());
  few.rank("a", {{"not_started", "x"}}).rank("b", lacking_program()).rank("c", {{"not_started", "x"}});
  const auto minority = few.judge();
  expect_finding(minority, Verdict::fail, "/opt/x does not exist on b, most nodes have it");
  EXPECT_EQ(minority.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::file, "/opt/x", "b", -1}}));
}

TEST(CommandBlame, AProgramThatWorksNowhereIsNoNodesFault) {
  MadeCase everywhere(command());
  for (const char* node : {"a", "b", "c", "c"})
    everywhere.rank(node, {{"status", "127"}, {"last_line", "sh: x: not found"}});
  const auto all = everywhere.judge();
  ASSERT_EQ(all.findings.size(), 1u);
  EXPECT_EQ(all.findings[0].reason,
            "rank 0 exited with 127 (expected 0); its last line: sh: x: not found (and 3 more ranks likewise)");
  EXPECT_EQ(all.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::program, "argv", "", -1}}));
  EXPECT_NE(all.findings[0].remedy.find("127"), std::string::npos);
  MadeCase minority(command());
  minority.rank("a", {{"status", "0"}}).rank("b", {{"status", "1"}}).rank("c", {{"status", "0"}});
  EXPECT_EQ(minority.judge().findings.at(0).culprits.at(0), (Culprit{CulpritKind::rank, "rank 1", "b", 1}));
  MadeCase half(command());
  half.rank("a", {{"status", "0"}}).rank("b", {{"status", "1"}});
  EXPECT_EQ(half.judge().findings.at(0).culprits.at(0), (Culprit{CulpritKind::rank, "rank 1", "", 1}));
}

TEST(CommandBlame, WhatShouldBePrintedIsJudgedWhereTheProgramEndedWell) {
  MadeCase made(command());
  made.rank("a", {{"status", "0"}, {"unprinted", "^PASSED"}, {"last_line", "FAILED"}});
  expect_finding(made.judge(), Verdict::fail, "the program printed no line with `^PASSED`; its last line: FAILED");
}

TEST(Command, PatternsFindNumbersAndLabels) {
  Params params =
      argv_of({"/bin/sh", "-c", "echo '8  1.5'; echo '16  2,000.5'; echo '8 2.5'; echo x 3 >&2; echo '4 -'"});
  const ProgramMetric metric{"bandwidth", "MB/s", R"(^(?P<size>\d+) +(?P<value>[0-9.,-]+))", ""};
  params.set("metric", ParamValue{ParamType::text_list, {to_text(metric)}});
  const auto seen = run_with(params);
  ASSERT_TRUE(seen[0]) << to_string(seen[0].error());
  ASSERT_EQ(seen[0]->readings.size(), 2u);
  EXPECT_EQ(seen[0]->readings[0].where, (Labels{{"size", "8"}}));
  EXPECT_EQ(seen[0]->readings[0].summary.n, 2);
  EXPECT_EQ(seen[0]->readings[0].summary.median, 2.0);
  EXPECT_EQ(seen[0]->readings[1].summary.median, 2000.5);
  EXPECT_EQ(seen[0]->readings[1].unit, "MB/s");
  ASSERT_NE(seen[0]->fact("bad_metric_value"), nullptr);
  EXPECT_EQ(*seen[0]->fact("bad_metric_value"), "\"-\" is not a number, in: 4 -");
  EXPECT_EQ(facts(*seen[0], "no_reading"), std::vector<std::string>{"bandwidth"});
}

TEST(Command, TheLastLineNamesTheMistake) {
  const auto last_line = [](const std::string& text) {
    return *run_script("printf '" + text + "'")[0]->fact("last_line");
  };
  EXPECT_EQ(last_line("ls: unrecognized option x\\nTry ls --help for more information.\\n"),
            "ls: unrecognized option x");
  EXPECT_EQ(
      last_line("Executable: ./x\\nNode: vm\\n\\nwhile attempting to start process rank 0.\\n---\\n2 total processes "
                "failed to start\\n"),
      "Executable: ./x");
  EXPECT_EQ(last_line("Try ls --help for more information.\\n"), "Try ls --help for more information.");
  EXPECT_EQ(last_line("Node: vm\\n3 processes failed to start\\n"), "3 processes failed to start");
}

TEST(Command, AProgramWithoutAGoodEndOwesNoNumber) {
  EXPECT_EQ(facts(*run_script("true")[0], "no_reading"), std::vector<std::string>{});
  for (const char* script : {"exit 3", "kill -SEGV $$", "sleep 60"})
    EXPECT_EQ(facts(*run_script(script, "0.3s")[0], "no_reading"), std::vector<std::string>{"*"}) << script;
  EXPECT_EQ(facts(*run_with(argv_of({"/no/such/program"}))[0], "no_reading"), std::vector<std::string>{"*"});
}

TEST(Command, ACommaSeparatesThousandsOrTheValueIsNoNumber) {
  Params params = argv_of(
      {"/bin/sh", "-c", "for x in 1,234,567.5 -12,345 +1,000e2 12,34 2,5 1,2,3 ,5 1,000.5,5; do echo \"$x;\"; done"});
  const ProgramMetric metric{"value", "1", R"(^([^;]+);)", ""};
  params.set("metric", ParamValue{ParamType::text_list, {to_text(metric)}});
  const auto seen = run_with(params);
  ASSERT_TRUE(seen[0]) << to_string(seen[0].error());
  ASSERT_EQ(seen[0]->readings.size(), 1u);
  EXPECT_EQ(seen[0]->readings[0].summary.n, 3) << "a decimal comma is a guess";
  EXPECT_EQ(seen[0]->readings[0].summary.min, -12345);
  EXPECT_EQ(seen[0]->readings[0].summary.max, 1234567.5);
  const auto& facts = seen[0]->facts;
  EXPECT_EQ(std::count_if(facts.begin(), facts.end(), [](const Fact& fact) { return fact.key == "bad_metric_value"; }),
            5);
}

TEST(Command, APatternThatIsNoneIsTheChecksFault) {
  Params params = argv_of({"true"});
  params.set("metric", ParamValue{ParamType::text_list, {std::string("triad")}});
  SilentRecorder recorder;
  const RankPlace place{.host = "nid001"};
  const auto prepared = command().prepare(PrepareContext{params, place, recorder});
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().kind, ErrorKind::usage);
  EXPECT_EQ(prepared.error().where, "metric");
}

TEST(CommandJudge, SaysHowManyCpusProgramsHad) {
  MadeCase same(command());
  same.rank("a", {{"status", "0"}, {"cpus", "56"}}).rank("b", {{"status", "0"}, {"cpus", "56"}});
  EXPECT_EQ(same.judge().evidence.front(), "each program had 56 CPUs");
  MadeCase other(command());
  other.rank("a", {{"status", "0"}, {"cpus", "1"}}).rank("b", {{"status", "0"}, {"cpus", "56"}});
  EXPECT_EQ(other.judge().evidence.front(), "programs had 1 to 56 CPUs");
}

TEST(Command, JudgesTheEndOfEveryProgram) {
  MadeCase good(command());
  good.rank("a", {{"status", "0"}}).rank("b", {{"status", "0"}});
  expect_evidence(good.judge(), "2 of 2 programs exited with 0");

  MadeCase status(command());
  status.rank("a", {{"status", "0"}})
      .rank("b", {{"status", "3"}, {"last_line", "no licence"}})
      .rank("c", {{"status", "0"}});
  expect_finding(status.judge(), Verdict::fail, "rank 1 on b exited with 3 (expected 0); its last line: no licence");

  MadeCase signal(command());
  signal.rank("a", {{"signal", "11"}});
  expect_finding(signal.judge(), Verdict::fail, "the program was ended by signal 11 (SIGSEGV); it printed nothing");

  MadeCase late(command(), {{"deadline", "5s"}});
  late.rank("a", {{"deadline", "5.1"}, {"command", "sleep 9"}, {"signal", "15"}, {"last_line", "x"}})
      .rank("b", {{"deadline", "5.2"}, {"command", "sleep 9"}, {"signal", "9"}})
      .rank("b", {{"status", "0"}});
  const auto judgement = late.judge();
  expect_finding(
      judgement, Verdict::fail,
      "rank 0 on a timed out after 5.1 s (limit 5s), still running `sleep 9`; its last line: x (and 1 more rank "
      "likewise)");
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
                 "the program printed a metric that can't be read: is not JSON: {\"metric\"");
}

TEST(Command, WhatNoProgramPrintsRightIsNoRanksFault) {
  MadeCase everywhere(command());
  MadeCase one(command());
  for (const char* host : {"a", "b", "c"}) {
    const std::vector<Fact> unwritten{{"status", "0"}, {"unwritten", "out.txt"}};
    everywhere.rank(host, unwritten);
    one.rank(host, *host == 'b' ? unwritten : std::vector<Fact>{{"status", "0"}});
  }
  const auto all = everywhere.judge();
  expect_finding(all, Verdict::unmeasured, "rank 0 has no values in a file: out.txt");
  EXPECT_EQ(all.findings[0].culprits.size(), 1U);
  EXPECT_EQ(all.findings[0].culprits[0].kind, CulpritKind::program);
  const auto odd = one.judge();
  expect_finding(odd, Verdict::unmeasured, "rank 1 on b has no values in a file: out.txt");
  EXPECT_EQ(odd.findings[0].culprits[0].node, "b");
}

}  // namespace
}  // namespace muster
