/// The rounds of a case of p2p: pairs of ranks exchange messages, all at once and, where a link looks bad, alone.
#pragma once

#include <vector>

#include "measure/gpu_data.hpp"
#include "measure/link_class.hpp"
#include "muster/probe.hpp"

namespace muster::p2p {

/// Collective over all ranks. `out` and `in` lie where `gpu` moved them; `spots` are those of all ranks.
[[nodiscard]] Result<Observation> all_rounds(RunContext& context, const GpuData& gpu, const Buffer& out,
                                             const Buffer& in, std::vector<Spot> spots);

}  // namespace muster::p2p
