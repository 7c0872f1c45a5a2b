// What cron mails: nothing, or one page.
#include "reporters/common/mail.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

#include "base/text.hpp"
#include "reporters/common/causes.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/sample_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

/// Empty when `text` is a page of plain text.
std::string wrong_with(const std::string& text) {
  const auto all = lines(text);
  if (all.size() > most_mail_lines) return fmt::format("{} lines", all.size());
  for (const auto& line : all)
    if (columns(line) > most_mail_columns) return fmt::format("{} columns: {}", columns(line), line);
  if (text.find('\t') != std::string::npos || text.find('\r') != std::string::npos || printable(text) != text)
    return "a control character";
  return text.empty() || text.back() != '\n' ? "no end of line at the end" : "";
}

CaseResult bad(const std::string& id, Verdict verdict, const std::string& reason, const std::string& node = {}) {
  CaseResult result;
  result.id = id;
  result.node = node;
  result.verdict = verdict;
  result.reason = reason;
  result.remedy = "mend " + (node.empty() ? "it" : node);
  result.rerun = {"muster", "run", "-n", id};
  if (!node.empty()) result.culprits = {{CulpritKind::node, node, node, -1}};
  return result;
}

RunReport run_of(std::vector<CaseResult> cases) {
  RunReport run;
  run.muster_version = "0.1.0";
  run.folder = "muster-runs/20261121-080000-a1b2c3d4";
  run.verdict = Verdict::fail;
  run.exit_status = 1;
  run.cases = std::move(cases);
  return run;
}

TEST(Mail, NothingWhenAllIsWell) {
  EXPECT_EQ(mail_text(sample::good_report(), 80), "");
  auto simulated = sample::good_report();
  simulated.simulated = "lumi-g";
  simulated.variables = {{"MUSTER_CHECKS", "/opt/checks"}, {"MUSTER_MACHINE", "/srv/lumi"}};
  EXPECT_EQ(mail_text(simulated, 80),
            "SIMULATED machine lumi-g: nothing real was tested\n"
            "checks and profiles come from /opt/checks (MUSTER_CHECKS)\n");
  auto lost = sample::good_report();
  lost.exit_status = 2;
  lost.unwritten = {"junit: the disk is full"};
  EXPECT_TRUE(has(mail_text(lost, 80), "the disk is full"));
}

TEST(Mail, OnePageOfPlainTextAtAnyWidth) {
  for (const std::size_t width :
       {std::size_t{0}, std::size_t{20}, std::size_t{80}, std::size_t{100}, std::size_t{1000}})
    EXPECT_EQ(wrong_with(mail_text(sample::report(), width)), "") << width;
}

TEST(Mail, NeitherColoursNorTheWidthOfAScreen) {
  ReporterOptions options;
  options.quiet = options.color = options.terminal = true;
  options.width = 500;
  EXPECT_EQ(wrong_with(reported("console", sample::report(), options)), "");
}

TEST(Mail, SaysVerdictTallyExitStatusAndWhereTheReportIs) {
  const auto text = mail_text(sample::report(), 80);
  EXPECT_TRUE(has(text, "FAIL (exit status 1): 3 fail, 1 error")) << text;
  EXPECT_TRUE(has(text, "report     muster-runs/20261121-080000-a1b2c3d4/report.json\n")) << text;
  EXPECT_TRUE(has(text, "  remedy   bind with --cpu-bind=mask_cpu:0x1,0x2,0x4,0x8\n")) << text;
  EXPECT_LT(text.find("FAIL       "), text.find("ERROR      "));
}

TEST(Mail, OneCauseIsToldOnce) {
  std::vector<CaseResult> cases;
  for (int i = 1; i <= 64; ++i) {
    const auto node = fmt::format("nid{:03}", i);
    cases.push_back(bad("triad%1@" + node, Verdict::fail, fmt::format("triad is {}.5 GB/s on {}", i, node), node));
  }
  const auto text = mail_text(run_of(cases), 100);
  EXPECT_TRUE(has(text, "FAIL       64 cases: triad%1 on nid[001-064]\n")) << text;
  EXPECT_EQ(text.find("reason"), text.rfind("reason"));
  EXPECT_FALSE(has(text, "left out"));
}

TEST(Mail, AnotherStatusIsAnotherCause) {
  std::vector<CaseResult> cases;
  for (const int status : {1, 60, 60})
    cases.push_back(bad(fmt::format("c{}", cases.size()), Verdict::fail,
                        fmt::format("rank {} exited with {} (expected 0)", cases.size(), status)));
  const auto causes = causes_of(run_of(cases));
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[1].cases.size(), 2u);
}

TEST(Mail, WhyNothingWasTested) {
  auto report = run_of({bad("a", Verdict::skip, "no GPU here"), bad("b", Verdict::skip, "no GPU here"),
                        bad("c", Verdict::skip, "one rank")});
  report.verdict = Verdict::skip;
  report.exit_status = 2;
  const auto text = mail_text(report, 80);
  EXPECT_TRUE(has(text, "skip       2 cases: a and b\n  reason   no GPU here\n")) << text;
  EXPECT_TRUE(has(text, "  reason   one rank\n")) << text;
  // Beside what passed or failed it is not news.
  report.cases.push_back(bad("d", Verdict::fail, "a GPU is missing"));
  EXPECT_FALSE(has(mail_text(report, 80), "no GPU here"));
}

