// Cases that fail for one cause are told once: a missing launcher must not fill the screen.
#include <gtest/gtest.h>
#include <sstream>

#include "muster/reporter.hpp"

namespace muster {
namespace {

CaseResult broken(const std::string& id, const std::string& reason) {
  CaseResult result;
  result.id = result.check = id;
  result.verdict = Verdict::error;
  result.reason = reason;
  result.remedy = "load the MPI module";
  result.findings = {{Verdict::error, reason, {}, result.remedy}};
  result.rerun = {"muster", "run", "-n", id};
  return result;
}

std::string shown(const RunReport& report) {
  std::ostringstream out;
  find_reporter("console")->make({})->run_finished(report, out);
  return out.str();
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
  return times;
}

TEST(ConsoleAlike, OneBlockForOneCause) {
  RunReport report;
  report.exit_status = 2;
  for (int i = 0; i < 100; ++i)
    report.cases.push_back(broken("check" + std::to_string(i), "there is no mpirun on PATH"));
  const auto text = shown(report);
  EXPECT_EQ(count(text, "there is no mpirun on PATH"), 1u) << text;
  EXPECT_EQ(count(text, "likewise"), 1u);
  EXPECT_NE(text.find("and 87 more"), std::string::npos) << text;
  EXPECT_EQ(count(text, "run again"), 1u);
}

TEST(ConsoleAlike, DifferentCausesKeepTheirBlocks) {
  RunReport report;
  report.exit_status = 2;
  report.cases = {broken("a", "one cause"), broken("b", "another cause"), broken("c", "one cause")};
  report.cases[2].outputs = {{0, "nid001", "but it printed something of its own"}};
  const auto text = shown(report);
  EXPECT_EQ(count(text, "run again"), 3u) << text;
  EXPECT_EQ(count(text, "likewise"), 0u);
  EXPECT_EQ(count(text, "load the MPI module"), 1u) << text;
  EXPECT_EQ(count(text, "  remedy     as for a\n"), 2u) << text;
}

TEST(ConsoleAlike, OneCulpritWithOneRemedyIsNamedOnce) {
  RunReport report;
  report.exit_status = 2;
  report.cases = {broken("a", "one cause"), broken("b", "another cause"), broken("c", "a third cause")};
  for (auto& result : report.cases) result.culprits = {{CulpritKind::node, "nid001", "nid001", -1}};
  report.cases[2].culprits[0].name = report.cases[2].culprits[0].node = "nid002";
  const auto text = shown(report);
  EXPECT_EQ(count(text, "  culprits   nid001\n"), 1u) << text;
  EXPECT_EQ(count(text, "  culprits   and remedy as for a\n"), 1u) << text;
  EXPECT_EQ(count(text, "  culprits   nid002\n"), 1u) << text;
  EXPECT_EQ(count(text, "  remedy     load the MPI module\n"), 2u) << text;
}

}  // namespace
}  // namespace muster
