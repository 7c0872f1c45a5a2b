#include "app/runs/read_run.hpp"

#include "model/json.hpp"
#include "run/job_watch.hpp"
#include "run/spool.hpp"

namespace muster {

namespace {

/// 100,000 ranks x 20 cases take 0.2 GB.
constexpr std::size_t most_report_bytes = std::size_t{2} << 30;

Result<RunReport> read_report(const fs::path& file) {
  const auto text = read_file(file, most_report_bytes);
  if (!text) return tl::unexpected(text.error());
  auto report = read_run_report(*text);
  if (!report) return fail(ErrorKind::file, file.string(), to_string(report.error()));
  return report;
}

}  // namespace

Result<RunReport> read_run(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return read_report(path);
  if (fs::exists(path / "report.json", ignored)) return read_report(path / "report.json");
  if (fs::exists(path / "spool", ignored)) return recover_spool(path / "spool");
  if (const auto start = last_start(path / "job"); !start.empty()) return read_run(start);
  if (fs::exists(path / "job", ignored))
    return fail(ErrorKind::file, path.string(),
                "was submitted as a job that has written nothing yet; job/output has what it printed");
  return fail(ErrorKind::file, path.string(), "holds neither report.json nor spool");
}

}  // namespace muster