TEST(Mail, LeavesRoomForWhatIsSaidBesideIt) {
  std::vector<CaseResult> cases;
  for (std::size_t i = 0; i < 100; ++i)
    cases.push_back(bad(fmt::format("c{}", i), Verdict::fail, std::string(i + 1, 'r')));
  auto report = run_of(cases);
  EXPECT_EQ(lines(mail_text(report, 80)).size(), most_mail_lines);
  EXPECT_EQ(lines(mail_text(report, 80, 11)).size(), most_mail_lines - 11);
  // The driver says once more what was lost.
  report.unwritten = {"junit: the disk is full", "html: the disk is full"};
  EXPECT_EQ(lines(mail_text(report, 80, 11)).size(), most_mail_lines - 13);
}

TEST(Mail, WhatFollowsIsCountedWithItsCause) {
  auto missing = bad("visibility%1", Verdict::fail, "a GPU is missing on nid003");
  auto mapping = bad("mapping%2", Verdict::fail, "two ranks share a GPU");
  auto copy = bad("copy%3", Verdict::unmeasured, "no copy was made");
  mapping.follows = missing.id;
  copy.follows = mapping.id;
  const auto report = run_of({copy, mapping, missing});
  const auto causes = causes_of(report);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].following.size(), 2u);
  EXPECT_TRUE(has(mail_text(report, 80), "  explains 2 cases more: mapping%2 and copy%3\n")) << mail_text(report, 80);
}

TEST(Mail, CausesInACircleAreAllTold) {
  auto a = bad("a", Verdict::fail, "a");
  auto b = bad("b", Verdict::fail, "b");
  a.follows = "b";
  b.follows = "a";
  std::size_t cases = 0;
  const auto report = run_of({a, b});
  for (const auto& cause : causes_of(report)) cases += cause.size();
  EXPECT_EQ(cases, 2u);
}

/// Cases that the text names, counts or says to be left out: nobody may get lost.
TEST(Mail, WhatIsLeftOutIsCounted) {
  std::vector<CaseResult> cases;
  for (int i = 0; i < 1000; ++i)
    cases.push_back(bad(fmt::format("c{}", i), i < 400 ? Verdict::fail : Verdict::error,
                        std::string(static_cast<std::size_t>(i) + 1, 'r')));
  const auto text = mail_text(run_of(cases), 80);
  EXPECT_EQ(wrong_with(text), "");
  std::size_t named = 0;
  for (const auto& line : lines(text)) named += line.starts_with("FAIL  ") || line.starts_with("ERROR  ");
  EXPECT_TRUE(has(text, fmt::format("left out   {0} causes more with {0} cases, see the report\n", 1000 - named)))
      << text;
}

TEST(Mail, ALongPathIsWholeOnSeveralLines) {
  auto run = run_of({bad("a", Verdict::fail, "a")});
  run.folder = "/" + std::string(150, 'f');
  const auto text = mail_text(run, 80);
  std::string path;
  for (const auto& line : lines(std::string_view(text).substr(text.find("report     ")))) path += line.substr(11);
  EXPECT_EQ(path, run.folder + "/report.json");
}

#ifdef MUSTER_HAVE_RAPIDCHECK
/// Short and long, of bytes that mean something to terminals, mailers and people.
rc::Gen<std::string> any_text() {
  const auto part =
      rc::gen::element<std::string>("a", "\n", "\t", "\x1b[31m", "\xff", "é", "中", " ", "nid001", "7", "...",
                                    std::string(1, '\0'), std::string(400, 'x'), "word word ", "\r", "'");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(part),
                      [](const std::vector<std::string>& parts) { return join(parts, ""); });
}

CaseResult any_case(int number) {
  auto result = bad(fmt::format("{}{}", *any_text(), number % 3),
                    *rc::gen::element(Verdict::pass, Verdict::fail, Verdict::unmeasured, Verdict::error, Verdict::skip),
                    *any_text(), *any_text());
  result.remedy = *any_text();
  result.follows = *rc::gen::element<std::string>("", "", "0", "1", result.id);
  result.rerun = {"muster", *any_text()};
  result.node_rows = {{*any_text(), 1, result.verdict, {}}};
  result.params = {{"a", *any_text()}};
  result.swept = {"a"};
  return result;
}

void any_report_fits() {
  RunReport run;
  run.exit_status = *rc::gen::inRange(1, 200);
  run.system = *any_text();
  run.host = *any_text();
  run.run_id = *any_text();
  run.started = *any_text();
  run.interrupted = *any_text();
  run.simulated = *any_text();
  run.muster_version = *any_text();
  run.folder = *any_text();
  run.variables = {{*any_text(), *any_text()}};
  run.command_line = {*any_text(), *any_text()};
  run.notes = *rc::gen::container<std::vector<std::string>>(any_text());
  run.unwritten = *rc::gen::container<std::vector<std::string>>(any_text());
  const int cases = *rc::gen::inRange(0, 40);
  for (int i = 0; i < cases; ++i) run.cases.push_back(any_case(i));
  const auto text = mail_text(run, static_cast<std::size_t>(*rc::gen::inRange(0, 300)));
  RC_ASSERT(wrong_with(text) == "");
  std::size_t reported = 0;
  std::size_t wrong = 0;
  for (const auto& cause : causes_of(run)) reported += cause.size();
  for (const auto& result : run.cases) wrong += result.verdict != Verdict::pass && result.verdict != Verdict::skip;
  RC_ASSERT(reported == wrong);
}

TEST(Mail, AnyReportFitsOnAPage) {
  EXPECT_TRUE(rc::check("at most 40 lines, and no case without a cause", any_report_fits));
}
#endif

}  // namespace
}  // namespace muster
