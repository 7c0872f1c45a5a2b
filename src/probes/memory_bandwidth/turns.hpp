/// The ranks of a node measure one after the other: beside each other, each would measure the traffic of all.
#pragma once

#include <functional>

#include "muster/probe.hpp"

namespace muster::memory_bandwidth {

/// Calls `measure` while the other ranks of the node wait, and returns when each of them has had its turn. Collective
/// over all ranks of the case. Fails with kind `system` where the MPI library does.
[[nodiscard]] Result<void> in_turn(RunContext& context, const std::function<void()>& measure);

/// Time for one kernel in one domain on this rank, of `cap` for all ranks of the node; long enough for a few passes.
[[nodiscard]] Seconds share_of_cap(Seconds cap, int local_size);

}  // namespace muster::memory_bandwidth
