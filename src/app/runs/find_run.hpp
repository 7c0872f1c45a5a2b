/// A run by what people call it.
#pragma once

#include <string>

#include "base/files.hpp"
#include "model/past_run.hpp"

namespace muster {

/// A path that is there, or the folder of muster-runs of that name or id; empty: none. Where that of muster-runs
/// belongs to another user than root and the caller, standard error has a line with the owner.
[[nodiscard]] fs::path find_run(const std::string& name);

/// As find_run(), else in the folder that the history has for the run of that id, or `latest` or `previous`. Fails
/// with kind `usage` when there is no such run, or when its folder is gone.
[[nodiscard]] Result<fs::path> find_run_anywhere(const std::string& name, const std::string& history_file);

/// What is kept of a run: `latest` and `previous` of the history, a folder or report.json, the id of a run of the
/// history or of muster-runs. Fails with kind `usage` when there is none,
/// and as the history does when it can't be asked.
[[nodiscard]] Result<PastRun> find_past_run(const std::string& name, const std::string& history_file);

}  // namespace muster
