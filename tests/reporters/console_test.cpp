#include <algorithm>
#include <ctime>
#include <regex>

#include "base/text.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/sample_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return AssertionSuccess();
  return AssertionFailure() << "no \"" << part << "\" in:\n" << text;
}

/// What a person sees on the last line after all redrawing.
std::string on_screen(const std::string& written) {
  std::string line;
  std::size_t column = 0;
  for (const char byte : written) {
    if (byte == '\r') {
      column = 0;
    } else if (byte == '\n') {
      line.clear();
      column = 0;
    } else {
      if (column < line.size())
        line[column] = byte;
      else
        line += byte;
      ++column;
    }
  }
  return std::string(line.substr(0, line.find_last_not_of(' ') + 1));
}

/// Control characters other than those a reporter itself needs.
bool has_controls(const std::string& text, const std::string& allowed) {
  return std::any_of(text.begin(), text.end(), [&](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return (code < 0x20 || code == 0x7f) && allowed.find(byte) == std::string::npos;
  });
}

std::string status(const RunProgress& progress, int width = 200) {
  ReporterOptions options;
  options.terminal = true;
  options.width = width;
  std::ostringstream out;
  find_reporter("console")->make(options)->tick(progress, out);
  return on_screen(out.str());
}

RunProgress in_the_middle() {
  RunProgress progress;
  progress.running = "hello%3f2a9c1d";
  progress.done = 12;
  progress.total = 40;
  progress.failed = 1;
  progress.elapsed_s = 34;
  progress.case_elapsed_s = 1.2;
  progress.case_deadline_s = 60;
  return progress;
}

TEST(ConsoleStatus, TellsWhatRunsHowFarAndHowLong) {
  EXPECT_EQ(status(in_the_middle()),
            "running hello%3f2a9c1d 1.2 s of 60 s | 12/40 done | 1 failed | 0:34 elapsed, about 1:20 remaining");
}

TEST(ConsoleStatus, DoesNotGuessWhatIsLeftBeforeItCan) {
  auto progress = in_the_middle();
  progress.done = 1;
  EXPECT_EQ(status(progress), "running hello%3f2a9c1d 1.2 s of 60 s | 1/40 done | 1 failed | 0:34 elapsed");
  progress.done = 40;
  EXPECT_EQ(status(progress).find("remaining"), std::string::npos);
}

TEST(ConsoleStatus, BetweenCasesWithoutDeadlineOrFailure) {
  RunProgress progress;
  progress.total = 3;
  EXPECT_EQ(status(progress), "between cases | 0/3 done | 0:00 elapsed");
  progress.running = "a%1";
  EXPECT_EQ(status(progress), "running a%1 0.0 s | 0/3 done | 0:00 elapsed");
}

TEST(ConsoleStatus, StaysInsideEveryWidth) {
  auto progress = in_the_middle();
  for (const auto& id : {std::string("hello%3f2a9c1d"), std::string(10000, 'x'), std::string("\x1b[2Jevil\n\r")}) {
    progress.running = id;
    for (int width = 20; width < 200; width += 3) {
      const auto line = status(progress, width);
      EXPECT_LT(line.size(), static_cast<std::size_t>(width));
      EXPECT_FALSE(line.empty());
    }
  }
  EXPECT_EQ(status(in_the_middle(), 80), "running hello%3f2a9c1d 1.2 s of 60 s | 12/40 done | 1 failed | 0:34 elapsed");
}

TEST(ConsoleStatus, IsErasedBeforeOtherOutputAndDrawnOverWithoutRests) {
  ReporterOptions options;
  options.terminal = true;
  const auto console = find_reporter("console")->make(options);
  std::ostringstream out;
  console->tick(in_the_middle(), out);
  RunProgress next;
  next.total = 1;
  console->tick(next, out);
  EXPECT_EQ(on_screen(out.str()), "between cases | 0/1 done | 0:00 elapsed");
  const auto before = out.str().size();
  console->tick(next, out);
  EXPECT_EQ(out.str().size(), before) << "what has not changed is not drawn again";
  console->case_finished(sample::hello(), out);
  const auto all = out.str();
  EXPECT_TRUE(has(all, "\rpass       hello%3f2a9c1d"));
  EXPECT_EQ(on_screen(all), "");
}

TEST(ConsoleStatus, NeedsATerminalAndIsSilentWhenQuiet) {
  for (const bool quiet : {false, true}) {
    ReporterOptions options;
    options.terminal = quiet;
    options.quiet = quiet;
    std::ostringstream out;
    find_reporter("console")->make(options)->tick(in_the_middle(), out);
    EXPECT_EQ(out.str(), "");
  }
}

