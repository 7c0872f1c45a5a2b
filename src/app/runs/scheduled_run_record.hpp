/// What is done at night is kept: runs that did not begin, and what was done to nodes.
#pragma once

#include <string>

#include "app/inputs/options.hpp"
#include "base/files.hpp"
#include "muster/report.hpp"
#include "muster/result.hpp"

namespace muster {

/// Of the user whose run it is: $XDG_STATE_HOME/muster, ~/.local/state/muster, or the same in the home that the system
/// knows (schedulers start programs without HOME).
[[nodiscard]] fs::path state_folder();

/// Something done to a node, or about to be.
struct ActionEntry {
  std::string action;  ///< `drain`, `resume`
  std::string node;
  std::string reason;   ///< with the owner tag
  std::string outcome;  ///< `begun`, `done`, or what went wrong
};

/// Runs of one command that found no node, one after the other.
struct Misses {
  int count = 0;
  std::string since;  ///< when the first of them was to begin
};

/// As record_skipped(); the result includes this one.
[[nodiscard]] Result<Misses> record_miss(const RunOptions& options, const RunReport& head, const std::string& why);

/// Both go to the history of the run. They fail as it does: an action that can't be kept is not done.
[[nodiscard]] Result<void> record_action(const RunOptions& options, const RunReport& report, const ActionEntry& entry);
[[nodiscard]] Result<void> record_skipped(const RunOptions& options, const RunReport& head, const std::string& why);

}  // namespace muster
