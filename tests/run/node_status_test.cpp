#include "run/node_status.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Names = std::vector<std::string>;

const Names four{"nid001", "nid002", "nid003", "nid004"};

CaseResult passed_on(const std::string& id, const Names& nodes = four) {
  CaseResult result;
  result.id = id;
  result.check = id.substr(0, id.find('%'));
  result.verdict = Verdict::pass;
  for (const auto& node : nodes) result.node_rows.push_back({node, 1, Verdict::pass, {}});
  return result;
}

Culprit node_culprit(const std::string& name) {
  return {CulpritKind::node, name, name, -1};
}
Culprit rank(int number, const std::string& host) {
  return {CulpritKind::rank, "rank " + std::to_string(number), host, number};
}
Culprit link(const std::string& name) {
  return {CulpritKind::link, name, "", -1};
}

/// A case with one finding; rows of nodes as `rows` says.
CaseResult found(const std::string& id, std::vector<Finding> findings, std::vector<Verdict> rows) {
  CaseResult result = passed_on(id);
  result.verdict = findings.front().verdict;
  result.reason = findings.front().reason;
  result.remedy = findings.front().remedy;
  result.findings = std::move(findings);
  for (std::size_t i = 0; i < rows.size(); ++i) result.node_rows[i].verdict = rows[i];
  result.node_rows.resize(rows.size());
  return result;
}

Finding failure(std::vector<Culprit> culprits, std::string reason = "it is bad") {
  return {Verdict::fail, std::move(reason), std::move(culprits), "mend it"};
}

RunReport report(std::vector<CaseResult> cases) {
  RunReport made;
  made.cases = std::move(cases);
  return made;
}

constexpr auto passing = Verdict::pass;
constexpr auto failed = Verdict::fail;
constexpr auto not_measured = Verdict::unmeasured;

Names good_ones(const std::vector<RunReport>& reports, const Names& cases) {
  Names good;
  for (const auto& one : assess_nodes(reports, four, cases).nodes)
    if (one.is_good) good.push_back(one.node);
  return good;
}

TEST(NodeStatus, WhoPassedEverythingIsGood) {
  EXPECT_EQ(good_ones({report({passed_on("a%1"), passed_on("b%2")})}, {"a%1", "b%2"}), four);
}

TEST(NodeStatus, ANodeThatDidNotAnswerHasAReasonOfItsOwn) {
  CaseResult all = passed_on("a%1", {"nid001", "nid002", "nid003"});
  all.reason = "1 reading inside the bounds";
  auto one = assess_nodes(std::vector{report({all})}, four, Names{"a%1"}).nodes[3];
  EXPECT_EQ(one.reason, "was not measured") << "evidence of others says nothing about it";
  CaseResult absent = found("node%nid004", {{Verdict::error, "nid004 does not resolve", {}, "correct the name"}}, {});
  one = assess_nodes(std::vector{report({absent, all})}, four, Names{"a%1"}).nodes[3];
  EXPECT_EQ(one.check + ": " + one.reason + "; " + one.remedy, "node: nid004 does not resolve; correct the name");
  EXPECT_FALSE(one.is_at_fault);
  EXPECT_EQ(good_ones({report({absent, all})}, {"a%1"}), (Names{"nid001", "nid002", "nid003"}));
}

TEST(NodeStatus, WhatWasNotMeasuredIsNotGood) {
  EXPECT_EQ(good_ones({}, {"a%1"}), Names{});
  EXPECT_EQ(good_ones({report({passed_on("a%1")})}, {"a%1", "b%2"}), Names{}) << "b never ran";
  EXPECT_EQ(good_ones({report({passed_on("a%1"), passed_on("b%2", {"nid001", "nid003"})})}, {"a%1", "b%2"}),
            (Names{"nid001", "nid003"}));
  const auto none = assess_nodes(std::vector<RunReport>{}, four, {});
  EXPECT_FALSE(none.nodes[0].is_good) << "no case, no pass";
}

TEST(NodeStatus, SkippedIsNeitherGoodNorBad) {
  auto skipped = passed_on("b%2");
  skipped.verdict = Verdict::skip;
  for (auto& row : skipped.node_rows) row.verdict = Verdict::skip;
  EXPECT_EQ(good_ones({report({passed_on("a%1"), skipped})}, {"a%1", "b%2"}), four);
  EXPECT_EQ(good_ones({report({skipped})}, {"b%2"}), Names{}) << "nothing was measured at all";
  skipped.reason = "no GPU on this node";
  const auto one = assess_nodes(std::vector{report({skipped})}, four, {"b%2"}).nodes.front();
  EXPECT_EQ(one.check, "b");
  EXPECT_EQ(one.reason, "nothing was measured: no GPU on this node");
  EXPECT_FALSE(one.is_at_fault);
}