TEST(Console, NoEscapeFromANodeGetsThrough) {
  for (const bool color : {false, true}) {
    ReporterOptions options;
    options.color = color;
    auto text = reported("console", sample::report(), options);
    // What Ink writes is of the form ESC [ digits and ; m.
    for (auto at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b', at)) {
      ASSERT_TRUE(color);
      const auto end = text.find_first_not_of("0123456789;", at + 2);
      ASSERT_EQ(text[end], 'm');
      text.erase(at, end - at + 1);
    }
    EXPECT_FALSE(has_controls(text, "\n"));
    EXPECT_TRUE(has(text, "\\x1b[2J"));
    EXPECT_TRUE(has(text, "    at run.py:7")) << "the shape of a traceback is kept";
  }
}

/// Every text of a report can come from a node or a file.
RunReport hostile_run() {
  auto run = sample::report();
  const auto& evil = sample::hostile;
  run.muster_version = run.system = run.folder = run.interrupted = evil;
  run.notes = {evil};
  run.nodes[0].node = evil;
  run.nodes[0].facts = {{evil, evil}};
  for (auto& launch : run.launches) launch.launcher = evil, launch.cases = {evil};
  for (auto& result : run.cases) {
    result.id = result.reason = result.remedy = result.place = result.partition = result.environment = evil;
    result.probe = result.check = evil;
    result.params = {{evil, evil}};
    result.swept = {evil};
    result.culprits = {{CulpritKind::rank, evil, evil, 5}};
    result.findings = {{Verdict::fail, evil, result.culprits, evil}, {Verdict::error, evil + "2", {}, evil}};
    result.evidence = result.notes = result.rerun = {evil};
    result.metrics = {sample::row(evil, evil, {{evil, evil}}, sample::summary(2, 1, 2, 3))};
    result.metrics[0].bound = evil, result.metrics[0].judged = 2;
    result.items = {{evil,
                     evil,
                     {{evil, evil}},
                     5,
                     1,
                     evil,
                     sample::summary(2, 1, 2, 3),
                     Verdict::fail,
                     {{BoundKind::limit, Verdict::fail, 1.0, {}, evil}}}};
    result.outputs = {{5, evil, evil}};
    result.node_rows = {{evil, 1, Verdict::fail, {}}, {"b", 1, Verdict::fail, {}}};
    result.repetitions = {{1, Verdict::fail, evil, 1, 0}, {2, Verdict::pass, evil, 1, 0}};
  }
  return run;
}

TEST(Console, HostileTextInEveryField) {
  ReporterOptions options;
  options.terminal = true;
  EXPECT_FALSE(has_controls(reported("console", hostile_run(), options), "\n\r"));
  options.quiet = true;
  EXPECT_FALSE(has_controls(reported("console", hostile_run(), options), "\n"));
  std::ostringstream out;
  find_reporter("console")->make({})->notice(sample::hostile, out);
  EXPECT_FALSE(has_controls(out.str(), "\n"));
  EXPECT_EQ(out.str().find('\r'), std::string::npos);
}

TEST(Junit, HostileTextInEveryField) {
  const auto text = reported("junit", hostile_run());
  EXPECT_FALSE(has_controls(text, "\n\t"));
  EXPECT_EQ(printable(text), text) << "not valid UTF-8";
}

TEST(Console, SaysWhyWhoAndWhatToDo) {
  const auto text = reported("console", sample::report());
  EXPECT_TRUE(has(text, "FAIL  training%0badc0de\n"));
  EXPECT_TRUE(has(text, "  culprits   rank 5 on nid002\n"));
  EXPECT_TRUE(has(text, "  also       process 4711 on nid002 did not end within 3 s of SIGTERM\n"));
  EXPECT_TRUE(has(text, "  output     of rank 5 on nid002\n"));
  EXPECT_FALSE(has(text, "waiting for rank 5\n")) << "the output of a rank that is not at fault";
  EXPECT_TRUE(has(text, "  remedy     bind with --cpu-bind=mask_cpu:0x1,0x2,0x4,0x8\n"));
  EXPECT_TRUE(has(text, "--nodes 'nid[001-002]' -n '^cpu_affinity%beefcafe$'\n"));
  EXPECT_TRUE(has(text, "7/10 passed; not these: 2, 5 and 9\n"));
  EXPECT_TRUE(has(text, "nodes      nid002  2 fail"));
}

