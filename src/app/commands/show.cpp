#include <fmt/format.h>

#include "app/commands/history.hpp"
#include "app/inputs/case_filter.hpp"
#include "app/inputs/load.hpp"
#include "app/inputs/options.hpp"
#include "app/runs/find_run.hpp"
#include "app/runs/outputs.hpp"
#include "app/runs/read_run.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// Where the files beside the report are: a run may have been moved, and is read from anywhere.
std::string folder_of(const RunReport& report, const fs::path& path) {
  std::error_code ignored;
  const auto found = fs::is_directory(path, ignored) ? path : path.parent_path();
  if (fs::exists(fs::path(report.folder) / "matrices", ignored) || !fs::exists(found / "matrices", ignored))
    return report.folder;
  return found.empty() ? "." : found.string();
}

Result<RunReport> read_named(const ShowOptions& options) {
  const auto path = find_run_anywhere(options.run, options.history);
  if (!path) return tl::unexpected(path.error());
  auto report = read_run(*path);
  if (!report) return report;
  report->folder = folder_of(*report, *path);
  auto filter = CaseFilter::make(options.names);
  if (!filter) return tl::unexpected(filter.error());
  keep_named(*report, *filter);
  if (auto matched = filter->complain(); !matched) return tl::unexpected(matched.error());
  return report;
}

}  // namespace

int show_command(const ShowOptions& options) {
  auto report = read_named(options);
  if (!report) return history_trouble(report.error());
  auto outputs = Outputs::open(options.reports, {options.color, options.quiet}, {});
  if (!outputs) return usage_error(outputs.error());
  auto errors = replay(*report, outputs->sinks());
  if (auto shown = flush_standard_output(); !shown) errors.push_back(shown.error());
  for (const auto& error : errors) fmt::print(stderr, "muster: {}\n", printable_line(to_string(error), 2000));
  return errors.empty() ? 0 : 2;
}

}  // namespace muster