TEST(NodeStatus, WhoIsNamedIsAtFaultAndNobodyElse) {
  const auto bad = found("a%1", {failure({node_culprit("nid003")})}, {passing, passing, failed, passing});
  const auto statuses = assess_nodes(std::vector<RunReport>{report({bad})}, four, {"a%1"});
  EXPECT_EQ(good_ones({report({bad})}, {"a%1"}), (Names{"nid001", "nid002", "nid004"}));
  EXPECT_TRUE(statuses.nodes[2].is_at_fault);
  EXPECT_EQ(statuses.nodes[2].check, "a");
  EXPECT_EQ(statuses.nodes[2].reason, "it is bad");
  EXPECT_EQ(statuses.nodes[2].remedy, "mend it");
}

const Culprit rank_0{CulpritKind::rank, "rank 0", "", 0};

/// Rank 0 alone fails, on the first of these nodes.
CaseResult failed_by_rank_0(const Names& nodes) {
  CaseResult result = found("a%1", {failure({rank_0}, "rank 0 on " + nodes[0] + " exited with 3")}, {});
  for (const auto& node : nodes) result.node_rows.push_back({node, 1, not_measured, {}});
  return result;
}

Names at_fault(const std::vector<RunReport>& reports) {
  Names bad;
  for (const auto& one : assess_nodes(reports, four, Names{"a%1"}).nodes)
    if (one.is_at_fault) bad.push_back(one.node);
  return bad;
}

TEST(NodeStatus, WhatRank0AloneFailsIsNoNodesFaultUntilItStaysWithTheNode) {
  const Names others{"nid002", "nid003", "nid004"};
  const std::vector<RunReport> once{report({failed_by_rank_0(four)})};
  EXPECT_EQ(at_fault(once), Names{});
  EXPECT_EQ(good_ones(once, {"a%1"}), Names{});
  EXPECT_EQ(nodes_of_rank_0_to_leave_out(once, four, {"a%1"}), std::set<std::string>{"nid001"});

  const std::vector<RunReport> stays{report({failed_by_rank_0(four)}), report({passed_on("a%1", others)})};
  EXPECT_EQ(at_fault(stays), Names{"nid001"});
  EXPECT_EQ(good_ones(stays, {"a%1"}), others);
  EXPECT_EQ(assess_nodes(stays, four, Names{"a%1"}).nodes[0].reason,
            "rank 0 on nid001 exited with 3; with rank 0 on nid002 it passed");
  EXPECT_TRUE(nodes_of_rank_0_to_leave_out(stays, four, {"a%1"}).empty());

  const std::vector<RunReport> moves{report({failed_by_rank_0(four)}), report({failed_by_rank_0(others)})};
  EXPECT_EQ(at_fault(moves), Names{});
  EXPECT_EQ(good_ones(moves, {"a%1"}), Names{});
  EXPECT_TRUE(nodes_of_rank_0_to_leave_out(moves, four, {"a%1"}).empty());
}

TEST(NodeStatus, AMissingNumberOfRank0IsNotAFaultOfItsNode) {
  CaseResult lacking = failed_by_rank_0(four);
  lacking.verdict = lacking.findings[0].verdict = not_measured;
  const std::vector<RunReport> stays{report({lacking}), report({passed_on("a%1", {"nid002", "nid003", "nid004"})})};
  EXPECT_EQ(at_fault(stays), Names{});
  EXPECT_EQ(good_ones(stays, {"a%1"}), (Names{"nid002", "nid003", "nid004"}));
}

TEST(NodeStatus, NamesWithAndWithoutADomainAreOneNode) {
  const auto bad = found("a%1", {failure({rank(2, "nid003.cluster")})}, {passing, passing, failed, passing});
  EXPECT_TRUE(assess_nodes(std::vector<RunReport>{report({bad})}, four, {"a%1"}).nodes[2].is_at_fault);
}

TEST(NodeStatus, AFaultOfTheJobIsNoFaultOfNodes) {
  const Finding missing{Verdict::error, "there is no mpirun", {{CulpritKind::launcher, "mpirun", "", -1}}, "load it"};
  CaseResult unable = found("a%1", {missing}, {});
  const auto statuses = assess_nodes(std::vector<RunReport>{report({unable})}, four, {"a%1"});
  for (const auto& one : statuses.nodes) {
    EXPECT_FALSE(one.is_good);
    EXPECT_FALSE(one.is_at_fault);
    EXPECT_EQ(one.reason, "there is no mpirun");
  }
}