TEST(Console, BlocksAndTableShowFailuresFirst) {
  const auto text = reported("console", sample::report());
  const auto last_fail = text.find("\nFAIL  cpu_affinity");
  const auto error = text.find("\nERROR  pytorch");
  const auto unmeasured = text.find("\nUNMEASURED  p2p");
  const auto summary = text.find("\nsummary\n");
  EXPECT_TRUE(last_fail < error && error < unmeasured && unmeasured < summary && summary != std::string::npos);
  EXPECT_FALSE(has(text, "\nPASS")) << "what is well has no block";
}

TEST(Console, WhatTheHardwareCouldDoStandsAfterWhatWasMeasured) {
  auto report = sample::report();
  for (CaseResult& result : report.cases) {
    if (result.check != "allreduce") continue;
    result.metrics = {sample::row("busbw.possible", "GB/s", {}, sample::summary(8, 400, 400, 400)),
                      sample::row("busbw", "GB/s", {}, sample::summary(8, 40, 41, 42))};
  }
  const auto text = reported("console", report);
  EXPECT_LT(text.find("metrics    busbw: "), text.find("busbw.possible: "));
  EXPECT_TRUE(has(text, "metrics    busbw: "));
}

TEST(Console, SentencesKeepToTheWidthAndCommandsStayWhole) {
  for (const int width : {60, 80, 100, 120}) {
    ReporterOptions options;
    options.width = width;
    const auto text = reported("console", sample::report(), options);
    for (const auto line : lines(text)) {
      const bool may_be_wide = line.find("run again") != std::string_view::npos || line.find('%') < 30;
      EXPECT_TRUE(may_be_wide || columns(line) <= static_cast<std::size_t>(width)) << line;
    }
    EXPECT_TRUE(has(text,
                    "run again  muster run checks/network/allreduce.toml --system cirrus:gpu --nodes "
                    "'nid[001-002]' -n '^allreduce%77aa0b11$'\n"));
  }
}

TEST(Console, OverviewLinesOfANarrowTerminalHaveValueAndBoundWithinItsWidth) {
  for (const int width : {40, 80, 120}) {
    ReporterOptions options;
    options.width = width;
    std::ostringstream out;
    const auto console = find_reporter("console")->make(options);
    for (const CaseResult& result : sample::report().cases) console->case_finished(result, out);
    const auto text = out.str();
    for (const auto line : lines(text)) {
      const bool has_name = width == 40 && line.find('%') < 40;  // names stay whole
      EXPECT_TRUE(has_name || columns(line) <= static_cast<std::size_t>(width)) << line;
    }
    const auto words = std::regex_replace(text, std::regex("\\s+"), " ");
    for (const char* part : {"busbw{size=16MiB,type=float} 4.02 GB/s, bound at least 11.25 GB/s (rank 5 on nid002)",
                             "share core 2 in repetition 2 ", "busbw 8.44 GB/s"})
      EXPECT_TRUE(has(words, part)) << text;
    EXPECT_FALSE(has(words, "(rank 2 on nid001")) << "the reason names it";
  }
}

TEST(Console, AGoodRunNeedsNoNodeTableAndNoBlock) {
  const auto text = reported("console", sample::good_report());
  EXPECT_FALSE(has(text, "nodes      "));
  EXPECT_FALSE(has(text, "run again"));
  EXPECT_TRUE(has(text, "busbw 8.44 GB/s\n"));
  EXPECT_TRUE(has(text, "no GPU on nid001 and nid002")) << "a skip says why";
  EXPECT_TRUE(has(text, "exit status 0"));
}

TEST(Console, ThatTimingIsNotJudgedIsSaidAlsoOfWhatPassed) {
  auto report = sample::good_report();
  std::size_t passed = 0;
  for (auto& result : report.cases)
    if (result.verdict == Verdict::pass && ++passed <= 2)
      result.notes = {"timing is not judged: 16 ranks share 2 cores"};
  const auto text = reported("console", report);
  const auto at = text.find("  notes      ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.find(report.cases[0].id, at), std::string::npos);
  EXPECT_NE(text.find("16 ranks", at), std::string::npos);
}

TEST(Console, NotesOfPassingCasesAreInTheSummaryEachOnceAndInFewLines) {
  auto report = sample::good_report();
  const std::string distance = "on nid001 rank 0 runs on CPUs 0-15, far from its GPU; " + std::string(600, 'x');
  for (auto& result : report.cases) result.notes = {distance};
  report.cases[0].notes.emplace_back("the launch line binds 1 of 2 ranks otherwise than muster bind would");
  for (int i = 0; i < 9; ++i) report.cases[0].notes.push_back("note " + std::to_string(i));
  ReporterOptions wide;
  wide.width = 1000;
  const auto text = reported("console", report, wide);
  const auto at = text.find("  notes      ");
  ASSERT_NE(at, std::string::npos) << text;
  const auto first = text.find("on nid001 rank 0 runs", at);
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("on nid001 rank 0 runs", first + 1), std::string::npos) << "the same note once";
  EXPECT_EQ(text.find(std::string(500, 'x')), std::string::npos);
  EXPECT_NE(text.find("otherwise than muster bind", at), std::string::npos);
  EXPECT_NE(text.find("and 3 more, see the report", at), std::string::npos) << text;
  ReporterOptions quiet;
  quiet.quiet = true;
  EXPECT_EQ(reported("console", report, quiet), "");
}

