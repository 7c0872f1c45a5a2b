// What is said of ranks that did not take part, and how the verdict comes about.
#include <gtest/gtest.h>

#include "case_fixture.hpp"

namespace muster::testing {
namespace {

Finding hang() {
  return {Verdict::fail, "rank 1 on nid001 is stopped in barrier", {{CulpritKind::rank, "rank 1", "nid001", 1}}, "x"};
}

TEST(Evaluate, TheHeadDescribesTheCase) {
  CaseFixture fixture;
  fixture.item.summary = "A scene.";
  fixture.item.tags = {"default"};
  fixture.item.system = "alps";
  fixture.item.partition = "normal";
  fixture.item.environment = "container";
  fixture.item.rerun = {"muster", "run", "-n", "scene"};
  const auto head = describe(fixture.item);
  EXPECT_EQ(head.id, "scene%00000001");
  EXPECT_EQ(head.check, "scene");
  EXPECT_EQ(head.probe, "scene");
  EXPECT_EQ(head.summary, "A scene.");
  EXPECT_EQ(head.place, "checks/scene.toml:2");
  EXPECT_EQ(head.tags, fixture.item.tags);
  EXPECT_EQ(head.system, "alps");
  EXPECT_EQ(head.partition, "normal");
  EXPECT_EQ(head.environment, "container");
  EXPECT_EQ(head.rerun, fixture.item.rerun);
  EXPECT_EQ(head.nodes, 2);
  EXPECT_EQ(head.ranks, 4);
  EXPECT_EQ(head.params, (std::vector<std::pair<std::string, std::string>>{{"sizes", "8B,16MiB"}}));
  EXPECT_EQ(head.verdict, Verdict::unmeasured);
}

TEST(Evaluate, NeitherBoundNorEvidenceIsNoPass) {
  const auto result = CaseFixture().result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "nothing was judged: no bound and no evidence");
  EXPECT_FALSE(result.remedy.empty());
  for (const auto& row : result.node_rows) EXPECT_EQ(row.verdict, Verdict::unmeasured);
}

TEST(Evaluate, EvidenceOfTheJudgeIsAPass) {
  CaseFixture fixture;
  message.evidence = {"4 ranks met", "8 masks are disjoint"};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass);
  EXPECT_EQ(result.reason, "4 ranks met; 8 masks are disjoint");
  EXPECT_EQ(result.evidence.size(), 2u);
  EXPECT_EQ(result.seconds, 1.5);
  ASSERT_EQ(result.repetitions.size(), 1u);
  EXPECT_EQ(result.repetitions[0], (Repetition{1, Verdict::pass, result.reason, 1.5, 0}));
  for (const auto& row : result.node_rows) EXPECT_EQ(row.verdict, Verdict::pass);
}

TEST(Evaluate, EmptyEvidenceIsNone) {
  CaseFixture fixture;
  message.evidence = {""};
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured);
}

TEST(Evaluate, AFindingThatSaysPassIsNoEvidence) {
  CaseFixture fixture;
  message.findings = {{Verdict::pass, "looks good", {}, ""}};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.notes, (std::vector<std::string>{"looks good"}));
}

TEST(Evaluate, AFindingOfTheJudgeOutweighsItsEvidence) {
  CaseFixture fixture;
  message.evidence = {"3 ranks met"};
  message.findings = {{Verdict::fail, "rank 2 is elsewhere", {{CulpritKind::rank, "rank 2", "nid002", 2}}, "find it"}};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.reason, "rank 2 is elsewhere");
  EXPECT_EQ(result.remedy, "find it");
  EXPECT_EQ(result.culprits, message.findings[0].culprits);
  EXPECT_EQ(result.node_rows[0].verdict, Verdict::pass);
  EXPECT_EQ(result.node_rows[1].verdict, Verdict::fail);
}

TEST(Evaluate, AFindingThatNamesOthersClearsANode) {
  CaseFixture fixture(3);
  message.findings = {
      {Verdict::fail, "the clock of nid002 is wrong", {{CulpritKind::node, "nid002", "nid002", -1}}, "x"}};
  auto rows = fixture.result().node_rows;
  EXPECT_EQ(rows[0].verdict, Verdict::pass);
  EXPECT_EQ(rows[1].verdict, Verdict::fail);
  EXPECT_EQ(rows[2].verdict, Verdict::pass);
  // Somebody is meant who has no name.
  message.findings.push_back({Verdict::fail, "the sums differ", {}, "x"});
  EXPECT_EQ(fixture.result().node_rows[0].verdict, Verdict::unmeasured);
}

