/// A report from the folder of a run.
#pragma once

#include "base/files.hpp"
#include "muster/report.hpp"

namespace muster {

/// From a report.json, or the folder of a run: its report.json, else its spool. The folder of a run that was submitted,
/// and whose driver did not live to bring the report back, holds those of the job's starts: the last one counts.
[[nodiscard]] Result<RunReport> read_run(const fs::path& path);

}  // namespace muster