TEST(Console, NotesOfOneCaseOnManyNodesAreOne) {
  auto report = sample::good_report();
  auto of = report.cases[0];
  report.cases.clear();
  for (const char* node : {"nid001", "nid002"}) {
    of.node = node;
    of.notes = {std::string("on ") + node + " rank 0 starts 2 OpenMP threads on 1 CPU"};
    report.cases.push_back(of);
  }
  ReporterOptions wide;
  wide.width = 1000;
  const auto text = reported("console", report, wide);
  const auto at = text.find("starts 2 OpenMP threads");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("starts 2 OpenMP threads", at + 1), std::string::npos) << text;
}

TEST(Console, QuietSaysNothingWhenAllIsWell) {
  ReporterOptions options;
  options.quiet = true;
  options.terminal = true;
  options.color = true;
  EXPECT_EQ(reported("console", sample::good_report(), options), "");
}

TEST(Console, QuietIsSelfContainedWhenNot) {
  ReporterOptions options;
  options.quiet = true;
  const auto text = reported("console", sample::report(), options);
  EXPECT_EQ(text.rfind("muster 0.1.0 on cirrus", 0), 0u);
  EXPECT_FALSE(has(text, "\npass       hello")) << "no line per case";
  EXPECT_TRUE(has(text, "nid002 needed SIGKILL"));
  auto incomplete = sample::good_report();
  incomplete.exit_status = 2;
  incomplete.notes = {"not everything could be recorded: disk full"};
  EXPECT_TRUE(has(reported("console", incomplete, options), "disk full"));
}

TEST(Console, AnEmptyRunIsSaidToBeOne) {
  RunReport run;
  const auto text = reported("console", run);
  EXPECT_TRUE(has(text, "no case was run"));
  EXPECT_TRUE(has(text, "UNMEASURED  0 cases"));
}

TEST(Console, AnInterruptIsNamed) {
  auto run = sample::good_report();
  run.interrupted = "SIGINT";
  run.exit_status = 130;
  EXPECT_TRUE(has(reported("console", run), "interrupted by SIGINT (exit status"));
}

TEST(Console, RepetitionsThatAgree) {
  auto result = sample::hello();
  for (int i = 2; i <= 100; ++i) result.repetitions.push_back({i, Verdict::pass, "", 0.1, 0});
  std::ostringstream out;
  find_reporter("console")->make({})->case_finished(result, out);
  EXPECT_TRUE(has(out.str(), "pass       hello%3f2a9c1d  100/100 passed"));
}

TEST(Console, AThousandCasesAndVeryLongNames) {
  auto run = sample::report();
  run.cases.clear();
  for (int i = 0; i < 1000; ++i) {
    auto result = i % 3 == 0 ? sample::allreduce() : sample::hello();
    result.id = "case%" + std::to_string(i);
    run.cases.push_back(result);
  }
  run.cases[0].id = std::string(10000, 'n');
  run.cases[0].reason = std::string(10000, 'r');
  run.cases[0].culprits[0].node = std::string(10000, 'h');
  const std::clock_t begin = std::clock();
  for (const auto* format : {"console", "json", "junit"}) {
    const auto text = reported(format, run);
    EXPECT_TRUE(has(text, "case%999"));
    EXPECT_TRUE(text.find(std::string(10000, 'n')) != std::string::npos) << "an id is never cut: " << format;
  }
  EXPECT_LT(std::clock() - begin, 30 * CLOCKS_PER_SEC);
  const auto summary = reported("console", run).substr(reported("console", run).find("\nsummary\n"));
  EXPECT_TRUE(has(summary, "case%15 sizes=16MiB")) << "a name is not broken";
  EXPECT_TRUE(has(summary, "328"));
  EXPECT_LT(std::count(summary.begin(), summary.end(), '\n'), 40);
}

}  // namespace
}  // namespace muster
