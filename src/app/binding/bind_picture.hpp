/// A node drawn in a terminal: cores, caches, NUMA domains, GPUs, network cards, and which rank sits where.
#pragma once

#include <string>

#include "device/placement.hpp"
#include "reporters/common/ink.hpp"

namespace muster {

/// At most 100 columns wide. A sign is a core: `0`-`9`, `a`-`z`, `A`-`Z` the rank that has it (`*` from rank 62 on),
/// `-` one that is reserved or not ours, `.` one that is free.
[[nodiscard]] std::string node_picture(const NodeParts& node, const Placement& placement, const Ink& ink);
/// CPUs, GPU, network card and OMP_PLACES of each rank; what is too long for 100 columns is cut.
[[nodiscard]] std::string rank_table(const NodeParts& node, const Placement& placement, const Ink& ink);

}  // namespace muster