TEST(NodeStatus, WhatALaunchLineGotWrongIsNoFaultOfNodes) {
  const auto bad = found("cpu_affinity%1", {failure({rank(0, "nid001")}, "far")}, {failed, passing, passing, passing});
  const auto nodes =
      assess_nodes(std::vector<RunReport>{report({bad})}, four, {"cpu_affinity%1"}, {"cpu_affinity%1"}).nodes;
  EXPECT_FALSE(nodes[0].is_good);
  EXPECT_FALSE(nodes[0].is_at_fault);
  EXPECT_EQ(nodes[0].reason, "far");
}

TEST(NodeStatus, AVariableThatALaunchLineGotWrongOnSomeNodesIsNoFaultOfNodes) {
  const std::string id = "environment%1";
  const Finding wrong = failure({{CulpritKind::setting, "RANK", "nid002", -1}}, "RANK is \"0\" on rank 1");
  const auto bad = found(id, {wrong}, {passing, failed, passing, passing});
  for (const auto& one : assess_nodes(std::vector<RunReport>{report({bad})}, four, {id}, {id}).nodes) {
    EXPECT_FALSE(one.is_good) << one.node;
    EXPECT_FALSE(one.is_at_fault) << one.node;
    EXPECT_EQ(one.reason, "RANK is \"0\" on rank 1");
  }
  // What a check of the nodes finds there, too, is that node's.
  const auto both = report({bad, found("environment_short%1", {wrong}, {passing, failed, passing, passing})});
  const auto nodes = assess_nodes(std::vector<RunReport>{both}, four, {id, "environment_short%1"}, {id}).nodes;
  EXPECT_TRUE(nodes[1].is_at_fault);
  for (const std::size_t other : {0, 2, 3}) EXPECT_TRUE(nodes[other].is_good) << nodes[other].node;
}

TEST(NodeStatus, APartOfALaunchLineThatIsNotCarriedOutCountsForNoNode) {
  const std::string id = "environment%1";
  const Finding open{not_measured, "it also runs x", {{CulpritKind::launcher, "the launch line", "", -1}}, "exec"};
  const auto unjudged = found(id, {open}, {not_measured, not_measured, not_measured, not_measured});
  const std::vector<RunReport> reports{report({unjudged, passed_on("hello%1")})};
  const auto statuses = assess_nodes(reports, four, {id, "hello%1"}, {id});
  for (const auto& one : statuses.nodes) EXPECT_TRUE(one.is_good) << one.node;
  ASSERT_EQ(statuses.unjudged.size(), 1u);
  EXPECT_EQ(statuses.unjudged[0].check, "environment");
  EXPECT_EQ(statuses.unjudged[0].reason, "it also runs x");
  // By itself it is no measurement, nor is a case of another kind excused.
  EXPECT_FALSE(assess_nodes(std::vector<RunReport>{report({unjudged})}, four, {id}, {id}).nodes[0].is_good);
  EXPECT_FALSE(assess_nodes(reports, four, {id, "hello%1"}).nodes[0].is_good);
  const auto both =
      found(id, {open, failure({{CulpritKind::setting, "RANK", "", -1}})}, {failed, failed, failed, failed});
  const std::vector<RunReport> wrong{report({both, passed_on("hello%1")})};
  EXPECT_FALSE(assess_nodes(wrong, four, {id, "hello%1"}, {id}).nodes[0].is_good);
}

TEST(NodeStatus, ASettingThatIsWrongOnAllNodesIsNoFaultOfNodes) {
  const auto wrong_on = [](const Names& names) {
    std::vector<Finding> findings;
    for (const auto& name : names)
      findings.push_back(failure({{CulpritKind::setting, "NCCL_SOCKET_IFNAME", name, -1}}, "nosuch0 is not there"));
    return report({found("nics%1", findings, {failed, failed, failed, failed})});
  };
  for (const auto& one : assess_nodes(std::vector{wrong_on(four)}, four, {"nics%1"}).nodes) {
    EXPECT_FALSE(one.is_at_fault) << one.node;
    EXPECT_FALSE(one.is_good) << one.node;
    EXPECT_EQ(one.reason, "nosuch0 is not there");
  }
  // Only there the interface is missing.
  const auto some = assess_nodes(std::vector{wrong_on({"nid002"})}, four, {"nics%1"}).nodes;
  EXPECT_TRUE(some[1].is_at_fault);
}

TEST(NodeStatus, ALaunchThatFailsWithEachNodeIsNoFaultOfNodes) {
  const auto broken = [](int number, const std::string& host) {
    return found("launch%1", {failure({rank(number, host)}, "exited with status 1 during start-up")}, {});
  };
  const auto all = report({broken(0, "nid001"), broken(1, "nid002"), broken(0, "nid003"), broken(0, "nid004")});
  for (const auto& one : assess_nodes(std::vector{all}, four, {"hello%1"}).nodes)
    EXPECT_FALSE(one.is_at_fault) << one.node;
  // The others were not launched without it.
  const auto alone = assess_nodes(std::vector{report({broken(1, "nid002")})}, four, {"hello%1"}).nodes;
  EXPECT_TRUE(alone[1].is_at_fault);
  EXPECT_FALSE(alone[0].is_at_fault);
  const auto one_alone =
      assess_nodes(std::vector{report({broken(1, "nid002"), passed_on("hello%1", {"nid001"})})}, four, {"hello%1"})
          .nodes;
  EXPECT_TRUE(one_alone[1].is_at_fault);
}