TEST(Evaluate, SilenceIsNotClearedByOthers) {
  CaseFixture fixture(3);
  message.findings = {
      {Verdict::fail, "the clock of nid002 is wrong", {{CulpritKind::node, "nid002", "nid002", -1}}, "x"}};
  fixture.leave(4);
  const auto rows = fixture.result().node_rows;
  EXPECT_EQ(rows[0].verdict, Verdict::unmeasured) << "an incomplete case is not judged";
  EXPECT_NE(rows[2].verdict, Verdict::pass);
}

TEST(Evaluate, ManyCulpritsMayNotBeAll) {
  CaseFixture fixture(10, 1);
  message.findings = {{Verdict::fail, "8 of them and others have wrong sums", {}, "x"}};
  for (int node = 0; node < 8; ++node)
    message.findings[0].culprits.push_back({CulpritKind::node, testing::host(node), testing::host(node), -1});
  EXPECT_EQ(fixture.result().node_rows[9].verdict, Verdict::unmeasured);
}

TEST(Evaluate, AFindingWithoutCulpritLeavesNoNodeGood) {
  CaseFixture fixture;
  message.findings = {{Verdict::fail, "the sums differ", {}, "x"}};
  for (const auto& row : fixture.result().node_rows) EXPECT_EQ(row.verdict, Verdict::unmeasured);
}

TEST(Evaluate, ASkipOfTheJudgeIsASkip) {
  CaseFixture fixture;
  message.findings = {{Verdict::skip, "no GPU here and none expected", {}, ""}};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::skip);
  EXPECT_EQ(result.reason, "no GPU here and none expected");
  for (const auto& row : result.node_rows) EXPECT_EQ(row.verdict, Verdict::skip);
}

TEST(Evaluate, WhatWasAskedAndCanNotBeDoneIsNobodysFault) {
  CaseFixture fixture;
  for (Observation& one : fixture.record.observations) {
    one.state = one.rank == 1 ? ObservationState::not_run : ObservationState::unable;
    if (one.rank != 1) one.facts.push_back({"refused", "batch"});
    one.error = one.rank == 1 ? "" : "batch: 6000 is too many, says " + std::to_string(one.rank);
    one.readings.clear();
  }
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::error);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.reason, "the request is impossible: batch: 6000 is too many, says 0");
  EXPECT_EQ(result.culprits, (std::vector<Culprit>{{CulpritKind::setting, "batch", "", -1}}));
  EXPECT_EQ(result.remedy, "write another batch into the check file, or give it with -S CHECK.batch=VALUE");
  for (const auto& row : result.node_rows) EXPECT_EQ(row.verdict, Verdict::unmeasured);
}

TEST(Evaluate, ASilentRankIsNamedAndNeverAPass) {
  CaseFixture fixture;
  message.evidence = {"all is well"};
  fixture.leave(2);
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "rank 2 on nid002 reported nothing");
  ASSERT_EQ(result.culprits.size(), 1u);
  EXPECT_EQ(result.culprits[0], (Culprit{CulpritKind::rank, "rank 2", "nid002", 2}));
  EXPECT_FALSE(result.remedy.empty());
  EXPECT_EQ(judge_calls, 0) << "the judge sees complete cases only";
  EXPECT_EQ(result.node_rows[1].verdict, Verdict::unmeasured);
}

TEST(Evaluate, SilenceThatTheFrameExplainsIsNoFindingOfItsOwn) {
  CaseFixture fixture;
  fixture.record.findings = {hang()};
  fixture.record.observations.clear();
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.reason, hang().reason);
  EXPECT_EQ(result.node_rows[0].verdict, Verdict::fail);
  EXPECT_EQ(result.node_rows[1].verdict, Verdict::unmeasured);
}

TEST(Evaluate, ASkipOfTheFrameExplainsNoSilence) {
  CaseFixture fixture;
  fixture.record.findings = {{Verdict::skip, "not here", {}, ""}};
  fixture.leave(0);
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured);
}

TEST(Evaluate, ManySilentRanksAreOneSentence) {
  CaseFixture fixture(10, 4);
  fixture.record.observations.clear();
  const auto result = fixture.result();
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.culprits.size(), 16u);
  EXPECT_NE(result.reason.find("rank 0 on nid001, rank 1 on nid001"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("and 32 more reported nothing"), std::string::npos) << result.reason;
}

