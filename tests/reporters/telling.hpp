/// Tells a run to a reporter in the documented order, and compares what it wrote with an approved text.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

#include "muster/reporter.hpp"

namespace muster {

inline RunReport header_of(RunReport report) {
  report.cases.clear();
  return report;
}

inline void announce(Reporter& reporter, const RunReport& report, std::ostream& out) {
  RunProgress progress;
  progress.total = static_cast<int>(report.cases.size());
  reporter.run_started(header_of(report), out);
  for (const auto& result : report.cases) {
    reporter.case_started(result, out);
    progress.running = result.id;
    progress.case_elapsed_s = result.seconds / 2;
    progress.case_deadline_s = 60;
    progress.elapsed_s += result.seconds;
    reporter.tick(progress, out);
    reporter.case_finished(result, out);
    ++progress.done;
    if (result.verdict == Verdict::fail) ++progress.failed;
  }
  progress.running.clear();
  reporter.tick(progress, out);
  reporter.run_finished(report, out);
}

inline std::string reported(std::string_view format, const RunReport& report, const ReporterOptions& options = {}) {
  std::ostringstream out;
  announce(*find_reporter(format)->make(options), report, out);
  return out.str();
}

/// What a run of this machine and moment would change. The sample has fixed values, so only the version varies.
inline std::string scrubbed(std::string text) {
  const std::string version = MUSTER_VERSION;
  for (auto at = text.find(version); at != std::string::npos; at = text.find(version, at + 1))
    text.replace(at, version.size(), "VERSION");
  return text;
}

/// The text of tests/golden/reporters/<name>; rewritten first when MUSTER_UPDATE_GOLDEN=1.
inline void expect_golden(const std::string& name, const std::string& written) {
  const auto path = std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/golden/reporters" / name;
  const char* update = std::getenv("MUSTER_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") std::ofstream(path, std::ios::binary) << scrubbed(written);
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; run with MUSTER_UPDATE_GOLDEN=1 and look at what it writes";
  std::ostringstream approved;
  approved << file.rdbuf();
  EXPECT_EQ(scrubbed(written), approved.str()) << "differs from " << path;
}

}  // namespace muster
