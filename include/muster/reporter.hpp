/// What the author of a report format implements.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "muster/report.hpp"
#include "muster/result.hpp"

namespace muster {

struct ReporterOptions {
  bool color = false;
  bool terminal = false;  ///< `out` is a terminal: a status line may be redrawn
  bool quiet = false;     ///< print nothing when all pass
  int width = 80;         ///< columns
  int lines_beside = 0;   ///< with `quiet`: of the one page, that the caller may print by himself
};

/// What is going on, for a status line.
struct RunProgress {
  std::string running;  ///< id of the case in flight; empty: between cases
  int done = 0;         ///< repetitions of cases finished
  int total = 0;
  int failed = 0;
  double elapsed_s = 0;  ///< since the run began
  double case_elapsed_s = 0;
  double case_deadline_s = 0;  ///< 0: none
};

/// A reporter receives a run in this order:
///   run_started once, then for every case case_started and case_finished once each (repetitions are combined
///   before case_finished; cases may interleave), tick a few times a second, run_finished once, also after an
///   interrupt. Everything is called from one thread.
class Reporter {
 public:
  virtual ~Reporter() = default;
  /// `header` has no results yet; its launches list what is planned.
  virtual void run_started(const RunReport& header, std::ostream& out) { (void)header, (void)out; }
  virtual void case_started(const CaseResult& planned, std::ostream& out) { (void)planned, (void)out; }
  virtual void case_finished(const CaseResult& result, std::ostream& out) { (void)result, (void)out; }
  /// Something worth a line now: a launch ended badly, nodes are set aside.
  virtual void notice(std::string_view line, std::ostream& out) { (void)line, (void)out; }
  virtual void tick(const RunProgress& progress, std::ostream& out) { (void)progress, (void)out; }
  /// Writes the report. The stream's state is checked by the caller.
  virtual void run_finished(const RunReport& report, std::ostream& out) = 0;
};

struct ReporterSpec {
  std::string_view name;
  std::string_view summary;
  std::string_view file_name;  ///< default name in the run folder; empty: standard output
  std::unique_ptr<Reporter> (*make)(const ReporterOptions&) = nullptr;
};

/// Every report format that was built in, by name. Generated from the folder.
[[nodiscard]] std::span<const ReporterSpec* const> all_reporters();
[[nodiscard]] const ReporterSpec* find_reporter(std::string_view name);

}  // namespace muster