TEST(Evaluate, ARankThatCannotPrepareIsNamed) {
  CaseFixture fixture;
  for (auto& one : fixture.record.observations) one.state = ObservationState::not_run;
  fixture.rank(3).state = ObservationState::not_prepared;
  fixture.rank(3).error = "allocating 64GiB: Cannot allocate memory";
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.reason, "rank 3 on nid002 could not prepare: allocating 64GiB: Cannot allocate memory");
  ASSERT_EQ(result.findings.size(), 1u) << "the ranks that therefore did not run are no findings";
  EXPECT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.node_rows[0].verdict, Verdict::unmeasured);
  EXPECT_EQ(result.node_rows[1].verdict, Verdict::fail);
}

TEST(Evaluate, RanksWithTheSameErrorShareAFinding) {
  CaseFixture fixture;
  for (auto& one : fixture.record.observations) {
    one.state = ObservationState::failed;
    one.error = one.rank == 1 ? "no route" : "refused";
  }
  const auto result = fixture.result();
  ASSERT_EQ(result.findings.size(), 2u);
  EXPECT_EQ(result.findings[0].reason, "rank 0 on nid001, rank 2 on nid002 and rank 3 on nid002 failed: refused");
  EXPECT_EQ(result.findings[1].reason, "rank 1 on nid001 failed: no route");
  EXPECT_EQ(result.verdict, Verdict::fail);
}

TEST(Evaluate, WhoFailedThroughAnotherRankIsNoCulpritWhereThatOneTells) {
  CaseFixture fixture;
  for (auto& one : fixture.record.observations) {
    one.state = ObservationState::failed;
    one.error = "ncclAllReduce returned 6: remote process exited";
    one.facts.push_back({"peer_failed", ""});
  }
  const auto alone = fixture.result();
  ASSERT_EQ(alone.findings.size(), 1u);
  EXPECT_EQ(alone.findings[0].culprits.size(), 4u);

  fixture.rank(2).error = "ncclAllReduce returned 1: unhandled cuda error";
  fixture.rank(2).facts.clear();
  const auto result = fixture.result();
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].reason, "rank 2 on nid002 failed: ncclAllReduce returned 1: unhandled cuda error");
  EXPECT_EQ(result.verdict, Verdict::fail);
}

TEST(Evaluate, ManyDifferentErrorsStayFewFindings) {
  CaseFixture fixture(10, 4);
  for (auto& one : fixture.record.observations) {
    one.state = ObservationState::failed;
    one.error = "address " + std::to_string(one.rank);
  }
  const auto result = fixture.result();
  ASSERT_EQ(result.findings.size(), 17u);
  EXPECT_NE(result.findings.back().reason.find("failed: address 16, or for other reasons"), std::string::npos);
  for (const auto& row : result.node_rows) EXPECT_EQ(row.verdict, Verdict::fail);
}

TEST(Evaluate, AnErrorWithoutTextOrWithEscapesIsStillASentence) {
  CaseFixture fixture;
  fixture.rank(0).state = ObservationState::failed;
  fixture.rank(1).state = ObservationState::failed;
  fixture.rank(1).error = "\x1b[31mred\nline";
  const auto result = fixture.result();
  ASSERT_EQ(result.findings.size(), 2u);
  EXPECT_EQ(result.findings[0].reason, "rank 0 on nid001 failed: no reason was given");
  EXPECT_EQ(result.findings[1].reason.find('\x1b'), std::string::npos);
  EXPECT_EQ(result.findings[1].reason.find('\n'), std::string::npos);
}

TEST(Evaluate, RanksThatDidNotRunForNoReasonAreNoPass) {
  CaseFixture fixture;
  message.evidence = {"x"};
  for (auto& one : fixture.record.observations) one.state = ObservationState::not_run;
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_NE(result.reason.find("did not run, and no rank reported why"), std::string::npos);
}

TEST(Evaluate, AnAgentThatLacksTheProbeIsAnErrorAndNoFaultOfTheMachine) {
  CaseFixture fixture;
  message.evidence = {"x"};
  for (auto& one : fixture.record.observations) one.state = ObservationState::not_run;
  fixture.rank(3).state = ObservationState::unable;
  fixture.rank(3).error = "agent: has no probe \"p2p\"";
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::error);
  EXPECT_EQ(result.reason, "rank 3 on nid002 could not process the request: agent: has no probe \"p2p\"");
  EXPECT_EQ(result.findings.size(), 1u);
  EXPECT_NE(result.remedy.find("--agent"), std::string::npos);
}

TEST(Evaluate, ARankThatReportsTwiceIsAnError) {
  CaseFixture fixture;
  message.evidence = {"x"};
  fixture.record.observations.push_back(fixture.record.observations[2]);
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::error);
  EXPECT_EQ(result.reason, "rank 2 on nid002 reported more than once");
  EXPECT_EQ(result.findings.size(), 1u);
}