TEST(NodeStatus, ANodeThatDoesNotAnswerIsAtFault) {
  CaseResult lost = found("node%nid002", {failure({node_culprit("nid002")}, "nid002 does not answer")}, {});
  const auto reports = std::vector<RunReport>{report({lost, passed_on("a%1", {"nid001", "nid003", "nid004"})})};
  EXPECT_EQ(good_ones(reports, {"a%1"}), (Names{"nid001", "nid003", "nid004"}));
  EXPECT_TRUE(assess_nodes(reports, four, {"a%1"}).nodes[1].is_at_fault);
}

TEST(NodeStatus, ALaunchThatWentWrongForNobodysFaultIsForgiven) {
  CaseResult launch = found("launch%1", {{Verdict::error, "mpirun ended with status 1", {}, "look"}}, {});
  EXPECT_EQ(good_ones({report({launch, passed_on("a%1")})}, {"a%1"}), four);
}

TEST(NodeStatus, ALinkBetweenTwoKeepsThemApart) {
  const auto slow =
      found("p2p%1", {failure({link("nid001 <-> nid004")})}, {not_measured, not_measured, not_measured, not_measured});
  const auto statuses = assess_nodes(std::vector<RunReport>{report({slow})}, four, {"p2p%1"});
  EXPECT_EQ(good_ones({report({slow})}, {"p2p%1"}), four);
  EXPECT_EQ(statuses.apart, (std::vector<NodePair>{{0, 3}}));
}

TEST(NodeStatus, ALinkBesideSomethingThatNobodyIsNamedForTellsNothing) {
  const Finding noisy{Verdict::unmeasured, "too noisy", {}, "again"};
  const auto slow = found("p2p%1", {failure({link("nid001 -> nid004")}), noisy},
                          {not_measured, not_measured, not_measured, not_measured});
  EXPECT_EQ(good_ones({report({slow})}, {"p2p%1"}), Names{});
}

TEST(NodeStatus, WhoSpoilsDataForAllIsNamedMostOften) {
  const auto wrong = [](int from, const std::string& sender, int to, const std::string& receiver) {
    return failure({link("rank " + std::to_string(from) + " -> rank " + std::to_string(to)), rank(from, sender),
                    rank(to, receiver)},
                   "wrong data from " + sender);
  };
  const auto all = found(
      "p2p%1", {wrong(2, "nid003", 0, "nid001"), wrong(2, "nid003", 1, "nid002"), wrong(2, "nid003", 3, "nid004")},
      {failed, failed, failed, failed});
  EXPECT_EQ(good_ones({report({all})}, {"p2p%1"}), (Names{"nid001", "nid002", "nid004"}));
  const auto one = found("p2p%1", {wrong(2, "nid003", 0, "nid001")}, {failed, passing, failed, passing});
  EXPECT_EQ(good_ones({report({one})}, {"p2p%1"}), (Names{"nid002", "nid004"})) << "it may be either";
}

TEST(NodeStatus, ALaterRunSaysWhatAnEarlierOneCouldNot) {
  // A rank of nid002 hung: the case tells nothing of the others until it is done without it.
  const auto hung = found("a%1", {failure({rank(1, "nid002")}, "rank 1 on nid002 is stopped")},
                          {not_measured, not_measured, not_measured, not_measured});
  const std::vector<RunReport> first{report({hung, passed_on("b%2")})};
  const Names cases{"a%1", "b%2"}, others{"nid001", "nid003", "nid004"};
  EXPECT_EQ(good_ones(first, cases), Names{});
  EXPECT_EQ(open_cases(first, others, cases), Names{"a%1"});
  std::vector<RunReport> both = first;
  both.push_back(report({passed_on("a%1", others)}));
  EXPECT_EQ(good_ones(both, cases), others);
  EXPECT_TRUE(open_cases(both, others, cases).empty());
}

TEST(NodeStatus, WhatWasWrongOnceStaysWrong) {
  const auto bad = found("a%1", {failure({node_culprit("nid003")})}, {passing, passing, failed, passing});
  EXPECT_EQ(good_ones({report({bad}), report({passed_on("a%1")})}, {"a%1"}), (Names{"nid001", "nid002", "nid004"}));
}

}  // namespace
}  // namespace muster
