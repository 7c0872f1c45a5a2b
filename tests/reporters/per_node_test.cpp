// One case on many nodes: those in trouble are seen, the others take one line.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sstream>

#include "muster/reporter.hpp"
#include "reporters/common/console_text.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {
namespace {

CaseResult on_node(int number, Verdict verdict = Verdict::pass, const std::string& reason = "all well") {
  CaseResult result;
  result.node = fmt::format("nid{:03}", number);
  result.check = "hello";
  result.id = "hello%3f2a9c1d@" + result.node;
  result.nodes = 1;
  result.ranks = 2;
  result.verdict = verdict;
  result.reason = reason;
  result.seconds = 0.1 * number;
  result.repetitions = {{1, verdict, reason, result.seconds, 0}};
  if (verdict == Verdict::pass) {
    result.evidence = {reason};
    return result;
  }
  result.culprits = {{CulpritKind::node, result.node, result.node, -1}};
  result.remedy = "look at it";
  result.findings = {{verdict, reason, result.culprits, result.remedy}};
  return result;
}

std::vector<std::string> lines_of(const std::vector<CaseResult>& results) {
  std::istringstream text(node_lines(results, 20, {Ink(false), 100}));
  std::vector<std::string> all;
  for (std::string line; std::getline(text, line);) all.push_back(line);
  return all;
}

TEST(NodeLines, NodesThatAreWellTakeOneLine) {
  std::vector<CaseResult> results;
  for (int number = 1; number <= 64; ++number) results.push_back(on_node(number));
  const auto lines = lines_of(results);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "pass       hello%3f2a9c1d         6.4 s  64 nodes: nid[001-064]");
}

TEST(NodeLines, FailuresComeFirstAndKeepTheirLines) {
  std::vector<CaseResult> results;
  for (int number = 1; number <= 64; ++number)
    results.push_back(number % 30 == 0 ? on_node(number, Verdict::fail, "bad memory") : on_node(number));
  results[6] = on_node(7, Verdict::unmeasured, "reported nothing");
  const auto lines = lines_of(results);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "FAIL       hello%3f2a9c1d@nid030   3.0 s  bad memory (nid030)");
  EXPECT_EQ(lines[1], "FAIL       hello%3f2a9c1d@nid060   6.0 s  bad memory (nid060)");
  EXPECT_EQ(lines[2], "UNMEASURED hello%3f2a9c1d@nid007   0.7 s  reported nothing (nid007)");
  EXPECT_NE(lines[3].find("61 nodes: nid[001-006,008-029,031-059,061-064]"), std::string::npos) << lines[3];
}

TEST(NodeLines, ManyFailuresAreCounted) {
  std::vector<CaseResult> results;
  for (int number = 1; number <= 20; ++number) results.push_back(on_node(number, Verdict::fail, "bad memory"));
  const auto lines = lines_of(results);
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_NE(lines[8].find("12 more nodes: nid[009-020]"), std::string::npos) << lines[8];
}

TEST(NodeLines, SkipsSayWhyOncePerReason) {
  const auto lines = lines_of({on_node(1, Verdict::skip, "no GPU on nid001"),
                               on_node(2, Verdict::skip, "no GPU on nid002"), on_node(3, Verdict::skip, "no driver")});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("2 nodes: nid[001-002]: no GPU on nid001"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("no driver"), std::string::npos) << lines[1];
}

TEST(NodeLines, ANameWithinAnotherIsNotItsNode) {
  const auto result = on_node(1);
  EXPECT_EQ(without_node(result, "nid001: nid0012 and nid001."), "\x01: nid0012 and \x01.");
  EXPECT_EQ(without_node({}, "nid001"), "nid001");
}

std::string reported(const std::vector<CaseResult>& results) {
  RunReport report;
  report.exit_status = 1;
  report.cases = results;
  std::ostringstream out;
  const auto console = find_reporter("console")->make({.width = 100});
  console->run_started(report, out);
  for (const auto& result : results) {
    console->case_started(result, out);
    console->case_finished(result, out);
  }
  console->run_finished(report, out);
  return out.str();
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
  return times;
}

TEST(ConsolePerNode, OneBlockForWhatIsTheSameOnManyNodes) {
  std::vector<CaseResult> results;
  for (int number = 1; number <= 40; ++number)
    results.push_back(on_node(number, Verdict::fail, fmt::format("GPU 5 is missing on nid{:03}", number)));
  results.push_back(on_node(41));
  const auto text = reported(results);
  EXPECT_EQ(count(text, "run again") + count(text, "reason"), 1u) << text;
  EXPECT_NE(text.find("likewise   hello%3f2a9c1d on nid[002-040]"), std::string::npos) << text;
  EXPECT_NE(text.find("40  hello%3f2a9c1d on nid[001-040]"), std::string::npos) << text;
}

TEST(ConsolePerNode, TheNextCaseEndsTheOneBefore) {
  auto other = on_node(1);
  other.id = "next%00000000@nid001";
  CaseResult whole = on_node(2);
  whole.node.clear();
  whole.id = "whole%00000000";
  const auto text = reported({on_node(1), on_node(2), other, whole});
  const auto first = text.find("2 nodes: nid[001-002]");
  const auto second = text.find("next%00000000@nid001");
  const auto third = text.find("whole%00000000");
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, third) << text;
  EXPECT_NE(third, std::string::npos) << text;
}

TEST(JunitPerNode, EveryNodeIsATestCase) {
  RunReport report;
  report.cases = {on_node(1), on_node(2, Verdict::fail, "bad memory")};
  std::ostringstream out;
  find_reporter("junit")->make({})->run_finished(report, out);
  const auto text = out.str();
  EXPECT_NE(text.find(R"(name="hello%3f2a9c1d@nid001")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(<property name="node" value="nid002" />)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(tests="2" failures="1")"), std::string::npos) << text;
}

TEST(PerNodeTitles, FoldInOrder) {
  const auto a = on_node(1);
  const auto b = on_node(2);
  auto other = on_node(1);
  other.id = "next%00000000@nid001";
  EXPECT_EQ(common_title(a), "hello%3f2a9c1d");
  EXPECT_EQ(folded_titles({&a, &other, &b}),
            (std::vector<std::string>{"hello%3f2a9c1d on nid[001-002]", "next%00000000@nid001"}));
}

}  // namespace
}  // namespace muster
