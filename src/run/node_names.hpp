/// Whether ranks are on the nodes that were asked for, by the names that these have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/record.hpp"
#include "muster/report.hpp"

namespace muster {

/// A finding of verdict fail about the asked nodes whose ranks report the name of another node, which may be an asked
/// one that has ranks of its own; nothing where every asked node has ranks of its name. A name is the node's with or without its domain, where SLURMD_NODENAME of its
/// ranks is the asked one, or where both resolve to the same addresses. Ranks on too many or too few nodes are not its
/// business.
[[nodiscard]] std::optional<Finding> wrong_names(const std::vector<std::string>& asked, const World& world);

}  // namespace muster
