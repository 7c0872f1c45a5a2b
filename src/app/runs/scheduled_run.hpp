/// What an unattended run does before its start and after its end: keeps out of the way of another one, and
/// drains or resumes nodes. docs/night.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/inputs/options.hpp"
#include "muster/report.hpp"
#include "run/run_lock.hpp"

namespace muster {

/// Of a run that did not begin, because other runs or jobs have its nodes. The system's own EX_TEMPFAIL: try again
/// later.
inline constexpr int exit_locked = 75;

/// Fails with kind `usage` where actions were asked for and there is nothing that could do them.
[[nodiscard]] Result<void> check_scheduled_run(const ScheduledRunOptions& options);

/// Enters the run that `head` begins, where a lock was asked for. Otherwise, after reporting and recording why not:
/// the exit status.
[[nodiscard]] std::optional<int> enter_scheduled_run(RunLock& lock, const RunOptions& options, const RunReport& head,
                                                     std::vector<std::string> nodes);

/// Of a run that finds no node that it may use, as all are busy. A miss is recorded; with --quiet it is printed when it
/// is the third of this command in a row, the sixth, and so on. The exit status.
[[nodiscard]] int miss_scheduled_run(const RunOptions& options, const RunReport& head, const std::string& why);

/// Carries out the actions, and prints them on standard error. Called when all reports are written. `status` is that
/// of the run; the exit status: 2 instead of 0 when something could not be done.
[[nodiscard]] int act_on_nodes(const RunReport& report, const RunOptions& options, int status);

}  // namespace muster
