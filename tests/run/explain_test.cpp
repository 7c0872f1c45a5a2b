// One wreck per row: what the driver knows, and the sentence that has to come of it.
#include <csignal>
#include <gtest/gtest.h>

#include "run/autopsy.hpp"

namespace muster {
namespace {

constexpr double now = 1000;

struct RankRow {
  int rank = 0;
  ProcessState state = ProcessState::running;
  Phase phase = Phase::running;
  std::string step = "barrier";
  std::uint64_t iteration = 0;
  int signal = 0;
  double idle_s = 12;
  int peer = -1;
  std::string kernel_function;
  std::string program;
  ProcessState program_state = ProcessState::running;
  double signal_age_s = 1;
  std::uint32_t steps = 1;
  int item = 2;
  std::string call = "";
  double call_age_s = 12;
  std::string device = "";
  bool is_signal_in_mpi = false;
  bool is_exit_in_mpi = false;
};

RankRow rank(int number) {
  RankRow row;
  row.rank = number;
  return row;
}
RankRow in_state(int number, ProcessState state, int signal = 0) {
  RankRow row = rank(number);
  row.state = state;
  row.signal = signal;
  return row;
}
RankRow in_phase(int number, Phase phase, std::string step = "") {
  RankRow row = rank(number);
  row.phase = phase;
  row.step = std::move(step);
  return row;
}

RankRemains remains(const RankRow& row, double clock) {
  RankRemains result;
  result.record.pid = 100 + row.rank;
  result.record.rank = row.rank;
  result.record.phase = row.phase;
  result.record.item = row.phase == Phase::starting ? -1 : row.item;
  result.record.step = row.step;
  result.record.steps = row.steps;
  result.record.iteration = row.iteration;
  result.record.peer = row.peer;
  result.record.call = row.call;
  result.record.call_s = clock - row.call_age_s;
  result.record.device = row.device;
  result.record.changed_s = clock - row.idle_s;
  result.record.signal = row.signal;
  result.record.is_signal_in_mpi = row.is_signal_in_mpi;
  result.record.is_exit_in_mpi = row.is_exit_in_mpi;
  result.record.signal_s = row.signal == 0 ? 0 : clock - row.signal_age_s;
  result.state = row.state;
  result.kernel_function = row.kernel_function;
  result.program = row.program;
  result.program_state = row.program.empty() ? ProcessState::gone : row.program_state;
  return result;
}

NodeAutopsy node(const std::string& name, const std::vector<RankRow>& rows, double clock = now) {
  NodeAutopsy autopsy;
  autopsy.node = name;
  autopsy.answered = true;
  autopsy.now_s = clock;
  for (const RankRow& row : rows) autopsy.ranks.push_back(remains(row, clock));
  return autopsy;
}

NodeAutopsy lost_node(const std::string& name, const std::string& error) {
  NodeAutopsy autopsy;
  autopsy.node = name;
  autopsy.error = error;
  return autopsy;
}

LaunchFailure failure(std::vector<NodeAutopsy> nodes, int ranks, const std::string& stage = "case") {
  LaunchFailure result;
  result.stage = stage;
  if (stage == "case") result.case_id = "hello%1a2b";
  result.deadline_s = 60;
  result.ranks_expected = ranks;
  result.nodes = std::move(nodes);
  return result;
}

LaunchFailure ended(LaunchFailure failure, int status = 1) {
  failure.cause = LaunchFailure::Cause::launch_ended;
  failure.launcher_status = status;
  return failure;
}

LaunchFailure message(LaunchFailure failure, std::optional<int> rank, std::string node, std::optional<int> signal,
                      std::optional<int> exit_status = {}) {
  failure = ended(std::move(failure));
  failure.notice.rank = rank;
  failure.notice.node = std::move(node);
  failure.notice.signal = signal;
  failure.notice.exit_status = exit_status;
  return failure;
}

std::vector<std::string> culprits(const Finding& finding) {
  std::vector<std::string> names;
  for (const Culprit& culprit : finding.culprits)
    names.push_back(culprit.kind == CulpritKind::rank ? culprit.name + "@" + culprit.node : culprit.name);
  return names;
}

using Names = std::vector<std::string>;

void expect(const LaunchFailure& failure, const std::string& reason, const Names& names, const std::string& in_remedy) {
  const Finding finding = explain(failure);
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(finding.reason, reason);
  EXPECT_EQ(culprits(finding), names);
  EXPECT_NE(finding.remedy.find(in_remedy), std::string::npos) << finding.remedy;
  EXPECT_NE(finding.remedy, "");
}

constexpr auto gone = ProcessState::gone;

// Death --------------------------------------------------------------------------------------------------------

TEST(ExplainTest, KilledAsTheLauncherSays) {
  expect(message(failure({node("nid001", {in_state(0, gone, SIGTERM), in_state(1, gone)}),
                          node("nid002", {in_state(2, gone, SIGTERM), in_state(3, gone, SIGTERM)})},
                         4),
                 1, "nid001", SIGKILL),
         "rank 1 on nid001 was killed by signal 9 (SIGKILL) in hello%1a2b, step barrier; 3 ranks were ended after it",
         {"rank 1@nid001"}, "out-of-memory killer in the kernel log of nid001 (dmesg)");
}

TEST(ExplainTest, TheErrorThatARankReportedHasItsOwnRemedy) {
  LaunchFailure one =
      message(failure({node("nid001", {rank(0)}), node("nid002", {in_state(1, gone)})}, 2), 1, "nid002", {}, 1);
  one.complaint = "./train: error while loading shared libraries: libx.so.1: cannot open shared object file";
  const Finding finding = explain(one);
  EXPECT_NE(finding.reason.find("cannot open shared object file\""), std::string::npos) << finding.reason;
  EXPECT_EQ(finding.remedy.find("install the library that the message names on nid002"), 0U) << finding.remedy;
  LaunchFailure silent = ended(failure({node("nid002", {in_state(0, gone), in_state(1, gone)})}, 2));
  silent.complaint = "terminate called after throwing an instance of 'std::bad_alloc'";
  EXPECT_EQ(explain(silent).remedy.find("free memory on nid002"), 0U) << explain(silent).remedy;
  silent.complaint = "error: something else";
  EXPECT_EQ(explain(silent).remedy.find("look at"), 0U) << explain(silent).remedy;
}

TEST(ExplainTest, RanksThatANetworkKeepsApartAreNotBehind) {
  LaunchFailure cut =
      failure({node("nid001", {rank(0), rank(1)}), node("nid002", {in_phase(2, Phase::running, "send"), rank(3)})}, 4);
  cut.cut_off = {{"nid002", "can't be reached over the data network", "check the cable"}};
  expect(cut, "nid002 can't be reached over the data network; 4 ranks wait", {"nid002"}, "check the cable");
  EXPECT_EQ(explain(cut).subject, Subject::node);
  // A rank that it lost ends by itself, too; one that a signal killed has not.
  expect(message(cut, 1, "nid001", {}, 1), "nid002 can't be reached over the data network; 4 ranks wait", {"nid002"},
         "check the cable");
  EXPECT_EQ(explain(message(cut, 1, "nid001", SIGKILL)).culprits.front().node, "nid001");
}

TEST(ExplainTest, RanksBehindALossyLinkAreNotBehind) {
  LaunchFailure lossy = failure(
      {node("nid001", {rank(0)}), node("nid002", {in_phase(1, Phase::running, "send")}), node("nid003", {rank(2)})}, 3);
  EXPECT_EQ(explain(lossy).reason.find("lose packets"), std::string::npos);
  lossy.nodes[0].losses = {{"10.0.0.1", "10.0.0.2", 100, 0, false}, {"10.0.0.1", "10.0.0.3", 100, 30, true}};
  lossy.nodes[1].losses = {{"10.0.0.2", "10.0.0.3", 100, 25, true}};
  lossy.nodes[2].losses = {{"10.0.0.3", "10.0.0.1", 100, 0, false}};
  expect(lossy, "connections of nid003 to nid001 and nid002 lose packets: 55 of 300 segments were sent again",
         {"nid003", "nid001 <-> nid003", "nid002 <-> nid003"}, "error and drop counters");
}

TEST(ExplainTest, EndedByTheSchedulerWhateverRanksLeft) {
  LaunchFailure cancelled = ended(failure({node("nid001", {in_state(0, gone), in_state(1, gone, SIGTERM)})}, 2));
  cancelled.notice.sentence = "the job was cancelled";
  cancelled.notice.remedy = "see who did";
  EXPECT_EQ(explain(cancelled).reason.find("the job was cancelled"), std::string::npos) << "a rank's death comes first";
  cancelled.notice.is_first_cause = true;
  const Finding finding = explain(cancelled);
  EXPECT_EQ(finding.verdict, Verdict::unmeasured) << "no part of the machine did wrong";
  EXPECT_EQ(finding.reason, "the job was cancelled (in hello%1a2b)");
  EXPECT_EQ(finding.remedy, "see who did");
  EXPECT_TRUE(finding.culprits.empty());
  cancelled.notice.node = "nid002";
  EXPECT_EQ(explain(cancelled).reason.find("the job was cancelled"), std::string::npos) << "no node of the launch";
  cancelled.nodes.emplace_back().node = "nid002";
  expect(cancelled, "the job was cancelled (in hello%1a2b)", {"nid002"}, "see who did");
  cancelled.notice.node = "nid001";
  EXPECT_EQ(explain(cancelled).reason.find("the job was cancelled"), std::string::npos) << "it answered";
  cancelled.notice.node = "";
  cancelled.nodes = {node("nid001", {in_state(0, gone, SIGSEGV), in_state(1, gone, SIGTERM)})};
  EXPECT_NE(explain(cancelled).reason.find("rank 0 on nid001 was killed by signal 11 (SIGSEGV)"), std::string::npos);
}

TEST(ExplainTest, KilledAsTheLauncherSaysWithoutARecord) {
  expect(message(failure({node("nid001", {})}, 4, "gap"), 3, "nid004", SIGSEGV),
         "rank 3 on nid004 was killed by signal 11 (SIGSEGV) between two cases", {"rank 3@nid004"},
         "core file on nid004");
}

TEST(ExplainTest, ACrashWhileStartingBelowSrunMayBeItsFence) {
  RankRow crashed = in_phase(1, Phase::starting);
  crashed.state = gone;
  LaunchFailure below = failure({node("nid001", {in_phase(0, Phase::starting), crashed})}, 2, "start-up");
  for (const char* launcher : {"srun", "mpirun"}) {
    below.launcher = launcher;
    const Finding finding = explain(message(below, 1, "nid001", SIGSEGV));
    EXPECT_EQ(finding.reason.substr(0, 72), "rank 1 on nid001 was killed by signal 11 (SIGSEGV) during start-up; 1 ra");
    EXPECT_EQ(finding.remedy.find("SLURM_PMIX_FENCE=ring") != std::string::npos, below.launcher == "srun");
  }
}

TEST(ExplainTest, SignalWithoutARankIsTheRankThatIsGone) {
  expect(message(failure({node("nid001", {in_state(0, gone, SIGTERM), in_state(1, gone)})}, 2), {}, "", SIGKILL),
         "rank 1 on nid001 was killed by signal 9 (SIGKILL) in hello%1a2b, step barrier; 1 rank was ended after it",
         {"rank 1@nid001"}, "out-of-memory");
}

TEST(ExplainTest, EarliestCrashIsTheFirstThoughClocksOfNodesDiffer) {
  RankRow second = in_state(0, gone, SIGABRT);
  second.signal_age_s = 2;
  RankRow first = in_state(1, gone, SIGSEGV);
  first.signal_age_s = 2.5;
  first.iteration = 7;
  expect(ended(failure({node("nid001", {second}, 10), node("nid002", {first}, 99999)}, 2)),
         "rank 1 on nid002 was killed by signal 11 (SIGSEGV) in hello%1a2b, step barrier, iteration 7",
         {"rank 1@nid002"}, "core file on nid002");
}

TEST(ExplainTest, RanksThatLostAPeerWereNotTheFirst) {
  auto lost = ended(failure({node("nid001", {in_state(0, gone), in_state(1, gone, SIGTERM)}),
                             node("nid002", {in_state(2, gone, SIGTERM), in_state(3, gone)})},
                            4));
  EXPECT_EQ(culprits(explain(lost)), Names{});
  lost.notice.lost_a_peer = {0};
  EXPECT_EQ(culprits(explain(lost)), Names{"rank 3@nid002"});
  lost.notice.lost_a_peer = {0, 3};
  EXPECT_EQ(culprits(explain(lost)), Names{}) << "all of them can't have been later";
}

TEST(ExplainTest, MostRanksAreNotBlamedForBeingBehind) {
  const auto behind = [](int count) {
    std::vector<RankRow> rows;
    for (int i = 0; i < 8; ++i) rows.push_back(rank(i));
    for (int i = 0; i < 8; ++i) rows[static_cast<std::size_t>(i)].iteration = i < count ? 3 : 4;
    return explain(failure({node("nid001", rows)}, 8));
  };
  EXPECT_EQ(behind(6).reason.substr(0, 6), "ranks ") << behind(6).reason;
  EXPECT_NE(behind(6).reason.find("behind"), std::string::npos) << behind(6).reason;
  EXPECT_EQ(culprits(behind(6)), Names{});
  EXPECT_EQ(culprits(behind(1)), Names{"rank 0@nid001"});
}

TEST(ExplainTest, WhereARankLeftMpiFinalizeThoseThatRemainAreNotBlamed) {
  LaunchFailure left = failure({node("nid001", {in_phase(0, Phase::finishing)}), node("nid002", {})}, 2, "finish");
  EXPECT_EQ(culprits(explain(left)), Names{"rank 0@nid001"});
  left.has_left_finalize = true;
  expect(left,
         "1 of 2 ranks is in MPI_Finalize, which others have left, as it did not return; which one keeps the others "
         "there cannot be determined",
         {}, "MPICH before 4.2");
}

TEST(ExplainTest, ARankThatExitsForALossIsNotTheFirst) {
  LaunchFailure left = message(failure({node("nid001", {in_state(0, gone), in_state(1, gone)}),
                                        node("nid002", {in_state(2, gone), in_state(3, gone)})},
                                       4),
                               2, "nid002", {}, 2);
  EXPECT_EQ(culprits(explain(left)), Names{"rank 2@nid002"});
  left.complaint = "MPIR_Bcast_intra_binomial(174): Failure during collective";
  EXPECT_EQ(culprits(explain(left)), Names{}) << "any of the others may have been lost";
  // Where no other has ended silently, it is.
  left.nodes = failure({node("nid001", {in_state(0, gone, SIGTERM)}), node("nid002", {in_state(2, gone)})}, 2).nodes;
  EXPECT_EQ(culprits(explain(left)), Names{"rank 2@nid002"});
}

TEST(ExplainTest, TheOnlyRankWithoutARecordIsTheOneThatTheLaunchersStatusIsOf) {
  const auto starting = [](int number) {
    RankRow rank = in_phase(number, Phase::starting);
    rank.state = gone;
    rank.signal = SIGTERM;
    return rank;
  };
  LaunchFailure left =
      ended(failure({node("nid001", {starting(0)}), node("nid002", {starting(2), starting(3)})}, 4), 128 + SIGKILL);
  left.stage = "start-up";
  expect(
      left,
      "rank 1 on nid001 was killed by signal 9 (SIGKILL) during start-up, before it left a record; 3 ranks were ended "
      "after it",
      {"rank 1@nid001"}, "out-of-memory killer");
  LaunchFailure last =
      ended(failure({node("nid001", {starting(0), starting(1)}), node("nid002", {starting(2)})}, 4), 137);
  last.stage = "start-up";
  EXPECT_EQ(culprits(explain(last)), Names{"rank 3@nid002"});
  // An operator may have ended all of them before it began.
  left.launcher_status = 1;
  EXPECT_EQ(culprits(explain(left)), Names{});
  left.launcher_status = 128 + SIGTERM;
  EXPECT_EQ(culprits(explain(left)), Names{});
  left.launcher_status = 137;
  left.ranks_expected = 6;
  EXPECT_EQ(culprits(explain(left)), Names{}) << "several have no record";
}

TEST(ExplainTest, ARankThatMpiEndedIsLeftOutWhereAnotherEndedSilently) {
  RankRow by_mpi = in_state(0, gone);
  by_mpi.is_exit_in_mpi = true;
  expect(ended(failure({node("nid001", {by_mpi, in_state(1, gone, SIGTERM)}), node("nid002", {in_state(2, gone)})}, 3)),
         "rank 2 on nid002 ended without a message in hello%1a2b, step barrier; 1 rank was ended after it",
         {"rank 2@nid002"}, "kernel log of nid002");
  expect(ended(failure({node("nid001", {by_mpi}), node("nid002", {in_state(2, gone, SIGTERM)})}, 2)),
         "rank 0 on nid001 ended without a message in hello%1a2b, step barrier; 1 rank was ended after it",
         {"rank 0@nid001"}, "kernel log of nid001");
}

RankRow crashed_in_mpi(int number) {
  RankRow row = in_state(number, gone, SIGSEGV);
  row.is_signal_in_mpi = true;
  return row;
}

TEST(ExplainTest, ACrashInMpiMayFollowTheLossOfARankThatEndedSilently) {
  const auto both = ended(failure(
      {node("nid001", {crashed_in_mpi(0), in_state(1, gone)}), node("nid002", {in_state(2, gone), in_state(3, gone)})},
      4));
  expect(both,
         "rank 1 on nid001, rank 2 on nid002 and rank 3 on nid002 ended without a message in hello%1a2b, step barrier; "
         "rank 0 on nid001 was killed by signal 11 (SIGSEGV) in MPI, which the loss of another rank can "
         "cause; which one was first cannot be determined",
         {}, "kernel log");
  LaunchFailure exited = both;
  exited.notice.pid = 102;
  exited.notice.node = "nid002";
  exited.notice.exit_status = 3;
  EXPECT_EQ(culprits(explain(exited)), Names{"rank 2@nid002"}) << "the launcher knows which one exited";
  LaunchFailure reported = both;
  reported.notice.pid = 100;
  reported.notice.node = "nid001";
  reported.notice.signal = SIGSEGV;
  EXPECT_EQ(culprits(explain(reported)), Names{}) << "Hydra need not report the first one";
}

TEST(ExplainTest, ACrashInMpiWhileAllOthersLiveOrWereAskedToEndIsTheFirst) {
  for (const RankRow& other : {rank(1), in_state(1, gone, SIGTERM)})
    EXPECT_EQ(culprits(explain(ended(failure({node("nid001", {crashed_in_mpi(0), other})}, 2)))),
              Names{"rank 0@nid001"});
}

TEST(ExplainTest, ACrashInMpiDoesNotHideALostNode) {
  NodeAutopsy lost;
  lost.node = "nid002";
  lost.error = "no answer within 8 s";
  EXPECT_EQ(
      culprits(explain(ended(failure({node("nid001", {crashed_in_mpi(0), in_state(1, gone, SIGTERM)}), lost}, 4)))),
      Names{"nid002"});
}

TEST(ExplainTest, CrashInPrepareWhileOthersWait) {
  RankRow crashed = in_phase(1, Phase::prepare);
  crashed.state = ProcessState::zombie;
  crashed.signal = SIGBUS;
  expect(failure({node("nid001", {in_phase(0, Phase::agreeing), crashed})}, 2),
         "rank 1 on nid001 was killed by signal 7 (SIGBUS) in hello%1a2b, prepare; 1 rank waits for it",
         {"rank 1@nid001"}, "memory");
}

TEST(ExplainTest, LauncherEndingASecondRankDoesNotHideTheFirst) {
  expect(message(failure({node("nid001", {in_state(0, gone, SIGTERM), in_state(1, gone, SIGFPE)})}, 2), 0, "nid001",
                 SIGTERM),
         "rank 1 on nid001 was killed by signal 8 (SIGFPE) in hello%1a2b, step barrier; 1 rank was ended after it",
         {"rank 1@nid001"}, "core file");
}

TEST(ExplainTest, ExitStatusAsTheLauncherSays) {
  expect(message(failure({node("nid001", {in_state(0, gone, SIGTERM), in_state(1, gone)})}, 2), 1, "", {}, 3),
         "rank 1 on nid001 exited with status 3 in hello%1a2b, step barrier; 1 rank was ended after it",
         {"rank 1@nid001"}, "standard error");
}

TEST(ExplainTest, GoneWithoutAStampDiedFirst) {
  expect(
      ended(failure({node("nid001", {in_state(0, gone, SIGTERM), in_state(1, gone), in_state(2, gone, SIGTERM)})}, 3)),
      "rank 1 on nid001 ended without a message in hello%1a2b, step barrier; 2 ranks were ended after it",
      {"rank 1@nid001"}, "kernel log of nid001");
}

TEST(ExplainTest, GoneWhileTheOthersStillWait) {
  expect(failure({node("nid001", {rank(0), in_state(1, gone)}), node("nid002", {rank(2), rank(3)})}, 4),
         "rank 1 on nid001 ended without a message in hello%1a2b, step barrier; 3 ranks wait for it", {"rank 1@nid001"},
         "output of the rank");
}

TEST(ExplainTest, EverybodyGoneWithoutAMessage) {
  RankRow zero = in_phase(0, Phase::starting);
  RankRow one = in_phase(1, Phase::starting);
  zero.state = one.state = gone;
  expect(ended(failure({node("nid001", {zero, one})}, 2, "start-up")),
         "all 2 ranks ended without a message during start-up; which one was first cannot be determined", {}, "output");
}

TEST(ExplainTest, AllOfOneNodeGoneNamesTheNode) {
  const auto lost = [] {
    return failure(
        {node("nid001", {rank(0), in_state(1, gone, SIGTERM)}), node("nid002", {in_state(2, gone), in_state(3, gone)})},
        4);
  };
  expect(lost(),
         "ranks 2 and 3 on nid002 ended without a message in hello%1a2b, step barrier; 1 rank waits for "
         "them; which one was first cannot be determined",
         {"rank 2@nid002", "rank 3@nid002"}, "kernel log of nid002");
  LaunchFailure elsewhere = lost();
  elsewhere.nodes[0].ranks[0].state = gone;
  EXPECT_EQ(culprits(explain(elsewhere)), Names{}) << "rank 0 may have been the first";
}

TEST(ExplainTest, ALostDaemonNamesItsNode) {
  LaunchFailure lost = message(failure({node("nid001", {in_state(0, gone, SIGTERM), in_state(1, gone)}),
                                        node("nid002", {in_state(2, gone), in_state(3, gone)})},
                                       4),
                               {}, "nid002", {});
  lost.notice.sentence = "mpirun lost its daemon on nid002";
  lost.notice.remedy = "check that the node is up";
  lost.notice.is_about_a_node = true;
  expect(lost,
         "mpirun lost its daemon on nid002: ranks 2 and 3 on nid002 ended with it in hello%1a2b, step "
         "barrier; 1 rank was ended after it",
         {"daemon"}, "check that the node is up");
  // Its ranks live: the daemon of another one may be the first.
  lost.nodes[1].ranks[0].state = lost.nodes[1].ranks[1].state = ProcessState::running;
  EXPECT_EQ(explain(lost).reason.substr(0, 23), "rank 1 on nid001 ended ");
}

// Of Hydra, whose mpiexec names no node then, and whose other proxies end their ranks by SIGKILL.
TEST(ExplainTest, ADaemonThatEndedBeforeItsRanksIsNamed) {
  LaunchFailure lost = ended(failure({node("nid001", {in_state(0, gone, SIGTERM), in_state(1, gone)}),
                                      node("nid002", {in_state(2, gone), in_state(3, gone)})},
                                     4));
  for (RankRemains& rank : lost.nodes[0].ranks) {
    rank.record.parent = 7;
    rank.record.orphaned_s = now - 2;  // one was asked to end after that
  }
  expect(lost, "the launcher's daemon on nid001 (process 7) has ended before its ranks", {"daemon"},
         "out-of-memory killer");
  EXPECT_EQ(explain(lost).culprits.front().node, "nid001");
  LaunchFailure asked = lost;
  asked.nodes[0].ranks.pop_back();
  asked.nodes[0].ranks[0].record.signal_s = now - 3;
  EXPECT_EQ(explain(asked).reason.find("daemon"), std::string::npos)
      << "it was asked to end, and its daemon did not wait";
  // The launcher ended, and every daemon after it.
  lost.nodes[1].ranks[0].record.orphaned_s = now - 5;
  EXPECT_EQ(explain(lost).reason.find("daemon"), std::string::npos);
}

TEST(ExplainTest, ADaemonIsLostWhereItsRanksHadFinished) {
  LaunchFailure lost =
      ended(failure({node("nid001", {}), node("nid002", {in_state(2, gone), in_state(3, gone)})}, 4, "finish"));
  for (RankRemains& rank : lost.nodes[1].ranks) rank.record.phase = Phase::finishing;
  lost.notice.sentence = "the launcher lost its proxy on a node";
  lost.notice.is_about_a_node = true;
  expect(lost,
         "the launcher lost its proxy on a node: ranks 2 and 3 on nid002 ended with it while finishing; the ranks on "
         "nid001 had finished",
         {"daemon"}, "see what ended the daemon on nid001");
  EXPECT_EQ(explain(lost).culprits.front().node, "nid001");
  lost.has_shells = true;
  EXPECT_TRUE(explain(lost).culprits.empty()) << "a shell may report that a rank was killed";
  lost.notice.node = "nid001";
  EXPECT_EQ(explain(lost).culprits.size(), 1U) << "the launcher names the node";
  lost.notice.node = "nid007";
  EXPECT_EQ(explain(lost).reason.find("had finished"), std::string::npos);
  lost.stage = "start-up";
  EXPECT_EQ(explain(lost).reason.find("had finished"), std::string::npos) << "they may not have started";
}

// While ranks start, they wait for file systems, and nodes that are busy answer late.
TEST(ExplainTest, ALaunchThatWasGivenUpForAStoppedProcessBlamesNothingElse) {
  LaunchFailure given_up =
      failure({node("nid001", {in_state(0, ProcessState::uninterruptible), in_state(1, gone)})}, 2, "start-up");
  given_up.is_given_up = true;
  given_up.launcher_state = ProcessState::stopped;
  const Finding finding = explain(given_up);
  EXPECT_EQ(finding.reason.rfind("the launcher ", 0), 0U) << finding.reason;
  EXPECT_NE(finding.reason.find(" is stopped"), std::string::npos) << finding.reason;
  given_up.launcher_state = ProcessState::running;
  given_up.nodes[0].ranks[0].parent_state = ProcessState::stopped;
  EXPECT_NE(explain(given_up).reason.find("daemon on nid001"), std::string::npos) << explain(given_up).reason;
}

TEST(ExplainTest, AStoppedDaemonWithoutRanks) {
  LaunchFailure stopped = failure({node("nid001", {}), node("nid002", {})}, 4, "finish");
  stopped.nodes[1].stopped_daemon = 77;
  expect(stopped,
         "the launcher's daemon on nid002 (process 77) is stopped; the ranks there had finished or never started",
         {"daemon"}, "kill -CONT");
}

// Hydra ends the ranks of all nodes by SIGKILL, which leaves no stamp.
TEST(ExplainTest, ThePidInTheNoticeTellsWhoDied) {
  const auto all_gone = [] {
    return failure({node("nid001", {in_state(0, gone), in_state(1, gone)}),
                    node("nid002", {in_state(2, gone), in_state(3, gone)})},
                   4);
  };
  LaunchFailure hydra = message(all_gone(), {}, "nid002", SIGKILL);
  hydra.notice.pid = 103;
  expect(hydra, "rank 3 on nid002 was killed by signal 9 (SIGKILL) in hello%1a2b, step barrier", {"rank 3@nid002"},
         "out-of-memory killer");
  hydra.notice.node = "localhost";
  hydra.launcher_node = "nid002";
  expect(hydra, "rank 3 on nid002 was killed by signal 9 (SIGKILL) in hello%1a2b, step barrier", {"rank 3@nid002"},
         "out-of-memory killer");
  hydra.notice.node = "nid002.cluster";
  expect(hydra, "rank 3 on nid002 was killed by signal 9 (SIGKILL) in hello%1a2b, step barrier", {"rank 3@nid002"},
         "out-of-memory killer");
  LaunchFailure left = message(all_gone(), {}, "nid002", {}, 3);
  left.notice.pid = 102;
  expect(left, "rank 2 on nid002 exited with status 3 in hello%1a2b, step barrier", {"rank 2@nid002"},
         "standard error");
  // Of another process, or of a rank on another node that has the same number.
  hydra.notice.pid = 101;
  hydra.notice.node = "nid002";
  expect(
      hydra,
      "all 4 ranks ended without a message in hello%1a2b, step barrier; the launcher reports signal 9 (SIGKILL); which "
      "one was first cannot be determined",
      {}, "kernel log of nid001 and nid002");
}

// MPICH 5 at times reports a rank that it has ended itself.
TEST(ExplainTest, ARankThatWaitedForAnotherDeadOneNeedNotBeTheFirst) {
  RankRow waits = in_state(0, gone);
  waits.step = "last barrier";
  waits.steps = 2;
  RankRow works = in_state(1, gone);
  works.step = "work";
  LaunchFailure hydra = message(failure({node("nid001", {waits, works})}, 2), {}, "nid001", SIGKILL);
  hydra.notice.pid = 100;
  expect(hydra,
         "all 2 ranks ended without a message in hello%1a2b, step last barrier; the launcher reports signal 9 "
         "(SIGKILL); which one was first cannot be determined",
         {}, "kernel log of nid001");
  hydra.notice.pid = 101;
  expect(hydra, "rank 1 on nid001 was killed by signal 9 (SIGKILL) in hello%1a2b, step work", {"rank 1@nid001"},
         "out-of-memory killer");
}

// Intel MPI lists the ranks of the node of the first one, which it ended itself, and that one where it was killed.
TEST(ExplainTest, AListOfKilledRanksLeavesOneNodeOrTheRankThatIsNotInIt) {
  LaunchFailure intel = message(failure({node("nid001", {in_state(0, gone), in_state(1, gone)}),
                                         node("nid002", {in_state(2, gone), in_state(3, gone)})},
                                        4),
                                {}, "", SIGKILL);
  intel.notice.killed = {2, 3};
  expect(
      intel,
      "one of ranks 2 and 3 on nid002 was killed by signal 9 (SIGKILL) in hello%1a2b, step barrier; which one cannot "
      "be determined",
      {"rank 2@nid002", "rank 3@nid002"}, "kernel log of nid002");
  intel.notice.killed = {2};
  expect(intel, "rank 3 on nid002 exited by itself in hello%1a2b, step barrier; the other ranks were ended after it",
         {"rank 3@nid002"}, "output of the rank");
  intel.notice.killed = {7};
  expect(intel,
         "all 4 ranks ended without a message in hello%1a2b, step barrier; the launcher reports signal 9 (SIGKILL); "
         "which one was first cannot be determined",
         {}, "kernel log");
  LaunchFailure alone = message(failure({node("nid001", {in_state(0, gone), in_state(1, gone)})}, 2), {}, "", SIGKILL);
  alone.notice.killed = {0, 1};
  expect(alone,
         "all 2 ranks ended without a message in hello%1a2b, step barrier; the launcher reports signal 9 (SIGKILL); "
         "which one was first cannot be determined",
         {}, "kernel log");
  alone.notice.killed = {1};
  expect(alone, "rank 0 on nid001 exited by itself in hello%1a2b, step barrier; the other ranks were ended after it",
         {"rank 0@nid001"}, "output of the rank");
  // Of a rank that had finished no record is left.
  LaunchFailure finished = message(failure({node("nid001", {in_state(1, gone)})}, 2), {}, "", SIGKILL);
  finished.notice.killed = {1};
  expect(finished, "rank 1 on nid001 was killed by signal 9 (SIGKILL) in hello%1a2b, step barrier", {"rank 1@nid001"},
         "kernel log");
}

TEST(ExplainTest, NoRankIsACulpritWhereMpiInitFailed) {
  const auto starting = [](int number) {
    RankRow rank = in_phase(number, Phase::starting);
    rank.state = ProcessState::zombie;
    return rank;
  };
  LaunchFailure left =
      message(failure({node("nid001", {starting(0)}), node("nid002", {starting(1)})}, 2), 1, "nid002", {}, 15);
  left.stage = "start-up";
  left.init = {"Destination is unreachable", "", 0};
  expect(left, "MPI_Init failed: Destination is unreachable", {}, "UCX_*");
  left.init = {"An invalid value was given for btl_tcp_if_include: hsn9", "btl_tcp_if_include", 1};
  expect(left, "MPI_Init failed: An invalid value was given for btl_tcp_if_include: hsn9", {},
         "--mca btl_tcp_if_include");
  // Rejected by most ranks, the value is at fault.
  left.init.ranks = 2;
  const Finding finding = explain(left);
  EXPECT_EQ(finding.verdict, Verdict::error);
  ASSERT_EQ(finding.culprits.size(), 1u);
  EXPECT_EQ(finding.culprits.front().kind, CulpritKind::setting);
  EXPECT_EQ(finding.culprits.front().name, "OMPI_MCA_btl_tcp_if_include");
  // On one node, too, each launch would name another rank.
  left.nodes.pop_back();
  left.init = {"Destination is unreachable", "", 0};
  expect(left, "MPI_Init failed: Destination is unreachable", {}, "UCX_*");
}

TEST(ExplainTest, WhatARankWroteStandsInTheReasonAndItsFileInTheRemedy) {
  LaunchFailure left =
      message(failure({node("nid001", {in_state(0, gone), in_state(1, gone)})}, 2), 1, "nid001", {}, 3);
  left.output = "/run/launches/1/stderr";
  left.complaint = "cannot allocate 3 GiB";
  expect(left,
         "rank 1 on nid001 exited with status 3 in hello%1a2b, step barrier; standard error: \"cannot allocate 3 GiB\"",
         {"rank 1@nid001"}, "/run/launches/1/stderr");
  left.notice = {};
  expect(left,
         "all 2 ranks ended without a message in hello%1a2b, step barrier; standard error: \"cannot allocate 3 GiB\"; "
         "which one was first cannot be determined",
         {}, "/run/launches/1/stderr");
}

TEST(ExplainTest, EverybodyToldToEnd) {
  expect(ended(failure({node("nid001", {in_state(0, gone, SIGTERM), in_state(1, gone, SIGTERM)})}, 2)),
         "all 2 ranks were ended by signal 15 (SIGTERM) in hello%1a2b, step barrier", {}, "scheduler");
}

// Standstill -----------------------------------------------------------------------------------------------------

TEST(ExplainTest, ARankThatGaveUpIsToBlameNotThoseWhoWait) {
  auto seen = failure({node("nid001", {in_phase(0, Phase::gathering), rank(1)}), node("nid002", {rank(2)})}, 3);
  seen.nodes[0].ranks[0].record.error = "run: exception: no such plane";
  expect(seen, "rank 0 on nid001 gave up: run: exception: no such plane; 2 ranks wait for it", {"rank 0@nid001"},
         "repair the cause that it reports");
  // All of them gave up: whoever keeps them is another.
  for (auto& on : seen.nodes)
    for (auto& one : on.ranks) one.record.error = "x";
  EXPECT_EQ(explain(seen).reason.find("gave up"), std::string::npos);
}

TEST(ExplainTest, AStoppedLauncher) {
  LaunchFailure stopped = failure({node("nid001", {rank(0), rank(1)})}, 2, "finish");
  stopped.launcher = "mpirun";
  stopped.launcher_node = "nid001";
  stopped.launcher_pid = 77;
  stopped.launcher_state = ProcessState::stopped;
  expect(stopped, "the launcher mpirun (process 77 on nid001) is stopped; 2 ranks wait for it", {"mpirun"},
         "see what stopped it on nid001: ");
  // In a case ranks do without it: one that is behind is to blame.
  LaunchFailure in_case = failure({node("nid001", {rank(0), in_state(1, ProcessState::running)})}, 2);
  in_case.launcher_state = ProcessState::stopped;
  in_case.nodes[0].ranks[0].record.iteration = 2;
  EXPECT_EQ(explain(in_case).reason.substr(0, 26), "rank 1 on nid001 is behind");
  in_case.nodes[0].ranks[0].record.iteration = 0;
  EXPECT_EQ(explain(in_case).reason.substr(0, 12), "the launcher");
  // A rank that is stopped too comes first: it alone is enough.
  stopped.nodes[0].ranks[1].state = ProcessState::stopped;
  EXPECT_EQ(explain(stopped).reason.substr(0, 16), "rank 1 on nid001");
  stopped.nodes[0].ranks.clear();
  expect(stopped, "the launcher mpirun (process 77 on nid001) is stopped", {"mpirun"},
         "see what stopped it on nid001: ");
}

TEST(ExplainTest, AStoppedDaemon) {
  LaunchFailure stopped = failure({node("nid001", {in_phase(0, Phase::finishing), in_phase(1, Phase::finishing)}),
                                   node("nid002", {in_phase(2, Phase::finishing), in_phase(3, Phase::finishing)})},
                                  4, "finish");
  for (RankRemains& theirs : stopped.nodes[1].ranks) {
    theirs.parent_state = ProcessState::stopped;
    theirs.record.parent = 77;
  }
  expect(stopped, "the launcher's daemon on nid002 (process 77) is stopped; 4 ranks wait for it", {"daemon"},
         "see what stopped it on nid002: ");
  // Of another node it has ended; that of the launcher is the end of all.
  for (RankRemains& theirs : stopped.nodes[1].ranks) theirs.parent_state = gone;
  expect(stopped, "the launcher's daemon on nid002 (process 77) has ended; 4 ranks wait for it", {"daemon"},
         "see what ended it on nid002: ");
  EXPECT_EQ(explain(stopped).culprits, (std::vector<Culprit>{{CulpritKind::launcher, "daemon", "nid002", -1}}))
      << "no node is drained for a launcher";
  // It ended while the nodes were inspected, and its daemons with it.
  LaunchFailure late = stopped;
  late.launcher_state = gone;
  EXPECT_EQ(explain(late).reason.find("daemon"), std::string::npos);
  EXPECT_EQ(explain(ended(stopped)).reason.find("daemon"), std::string::npos);
  // In a case ranks do without it: one that is behind is to blame.
  LaunchFailure in_case = failure({node("nid001", {rank(0), in_state(1, ProcessState::running)})}, 2);
  in_case.nodes[0].ranks[0].parent_state = ProcessState::stopped;
  in_case.nodes[0].ranks[0].record.iteration = 2;
  EXPECT_EQ(explain(in_case).reason.substr(0, 26), "rank 1 on nid001 is behind");
}

// A script runs mpirun, which starts the ranks of its own node itself.
TEST(ExplainTest, OnTheNodeOfTheLauncherItMayBeTheParentItself) {
  LaunchFailure seen = failure({node("nid001", {in_phase(0, Phase::finishing), in_phase(1, Phase::finishing)}),
                                node("nid002", {in_phase(2, Phase::finishing), in_phase(3, Phase::finishing)})},
                               4, "finish");
  seen.launcher_node = "nid001.cluster";
  for (RankRemains& its : seen.nodes[0].ranks) {
    its.parent_state = ProcessState::stopped;
    its.record.parent = 55;
  }
  expect(seen, "the launcher or its daemon on nid001 (process 55) is stopped; 4 ranks wait for it", {"launcher"},
         "see what stopped it on nid001: ");
  // Daemons of other nodes end with it.
  for (NodeAutopsy& on : seen.nodes)
    for (RankRemains& its : on.ranks) {
      its.parent_state = gone;
      its.record.parent = 55;
    }
  expect(seen, "the launcher or its daemon on nid001 (process 55) has ended; 4 ranks wait for it", {"launcher"},
         "see what ended it on nid001: ");
}

TEST(ExplainTest, StoppedRank) {
  RankRow stopped = in_state(5, ProcessState::stopped);
  stopped.iteration = 12;
  expect(failure({node("nid001", {rank(0), rank(1), rank(2), rank(3)}),
                  node("nid003", {rank(4), stopped, rank(6), rank(7)})},
                 8),
         "rank 5 on nid003 is stopped in barrier, iteration 12; 7 ranks wait for it", {"rank 5@nid003"},
         "see what stopped it on nid003: ");
}

TEST(ExplainTest, StoppedRanksOfOneNodeAndOfTwo) {
  const auto stopped = ProcessState::stopped;
  expect(failure({node("nid001", {in_state(0, stopped), in_state(1, stopped), rank(2)})}, 3),
         "ranks 0 and 1 on nid001 are stopped in barrier; 1 rank waits for them", {"rank 0@nid001", "rank 1@nid001"},
         "see what stopped them on nid001: ");
  RankRow elsewhere = in_state(1, stopped);
  elsewhere.step = "gather";
  expect(failure({node("nid001", {in_state(0, stopped)}), node("nid002", {elsewhere})}, 2),
         "rank 0 on nid001 and rank 1 on nid002 are stopped", {"rank 0@nid001", "rank 1@nid002"},
         "see what stopped them on nid001 and nid002: ");
}

TEST(ExplainTest, StoppedInStartUpBeforeItKnewItsRank) {
  RankRow stopped = in_phase(-1, Phase::starting);
  stopped.state = ProcessState::stopped;
  expect(failure({node("nid001", {stopped, in_phase(1, Phase::starting)})}, 2, "start-up"),
         "process 99 on nid001 is stopped in MPI_Init; 1 rank waits for it", {"process 99@nid001"},
         "see what stopped it on nid001: ");
}

TEST(ExplainTest, StuckInTheKernel) {
  RankRow stuck = in_state(1, ProcessState::uninterruptible);
  stuck.kernel_function = "rpc_wait_bit_killable";
  stuck.step = "";
  expect(failure({node("nid001", {rank(0)}), node("nid002", {stuck})}, 2),
         "rank 1 on nid002 is stuck in the kernel (rpc_wait_bit_killable) in run; 1 rank waits for it",
         {"rank 1@nid002"}, "only a reboot clears it");
}

TEST(ExplainTest, ShortWaitInTheKernelIsNoCulprit) {
  RankRow reading = in_state(1, ProcessState::uninterruptible);
  reading.idle_s = 0.2;
  expect(failure({node("nid001", {rank(0), reading})}, 2),
         "all 2 ranks are still at work in step barrier when the deadline of 60 s passed: no rank stands out", {},
         "longer timeout");
}

TEST(ExplainTest, NodeThatDoesNotAnswer) {
  expect(
      failure({node("nid001", {rank(0), rank(1), rank(2), rank(3)}), lost_node("nid002", "ssh: connect timed out")}, 8),
      "nid002 does not answer (ssh: connect timed out); 4 ranks wait", {"nid002"}, "network and power");
}

TEST(ExplainTest, RankThatEndedBecauseANodeWasLostIsNotTheCause) {
  expect(message(failure({node("nid001", {in_state(0, gone)}), lost_node("nid002", "")}, 2), 0, "nid001", {}, 1),
         "nid002 does not answer", {"nid002"}, "left out of the rest");
}

TEST(ExplainTest, SeveralNodesThatDoNotAnswer) {
  expect(failure({lost_node("nid001", "no route"), node("nid002", {rank(2)}), lost_node("nid003", "")}, 3),
         "nid001 (no route) and nid003 do not answer; 1 rank waits", {"nid001", "nid003"}, "the nodes' network");
}

// Progress -------------------------------------------------------------------------------------------------------

TEST(ExplainTest, RanksThatNeverStarted) {
  expect(failure({node("nid001", {in_phase(0, Phase::starting), in_phase(1, Phase::starting)}), node("nid002", {})}, 4,
                 "start-up"),
         "ranks 2 and 3 never started: no rank is on nid002; 2 ranks wait for them", {"nid002"}, "reaches nid002");
  LaunchFailure lossy = failure({node("nid001", {in_phase(0, Phase::starting)}), node("nid002", {})}, 2, "start-up");
  lossy.nodes[0].losses = {{"10.0.0.1", "10.0.0.254", 11, 0, false}};
  lossy.nodes[1].losses = {{"10.0.0.2", "10.0.0.254", 13, 4, false}};
  expect(lossy,
         "rank 1 never started: no rank is on nid002, whose connections lose packets (4 of 13 segments were sent "
         "again); 1 rank waits for it",
         {"nid002"}, "check cables");
  expect(failure({node("nid001", {})}, 4, "start-up"), "none of 4 ranks started", {"launcher"}, "hostname");
  expect(ended(failure({node("nid001", {})}, 4, "start-up"), 132),
         "none of 4 ranks started; the launcher ended with status 132", {"launcher"}, "hostname");
}

TEST(ExplainTest, LauncherThatSaysWhyKnowsBest) {
  LaunchFailure known = ended(failure({node("nid001", {})}, 4, "start-up"));
  known.notice.sentence = "there are not enough slots for 4 ranks";
  known.notice.remedy = "request fewer ranks";
  expect(known, "there are not enough slots for 4 ranks", {"launcher"}, "request fewer ranks");
}

TEST(ExplainTest, BehindByPhase) {
  expect(failure({node("nid001", {in_phase(0, Phase::agreeing), in_phase(1, Phase::prepare)}),
                  node("nid002", {in_phase(2, Phase::agreeing), in_phase(3, Phase::agreeing)})},
                 4),
         "rank 1 on nid001 is behind: in prepare since 12 s; 3 ranks wait for it", {"rank 1@nid001"}, "on nid001");
}

TEST(ExplainTest, BehindByItem) {
  RankRow late = in_phase(0, Phase::gathering);
  late.item = 1;
  expect(failure({node("nid001", {late, in_phase(1, Phase::gap)})}, 2, "gap"),
         "rank 0 on nid001 is behind: handing over its observations since 12 s; 1 rank waits for it", {"rank 0@nid001"},
         "look at what the rank did");
  // One that has only just come there does not keep the others: the time was too short.
  late.idle_s = 0.8;
  expect(failure({node("nid001", {late, in_phase(1, Phase::gap)})}, 2),
         "not finished in time: all 2 ranks were still at work when the deadline of 60 s passed", {"timeout"},
         "longer timeout (--timeout)");
}

TEST(ExplainTest, BehindByIterationOfTheSameStep) {
  std::vector<RankRow> rows = {rank(0), rank(1), rank(2)};
  for (RankRow& row : rows) row.iteration = 13;
  rows[2].iteration = 12;
  expect(failure({node("nid001", rows)}, 3),
         "rank 2 on nid001 is behind: in barrier, iteration 12 since 12 s; 2 ranks wait for it", {"rank 2@nid001"},
         "load, file system");
}

TEST(ExplainTest, WhoAwaitsATurnIsNotBehind) {
  std::vector<RankRow> rows = {rank(0), rank(1), rank(2)};
  for (RankRow& row : rows) {
    row.step = "await turn";
    row.steps = 3;
  }
  rows[1].step = "cuMemcpyAsync";
  rows[1].steps = 900;
  expect(failure({node("nid001", rows)}, 3),
         "rank 1 on nid001 is behind: in cuMemcpyAsync since 12 s; 2 ranks wait for it", {"rank 1@nid001"},
         "load, file system");
}

TEST(ExplainTest, WhoStillMakesProgressIsNotBlamed) {
  std::vector<RankRow> rows = {rank(0), rank(1), rank(2), rank(3)};
  for (RankRow& row : rows) {
    row.iteration = 4711;
    row.idle_s = 0.01;
  }
  rows[1].iteration = 4710;
  expect(failure({node("nid001", rows)}, 4),
         "not finished in time: all 4 ranks were still at work when the deadline of 60 s passed", {"timeout"},
         "longer timeout (--timeout)");
  // Progress of the others does not help who stands still.
  rows[1].idle_s = 12;
  expect(failure({node("nid001", rows)}, 4),
         "rank 1 on nid001 is behind: in barrier, iteration 4710 since 12 s; 3 ranks wait for it", {"rank 1@nid001"},
         "load");
}

TEST(ExplainTest, AStragglerIsToldThoughItMakesProgress) {
  std::vector<RankRow> rows = {rank(0), rank(1), rank(2)};
  for (RankRow& row : rows) {
    row.iteration = 900;
    row.idle_s = 0.2;
  }
  rows[2].iteration = 100;
  expect(failure({node("nid001", rows)}, 3),
         "not finished in time: all 3 ranks were still at work when the deadline of 60 s passed; rank 2 on nid001 is "
         "far behind the others",
         {"timeout"}, "fewer rounds");
}

TEST(ExplainTest, AnOperationThatAlwaysTakesSecondsIsNoLostMessage) {
  std::vector<RankRow> rows = {rank(0), rank(1)};
  for (RankRow& row : rows) {
    row.step = "allreduce";
    row.iteration = 20;  // in 60 s
    row.idle_s = 1.9;
  }
  expect(
      failure({node("nid001", rows)}, 2),
      "all 2 ranks are still at work in allreduce, iteration 20 when the deadline of 60 s passed: no rank stands out",
      {}, "longer timeout");
}

TEST(ExplainTest, IterationsOfDifferentStepsDoNotCompare) {
  RankRow sending = rank(0);
  sending.step = "send";
  sending.iteration = 900;
  sending.steps = 1;
  RankRow waiting = rank(1);
  waiting.iteration = 0;
  waiting.steps = 2;
  expect(failure({node("nid001", {sending, waiting})}, 2),
         "rank 0 on nid001 is behind: in send, iteration 900 since 12 s; 1 rank waits for it", {"rank 0@nid001"},
         "load");
}

TEST(ExplainTest, PeerThatSeveralWaitFor) {
  std::vector<RankRow> rows = {rank(0), rank(1), rank(2), rank(3)};
  for (RankRow& row : rows) row.step = "receive";
  rows[0].peer = 3;
  rows[1].peer = 3;
  rows[2].peer = 1;
  expect(failure({node("nid001", rows)}, 4), "rank 3 on nid001 is behind: in receive since 12 s; 3 ranks wait for it",
         {"rank 3@nid001"}, "nid001");
}

TEST(ExplainTest, OneThatLeftTooEarly) {
  expect(
      failure({node("nid001", {rank(0), rank(1), rank(2), in_phase(3, Phase::gathering)})}, 4),
      "rank 3 on nid001 is out of step: handing over its observations since 12 s; 3 ranks are further back in barrier",
      {"rank 3@nid001"}, "collective step");
}

TEST(ExplainTest, RankThatDoesNotFinish) {
  expect(failure({node("nid001", {in_phase(1, Phase::finishing)})}, 4, "finish"),
         "rank 1 on nid001 has not finished: in MPI_Finalize; 3 ranks ended normally", {"rank 1@nid001"},
         "MPI_Finalize");
}

TEST(ExplainTest, NobodyStandsOut) {
  std::vector<RankRow> rows;
  for (int i = 0; i < 8; ++i) rows.push_back(rank(i));
  rows[3].idle_s = 14;
  expect(failure({node("nid001", rows)}, 8), "all 8 ranks are in step barrier since 12 s: no rank stands out", {},
         "check the network");
}

/// They wait for the launcher, whose ports any user can flood.
TEST(ExplainTest, NoNodeIsBlamedWhereAllWaitInMpiInit) {
  for (const int count : {1, 2}) {
    std::vector<RankRow> rows;
    for (int i = 0; i < count; ++i) rows.push_back(in_phase(i, Phase::starting));
    LaunchFailure starting = failure({node("nid001", rows)}, count, "start-up");
    starting.launcher = "mpirun";
    const Finding finding = explain(starting);
    EXPECT_EQ(finding.verdict, Verdict::error);
    EXPECT_EQ(finding.reason.find(count == 1 ? "the only rank is in MPI_Init since" : "all 2 ranks are in MPI_Init"),
              0u)
        << finding.reason;
    ASSERT_EQ(finding.culprits.size(), 1u);
    EXPECT_EQ(finding.culprits[0].kind, CulpritKind::launcher);
  }
}

TEST(ExplainTest, TheOnlyRankHangs) {
  RankRow row = rank(0);
  row.step = "";
  expect(failure({node("nid001", {row})}, 1), "rank 0 on nid001, the only rank, is in run since 12 s",
         {"rank 0@nid001"}, "look at what the rank did on nid001");
}

constexpr const char* gpu = "GPU 0000:4b:00.0 (GPU-11)";

RankRow in_call(int number, std::string call, double age_s = 12) {
  RankRow row = in_phase(number, Phase::running, "allreduce");
  row.iteration = 5;
  row.call = std::move(call);
  row.call_age_s = age_s;
  row.device = gpu;
  return row;
}

TEST(ExplainTest, AVendorsCallThatNeverReturns) {
  expect(failure({node("nid001", {in_call(0, ""), in_call(1, "ncclAllReduce")}), node("nid002", {in_call(2, "")})}, 3),
         "rank 1 on nid001 is behind: in ncclAllReduce, step allreduce, iteration 5 (GPU 0000:4b:00.0 (GPU-11)) since "
         "12 s; 2 ranks wait for it",
         {"rank 1@nid001"}, "NCCL_DEBUG=INFO");
  // The step was entered just now, and the call is old enough.
  auto fresh = in_call(0, "cuMemAlloc_v2", 5);
  fresh.idle_s = 0.2;
  expect(failure({node("nid001", {fresh, in_call(1, "")})}, 2),
         "rank 0 on nid001 is behind: in cuMemAlloc_v2, step allreduce, iteration 5 (GPU 0000:4b:00.0 (GPU-11)) since "
         "5.0 s; 1 rank waits for it",
         {"rank 0@nid001"}, "nvidia-fabricmanager");
}

TEST(ExplainTest, AVendorsCallOfTheOnlyRank) {
  for (const auto& [call, remedy] :
       std::vector<std::pair<std::string, std::string>>{{"cuInit", "nvidia-smi --gpu-reset"},
                                                        {"nvmlInit_v2", "nvidia-smi answers"},
                                                        {"hipInit", "rocm-smi --gpureset"}}) {
    RankRow row = in_call(0, call);
    row.step = "";
    expect(failure({node("nid001", {row})}, 1),
           "rank 0 on nid001, the only rank, is in " + call + " (GPU 0000:4b:00.0 (GPU-11)) since 12 s",
           {"rank 0@nid001"}, remedy);
  }
}

TEST(ExplainTest, AllInOneVendorsCall) {
  expect(failure({node("nid001", {in_call(0, "ncclCommInitRank"), in_call(1, "ncclCommInitRank")})}, 2),
         "all 2 ranks are in ncclCommInitRank, step allreduce, iteration 5 since 12 s: no rank stands out", {},
         "NCCL_DEBUG=INFO");
}

TEST(ExplainTest, AllInOneCallOfADriver) {
  expect(failure({node("nid001", {in_call(0, "cuInit")}), node("nid002", {in_call(1, "cuInit")})}, 2),
         "all 2 ranks are in cuInit, step allreduce, iteration 5 since 12 s: no rank stands out", {"nid001", "nid002"},
         "nvidia-smi");
}

TEST(ExplainTest, FewInCallsAreNamedWithTheirGpus) {
  auto other = in_call(2, "cuMemcpyAsync");
  other.device = "GPU 0000:5b:00.0 (GPU-12)";
  expect(failure({node("nid001", {in_call(0, ""), in_call(1, "cuMemcpyAsync"), other})}, 3),
         "ranks 1 and 2 on nid001 are behind: in cuMemcpyAsync, step allreduce, iteration 5 (GPU 0000:4b:00.0 (GPU-11) "
         "and GPU 0000:5b:00.0 (GPU-12)) since 12 s; 1 rank waits for them",
         {"rank 1@nid001", "rank 2@nid001"}, "nvidia-smi");
}

TEST(ExplainTest, ACrashInsideOfAVendorsCallNamesItsGpu) {
  RankRow row = in_call(1, "hipMemcpyAsync");
  row.state = gone;
  row.signal = SIGSEGV;
  expect(ended(failure({node("nid001", {in_state(0, gone, SIGTERM), row})}, 2)),
         "rank 1 on nid001 was killed by signal 11 (SIGSEGV) in hello%1a2b, step allreduce, iteration 5, inside of "
         "hipMemcpyAsync (GPU 0000:4b:00.0 (GPU-11)); 1 rank was ended after it",
         {"rank 1@nid001"}, "kernel log of nid001 (dmesg: amdgpu)");
}

TEST(ExplainTest, CallsThatComeAndGoAreNoProgress) {
  std::vector<RankRow> rows{in_call(0, "cuStreamQuery", 0.01), in_call(1, "cuStreamQuery", 0.02)};
  for (RankRow& row : rows) row.iteration = 0;
  expect(failure({node("nid001", rows)}, 2),
         "all 2 ranks are in cuStreamQuery, step allreduce since 12 s: no rank stands out", {}, "nvidia-smi");
}

TEST(ExplainTest, NothingIsLeft) {
  expect(ended(failure({node("nid001", {})}, 2), 7),
         "the launcher ended with status 7 in hello%1a2b, and no rank left a record", {"launcher"}, "standard error");
  expect(ended(failure({node("nid001", {})}, 2), 0),
         "the launcher ended with status 0 in hello%1a2b without starting muster-rank", {"launcher"}, "--agent");
  expect(failure({node("nid001", {})}, 2, "finish"),
         "no rank is left during finish, and the launcher did not end within 60 s", {"launcher"}, "launcher");
}

TEST(ExplainTest, AWreckOfNothingAtAllStillGetsAReason) {
  const Finding finding = explain({});
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_NE(finding.reason, "");
  EXPECT_NE(finding.remedy, "");
}

// Each node by itself ------------------------------------------------------------------------------------------

LaunchFailure per_node(LaunchFailure failure) {
  failure.is_per_node = true;
  return failure;
}

TEST(ExplainTest, OfNodesByThemselvesOnlyThoseInTroubleAreNamed) {
  const auto done = [](int number) { return in_phase(number, Phase::gathering); };
  // Three of four hang: were they one world, the one that is through would be ahead of the rest.
  expect(per_node(failure({node("nid001", {done(0), done(1)}), node("nid002", {rank(2), rank(3)}),
                           node("nid003", {rank(4), rank(5)}), node("nid004", {rank(6), rank(7)})},
                          8)),
         "on nid002, nid003 and nid004: all 6 ranks are in step barrier since 12 s: no rank stands out",
         {"nid002", "nid003", "nid004"}, "check the network");
  expect(per_node(failure(
             {node("nid001", {done(0), done(1)}), node("nid002", {in_state(2, ProcessState::stopped), rank(3)})}, 4)),
         "rank 2 on nid002 is stopped in barrier; 1 rank waits for it", {"rank 2@nid002"}, "kill -STOP");
}

TEST(ExplainTest, ASlowNodeByItselfIsNamed) {
  auto slow = rank(2);
  slow.iteration = 100;
  slow.idle_s = 0.1;
  auto other = slow;
  other.rank = 3;
  other.iteration = 101;
  const Finding finding = explain(per_node(failure(
      {node("nid001", {in_phase(0, Phase::gathering), in_phase(1, Phase::gathering)}), node("nid002", {slow, other})},
      4)));
  EXPECT_EQ(finding.reason.find("not finished in time: ranks 2 and 3 on nid002 were still at work"), 0u)
      << finding.reason;
  EXPECT_EQ(culprits(finding), (Names{"timeout", "nid002"}));
}

RankRow with_program(int number, const std::string& command, double idle) {
  RankRow row = in_phase(number, Phase::running, "program");
  row.program = command;
  row.idle_s = idle;
  return row;
}

TEST(ExplainTest, AProgramThatStillRunsOnAllNodesIsNoNodesFault) {
  LaunchFailure one = failure({node("nid001", {with_program(0, "sleep 100", 5.2)})}, 1);
  one.deadline_s = 5;
  expect(one, "the program timed out after 5.2 s (limit 5.0 s), still running `sleep 100`", {"sleep"},
         "raise the timeout");
  LaunchFailure two =
      failure({node("nid001", {with_program(0, "./x", 61)}), node("nid002", {with_program(1, "./x", 60)})}, 2);
  expect(two, "all 2 programs timed out after 61 s (limit 60 s), still running `./x`", {"./x"}, "raise the timeout");
}

TEST(ExplainTest, AProgramThatStillRunsOnFewNodesIsTheirs) {
  const auto done = [](int number) { return in_phase(number, Phase::gathering); };
  expect(
      failure({node("nid001", {done(0)}), node("nid002", {with_program(1, "./x", 60)}), node("nid003", {done(2)})}, 3),
      "the program of rank 1 on nid002 timed out after 60 s (limit 60 s), still running `./x`; 2 others ended",
      {"rank 1@nid002"}, "look at what the program does on nid002");
  expect(
      failure({node("nid001", {with_program(0, "./x", 60)}), node("nid002", {done(1)}), node("nid003", {done(2)})}, 3),
      "the program of rank 0 on nid001 timed out after 60 s (limit 60 s), still running `./x`; 2 others ended",
      {"rank 0@"}, "run it once more without nid001 (--nodes 'nid[002-003]')");
  RankRow stuck = with_program(0, "ls /scratch", 60);
  stuck.program_state = ProcessState::uninterruptible;
  expect(failure({node("nid001", {stuck})}, 1),
         "the program timed out after 60 s (limit 60 s), still running `ls /scratch`, which is stuck in the kernel",
         {"rank 0@nid001"}, "look at what the program does on nid001");
}

TEST(ExplainTest, ANameThatDoesNotResolveIsNoNodesFault) {
  const auto finding =
      explain(failure({lost_node("nid066", "ssh: Could not resolve hostname nid066: Name or service not known")}, 1));
  EXPECT_EQ(finding.verdict, Verdict::error);
  EXPECT_EQ(finding.reason, "nid066 does not resolve");
  EXPECT_EQ(finding.culprits, (std::vector<Culprit>{{CulpritKind::setting, "--nodes", "", -1}}));
}

}  // namespace
}  // namespace muster
