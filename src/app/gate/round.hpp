/// What `muster gate` measures, and what it makes of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/inputs/prepare.hpp"
#include "app/runs/run_folder.hpp"
#include "run/node_status.hpp"

namespace muster {

/// All of it, from the start of muster on.
struct GateTime {
  double began = 0;       ///< monotonic
  double deadline_s = 0;  ///< in all
  /// Measuring ends before that: ranks that hang have to be ended, too.
  [[nodiscard]] double measuring_ends_at() const;
  [[nodiscard]] double left_s() const;
};

struct GateOutcome {
  std::vector<std::string> nodes;      ///< all that could be had
  std::vector<NodeStatus> statuses;    ///< of each
  std::vector<UnjudgedLine> unjudged;  ///< checks that could not judge the user's launch line
  std::vector<std::string> chosen;     ///< as many as are needed, or none
  std::vector<std::string> spare;      ///< good, and not chosen
  std::vector<std::string> folders;    ///< of the runs
  std::string interrupted;             ///< SIGINT; empty: not
  std::optional<Error> error;          ///< nothing was measured, or not to the end
  std::string simulated;               ///< machines that nodes were on; empty: all were real
  std::vector<Fact> variables;         ///< MUSTER_* in the environment
  std::size_t kept_apart = 0;          ///< good nodes that the link to a chosen one rules out
};

/// Runs the plan on all its nodes; while too few are good and others may be well without those at fault, what is open
/// once more on the others. Must be called before any other thing listens to signals.
[[nodiscard]] GateOutcome pass_gate(const RunOptions& options, Prepared prepared, std::size_t need, GateTime time);

}  // namespace muster
