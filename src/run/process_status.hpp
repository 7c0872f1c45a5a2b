/// The status of a process from /proc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace muster {

struct ProcessStatus {
  char state = '?';               ///< field 3 of /proc/PID/stat: R, S, D, T, t, Z, X, I
  int group = 0;                  ///< field 5
  std::uint64_t start_ticks = 0;  ///< field 22: with the pid, names a process for good
  friend bool operator==(const ProcessStatus&, const ProcessStatus&) = default;
};

/// From the text of /proc/PID/stat. The name in field 2 may hold anything, also spaces and parentheses.
[[nodiscard]] std::optional<ProcessStatus> parse_process_status(std::string_view text);
/// nullopt: no such process.
[[nodiscard]] std::optional<ProcessStatus> process_status(int pid);

/// How long ago it started, to one tick of the kernel's clock (usually 10 ms).
[[nodiscard]] double seconds_since_start(const ProcessStatus& status);

/// Every number in /proc that is a process which has not ended, with its status.
void each_process(const std::function<void(int, const ProcessStatus&)>& act);

/// Whether a process is the daemon of one start of a launcher, of this user. The daemons of Slurm, and those of PRRTE
/// that stay for several jobs (prte, whose jobs are not called prterun-...), are not.
[[nodiscard]] bool is_daemon_of_one_launch(int pid);
/// Whether it is what Slurm runs on a node for a step of `job`, `slurmstepd: [4711.2]`.
[[nodiscard]] bool is_step_of_slurm(int pid, std::string_view job);
/// Signals the process that had this number when it started at `start_ticks`, and no other: by pidfd, where the kernel
/// has them (5.3), else by number right after a look at its start time. False where it is gone.
bool signal_process(int pid, std::uint64_t start_ticks, int signal);

}  // namespace muster
