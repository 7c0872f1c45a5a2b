// In a ticket hostile text stays text.
#include <fmt/format.h>

#include "base/text.hpp"
#include "reporters/common/markdown_text.hpp"
#include "reporters/sample_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

const std::string evil =
    "| a | b | <script>alert(1)</script> @everyone [x](http://evil) ![p](http://evil/p.png) `` ``` #1 !2 www.evil.com "
    "**b** \\| &lt; %3 ~l\n\n# heading\n";

RunReport hostile_run() {
  auto run = sample::report();
  run.system = run.host = run.user = run.folder = run.run_id = run.started = run.interrupted = run.simulated = evil;
  run.muster_version = evil;
  run.command_line = {"muster", evil};
  run.notes = {evil};
  run.variables = {{evil, evil}};
  run.nodes = {{evil, {}}, {"b", {}}};
  for (auto& result : run.cases) {
    result.id = result.check = result.node = result.reason = result.remedy = result.follows = evil;
    result.params = {{evil, evil}};
    result.swept = {evil};
    result.culprits = {{CulpritKind::link, evil, evil, 1}};
    result.findings = {{result.verdict, evil + "2", result.culprits, evil}};
    result.items = {{evil, evil, {{evil, evil}}, 5, -1, evil, sample::summary(1, 1, 1, 1), Verdict::fail, {}}};
    result.rerun = {"muster", evil};
    result.evidence = {evil};
    result.node_rows = {{evil, 1, Verdict::fail, {}}, {"b", 1, Verdict::fail, {}}};
  }
  return run;
}

/// One line without its spans of code, by the rule of CommonMark: a run of backticks ends at the next one as long.
std::string outside_code(const std::string& line) {
  std::string rest;
  for (std::size_t at = 0; at < line.size();) {
    const auto ticks = std::min(line.find_first_not_of('`', at), line.size()) - at;
    if (ticks == 0) {
      rest += line[at++];
      continue;
    }
    std::size_t end = at + ticks;
    for (; end < line.size(); ++end) {
      const auto run = std::min(line.find_first_not_of('`', end), line.size()) - end;
      if (run == ticks) break;
      end += run;
    }
    if (end >= line.size()) return rest + line.substr(at);
    at = end + ticks;
  }
  return rest;
}

/// All that a renderer may give a meaning to: without code, whether in spans, fences or <code>.
std::string prose(const std::string& text) {
  std::string rest, fence;
  for (const auto& part : lines(text)) {
    std::string line(part);
    if (!fence.empty()) {
      if (line == fence) fence.clear();
      continue;
    }
    if (line.starts_with("```")) {
      fence = line.substr(0, line.find_first_not_of('`'));
      continue;
    }
    line = outside_code(line);
    for (auto at = line.find("<code>"); at != std::string::npos; at = line.find("<code>", at)) {
      const auto end = line.find("</code>", at);
      const auto inside = line.substr(at + 6, end - at - 6);
      EXPECT_EQ(inside.find_first_of("<>|`*_[]@!"), std::string::npos) << inside;
      line.erase(at, end + 7 - at);
    }
    rest += line + "\n";
  }
  EXPECT_EQ(fence, "") << "a fence is left open";
  return rest;
}

TEST(Markdown, HostileTextIsNeverProse) {
  const auto text = prose(reported("markdown", hostile_run()));
  for (const auto* what : {"script", "@", "evil", "](", "<", "`", "\\"})
    EXPECT_EQ(text.find(what), std::string::npos) << what << "\n" << text;
}

TEST(Markdown, RowsOfTablesKeepTheirCells) {
  bool is_table = false;
  std::size_t bars = 0;
  const auto text = reported("markdown", hostile_run());
  for (const auto& line : lines(text)) {
    if (!line.starts_with("|")) {
      is_table = false;
      continue;
    }
    const auto found = static_cast<std::size_t>(std::count(line.begin(), line.end(), '|'));
    if (!is_table) bars = found;
    is_table = true;
    EXPECT_EQ(found, bars) << line;
  }
}

TEST(Markdown, ACodeSpanHoldsAnything) {
  EXPECT_EQ(code("a"), "`a`");
  EXPECT_EQ(code("a`b"), "``a`b``");
  EXPECT_EQ(code("`a"), "`` `a ``");
  EXPECT_EQ(code("a``"), "``` a`` ```");
  EXPECT_EQ(code(""), "-");
  EXPECT_EQ(code(" \n "), "-");
  EXPECT_EQ(cell("a|b"), "<code>a&#124;b</code>");
  EXPECT_EQ(cell("a`b"), "``a`b``");
  EXPECT_EQ(code_block("a\n```\nb", "sh"), "````sh\na\n```\nb\n````\n");
}

TEST(Markdown, ATicketTakesIt) {
  auto run = sample::report();
  const auto one = run.cases[2];
  run.cases.clear();
  for (int i = 0; i < 1000; ++i) {
    run.cases.push_back(one);
    run.cases.back().id = fmt::format("allreduce%{:08x}", i);
    run.cases.back().reason = std::string(1 + static_cast<std::size_t>(i) % 50, 'x') + std::string(2'000, 'y');
  }
  const auto text = reported("markdown", run);
  EXPECT_LT(text.size(), 65'536u);
  EXPECT_NE(text.find("Left out here: "), std::string::npos);
  EXPECT_NE(text.find(" more, see the report."), std::string::npos);
}

TEST(Markdown, ANumberOfNodesIsOneCause) {
  auto run = sample::report();
  run.cases.clear();
  for (int i = 1; i <= 30; ++i) {
    CaseResult result;
    result.node = fmt::format("nid{:03}", i);
    result.id = "triad%1@" + result.node;
    result.verdict = Verdict::fail;
    result.reason = fmt::format("triad is {}.5 GB/s on {}, below 80 GB/s", i, result.node);
    result.culprits = {{CulpritKind::node, result.node, result.node, -1}};
    run.cases.push_back(result);
  }
  const auto text = reported("markdown", run);
  EXPECT_EQ(text.find("### FAIL"), text.rfind("### FAIL")) << text;
  EXPECT_NE(text.find("nid[002-030]"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster
