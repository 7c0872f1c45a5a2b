/// The output of `muster gate` for users and programs.
#pragma once

#include <string>

#include "app/gate/round.hpp"

namespace muster {

/// Lines for standard error: who is not good and why, then what comes of it.
[[nodiscard]] std::vector<std::string> gate_lines(const GateOutcome& outcome, std::size_t need);
/// Nodes that are not good.
[[nodiscard]] std::vector<std::string> not_good(const GateOutcome& outcome);
/// Of those, the nodes to exclude from the next job: none, where no node is good and none is at fault.
[[nodiscard]] std::vector<std::string> to_exclude(const GateOutcome& outcome);
/// One object, described in docs/gate.md.
[[nodiscard]] std::string gate_json(const GateOutcome& outcome, std::size_t need, double seconds);

}  // namespace muster
