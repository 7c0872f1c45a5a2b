/// What /proc says of a process.
#pragma once

#include <cstdint>
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

}  // namespace muster
