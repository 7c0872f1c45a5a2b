#include "evaluate/consequences.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Culprit rank_on(const std::string& node, int rank) {
  return {CulpritKind::rank, "rank " + std::to_string(rank), node, rank};
}

Finding finding(Subject subject, const std::string& reason, std::vector<Culprit> culprits) {
  Finding made{Verdict::fail, reason, std::move(culprits), "do something about " + reason};
  made.subject = subject;
  return made;
}

CaseResult failing(const std::string& id, std::vector<Finding> findings) {
  CaseResult result;
  result.id = id;
  result.check = id;
  result.verdict = Verdict::fail;
  result.reason = findings.front().reason;
  result.culprits = findings.front().culprits;
  result.remedy = findings.front().remedy;
  result.findings = std::move(findings);
  result.node_rows = {{"n1", 1, Verdict::fail, {}}, {"n2", 1, Verdict::fail, {}}};
  result.repetitions = {{1, Verdict::fail, result.reason, 0, 0}};
  return result;
}

CaseResult missing_gpu(const std::string& node) {
  return failing("devices", {finding(Subject::gpus, "a GPU is missing", {{CulpritKind::node, node, node, -1}})});
}

TEST(Consequences, AMissingGpuExplainsTheMappingOfItsNode) {
  // The plan may have put the cause last.
  std::vector<CaseResult> cases{failing("mapping", {finding(Subject::mapping, "beyond", {rank_on("n1", 7)})}),
                                missing_gpu("n1")};
  mark_consequences(cases);
  EXPECT_EQ(cases[0].follows, "devices");
  EXPECT_EQ(cases[0].findings[0].follows, "devices");
  EXPECT_EQ(cases[0].remedy, "repair devices first (a GPU is missing), then run this again");
  EXPECT_EQ(cases[0].reason, "beyond");
  EXPECT_EQ(cases[0].verdict, Verdict::fail);
  EXPECT_EQ(cases[1].follows, "");
  EXPECT_EQ(cases[1].remedy, "do something about a GPU is missing");
}

TEST(Consequences, AnotherNodesFaultExplainsNothing) {
  std::vector<CaseResult> cases{missing_gpu("n2"),
                                failing("mapping", {finding(Subject::mapping, "beyond", {rank_on("n1", 7)})})};
  mark_consequences(cases);
  EXPECT_EQ(cases[1].follows, "");
  EXPECT_EQ(cases[1].remedy, "do something about beyond");
}

TEST(Consequences, WhatAGpuDoesFollowsFromWhatIsWrongWithThatGpuAlone) {
  const auto about = [](Subject subject, const std::string& gpu, const std::string& node) {
    return finding(subject, "trouble with " + gpu, {{CulpritKind::device, gpu, node, -1}});
  };
  std::vector<CaseResult> cases{failing("copies", {about(Subject::devices, "GPU 1", "n1")}),
                                failing("neighbour", {about(Subject::devices, "GPU 2", "n1")}),
                                failing("elsewhere", {about(Subject::devices, "GPU 1", "n2")}),
                                failing("visible", {about(Subject::gpus, "GPU 1 (GPU-1234)", "n1")})};
  mark_consequences(cases);
  EXPECT_EQ(cases[0].follows, "visible");
  EXPECT_EQ(cases[1].follows, "");
  EXPECT_EQ(cases[2].follows, "");
  EXPECT_EQ(cases[3].follows, "");
}

TEST(Consequences, EveryNodeThatIsBlamedHasToBeExplained) {
  std::vector<CaseResult> cases{
      missing_gpu("n1"),
      failing("mapping", {finding(Subject::mapping, "beyond", {rank_on("n1", 7), rank_on("n2", 9)})})};
  mark_consequences(cases);
  EXPECT_EQ(cases[1].follows, "");
}