TEST(Evaluate, RanksOutsideOfTheWorldAreAnError) {
  CaseFixture fixture;
  message.evidence = {"x"};
  Observation stranger;
  stranger.rank = 4;
  fixture.record.observations.push_back(stranger);
  stranger.rank = -1;
  fixture.record.observations.push_back(stranger);
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::error);
  EXPECT_EQ(result.reason, "rank -1 and rank 4 reported, but the launch has 4 ranks");
}

TEST(Evaluate, CausesStandBeforeConsequences) {
  CaseFixture fixture;
  fixture.rank(0).state = ObservationState::failed;
  fixture.leave(3);
  fixture.expect_reference("busbw", 100);
  fixture.add(1, "busbw", 50);
  fixture.add(2, "busbw", 100);
  const auto result = fixture.result();
  ASSERT_EQ(result.findings.size(), 3u);
  EXPECT_NE(result.findings[0].reason.find("failed"), std::string::npos);
  EXPECT_NE(result.findings[1].reason.find("reported nothing"), std::string::npos);
  EXPECT_NE(result.findings[2].reason.find("busbw"), std::string::npos);
}

TEST(Evaluate, ReasonAndCulpritsAreThoseOfTheWorstFinding) {
  CaseFixture fixture;
  fixture.leave(3);
  fixture.rank(0).readings.clear();
  fixture.expect_reference("busbw", 100);
  fixture.report("busbw", {100, 50, 100});
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.findings[0].verdict, Verdict::unmeasured);
  EXPECT_NE(result.reason.find("rank 1 on nid001"), std::string::npos) << result.reason;
  ASSERT_EQ(result.culprits.size(), 1u);
  EXPECT_EQ(result.culprits[0].rank, 1);
}

TEST(Evaluate, AnEmptyWorldIsUnmeasured) {
  CaseFixture fixture(0, 0);
  message.evidence = {"x"};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "no rank reported anything");
  EXPECT_EQ(judge_calls, 0);
}

TEST(Evaluate, OutputOfAPassIsThatOfTheLowestRank) {
  CaseFixture fixture;
  message.evidence = {"x"};
  fixture.rank(1).output = "hello\n";
  fixture.rank(2).output = "world\n";
  const auto result = fixture.result();
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0], (RankOutput{1, "nid001", "hello\n"}));
}

TEST(Evaluate, OutputOfOthersIsAllOfItAndHarmless) {
  CaseFixture fixture;
  fixture.rank(0).output = "\x1b[2Jgone";
  fixture.rank(3).output = std::string(10000, 'a') + "\nlast line\n";
  fixture.rank(1).output = std::string(10000, 'a') + " the end";
  const auto result = fixture.result();
  ASSERT_EQ(result.outputs.size(), 3u);
  EXPECT_LE(result.outputs[1].text.size(), 4096u);
  EXPECT_EQ(result.outputs[1].text.substr(0, 5), "...aa") << "the start of a long line is left out";
  EXPECT_EQ(result.outputs[0].text.find('\x1b'), std::string::npos);
  EXPECT_LE(result.outputs[2].text.size(), 4096u);
  EXPECT_EQ(result.outputs[2].text.substr(result.outputs[2].text.size() - 10), "last line\n");
}

TEST(Evaluate, OutputOfCulpritsIsKeptWhenThereIsTooMuch) {
  CaseFixture fixture(50, 2);
  for (auto& one : fixture.record.observations) one.output = "text";
  fixture.rank(99).state = ObservationState::failed;
  const auto result = fixture.result();
  ASSERT_EQ(result.outputs.size(), 64u);
  EXPECT_EQ(result.outputs.front().rank, 0);
  EXPECT_EQ(result.outputs.back().rank, 99);
  EXPECT_EQ(result.notes, (std::vector<std::string>{"what 36 more ranks printed is left out here"}));
}

TEST(EvaluateUnable, VerdictAndReasonAreThoseOfTheCase) {
  CaseFixture fixture;
  fixture.item.unable = {{Verdict::skip, "2 nodes are needed, 1 is here", {}, "give it more nodes"}};
  const auto result = evaluate_unable(fixture.item);
  EXPECT_EQ(result.verdict, Verdict::skip);
  EXPECT_EQ(result.reason, "2 nodes are needed, 1 is here");
  EXPECT_EQ(result.remedy, "give it more nodes");
  EXPECT_EQ(result.id, fixture.item.id);
  EXPECT_EQ(result.findings, fixture.item.unable);
}

TEST(EvaluateUnable, WithoutAReasonItIsUnmeasured) {
  const auto result = evaluate_unable(CaseFixture().item);
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_FALSE(result.reason.empty());
}

}  // namespace
}  // namespace muster::testing