TEST(Consequences, WhatStandsForItselfComesFirstAndKeepsTheCaseFromFollowing) {
  std::vector<CaseResult> cases{missing_gpu("n1"),
                                failing("affinity", {finding(Subject::placement, "far", {rank_on("n1", 5)}),
                                                     finding(Subject::masks, "reserved", {rank_on("n1", 0)})})};
  mark_consequences(cases);
  EXPECT_EQ(cases[1].follows, "");
  EXPECT_EQ(cases[1].reason, "reserved");
  EXPECT_EQ(cases[1].culprits[0].rank, 0);
  EXPECT_EQ(cases[1].findings[0].follows, "");
  EXPECT_EQ(cases[1].findings[1].follows, "devices");
}

TEST(Consequences, NothingFollowsFromWhatPassedOrFromItself) {
  auto passing = missing_gpu("n1");
  passing.verdict = Verdict::unmeasured;
  passing.findings[0].verdict = Verdict::unmeasured;
  std::vector<CaseResult> cases{
      passing, failing("both", {finding(Subject::gpus, "missing", {{CulpritKind::node, "n1", "n1", -1}}),
                                finding(Subject::mapping, "beyond", {rank_on("n1", 7)})})};
  mark_consequences(cases);
  EXPECT_EQ(cases[1].findings[0].follows, "");
  EXPECT_EQ(cases[1].findings[1].follows, "");
}

TEST(Consequences, ANodeThatIsGoneIsMissedAgainAndAgain) {
  const std::vector<Culprit> gone{{CulpritKind::node, "n2", "n2", -1}};
  std::vector<CaseResult> cases{failing("first", {finding(Subject::node, "n2 does not answer", gone)}),
                                failing("second", {finding(Subject::node, "node lost: n2", gone)}),
                                failing("third", {finding(Subject::node, "node lost: n2", gone)})};
  mark_consequences(cases);
  EXPECT_EQ(cases[0].follows, "");
  EXPECT_EQ(cases[1].follows, "first");
  EXPECT_EQ(cases[2].follows, "first");
}

TEST(Consequences, ABoundThatBlamesNobodyFollowsFromANodeOfTheCase) {
  std::vector<CaseResult> cases{
      failing("nics", {finding(Subject::nics, "hsn2 is down", {{CulpritKind::device, "NIC hsn2", "n2", -1}})}),
      failing("allreduce", {finding(Subject::collective, "busbw too low", {})}),
      failing("elsewhere", {finding(Subject::collective, "busbw too low", {})})};
  cases[2].node_rows = {{"n3", 1, Verdict::fail, {}}};
  mark_consequences(cases);
  EXPECT_EQ(cases[1].follows, "nics");
  EXPECT_EQ(cases[2].follows, "");
}

TEST(Consequences, WrongDataMakesWrongSumsAndWrongTraining) {
  const std::vector<Culprit> who{rank_on("n1", 0)};
  std::vector<CaseResult> cases{failing("training", {finding(Subject::training, "loss differs", who)}),
                                failing("allreduce", {finding(Subject::sums, "wrong sum", who)}),
                                failing("p2p", {finding(Subject::data, "bit 3 flipped", who)}),
                                failing("settings", {finding(Subject::none, "too few files", who)})};
  mark_consequences(cases);
  EXPECT_EQ(cases[0].follows, "p2p");
  EXPECT_EQ(cases[1].follows, "p2p");
  EXPECT_EQ(cases[2].follows, "");
  EXPECT_EQ(cases[3].follows, "");
}

TEST(Consequences, OfRepetitionsThatDisagreeTheReasonStays) {
  std::vector<CaseResult> cases{missing_gpu("n1"),
                                failing("mapping", {finding(Subject::mapping, "beyond", {rank_on("n1", 7)})})};
  cases[1].reason = "intermittent 1/2: beyond";
  cases[1].repetitions.push_back({2, Verdict::pass, "", 0, 0});
  mark_consequences(cases);
  EXPECT_EQ(cases[1].reason, "intermittent 1/2: beyond");
  EXPECT_EQ(cases[1].follows, "devices");
  EXPECT_EQ(cases[1].remedy, "repair devices first (a GPU is missing), then run this again");
}

}  // namespace
}  // namespace muster
