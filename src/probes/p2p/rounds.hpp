/// The rounds of a case of p2p: pairs of ranks exchange messages, all at once and, where a link looks bad, alone.
#pragma once

#include <vector>

#include "measure/gpu_data.hpp"
#include "measure/link_class.hpp"
#include "muster/probe.hpp"

namespace muster::p2p {

/// They lie where GpuData moved them.
struct PairBuffers {
  const Buffer& out;
  const Buffer& in;
};

/// Collective over all ranks. `spots` are those of all ranks.
[[nodiscard]] Result<Observation> all_rounds(RunContext& context, const GpuData& gpu, const PairBuffers& buffers,
                                             std::vector<Spot> spots);

}  // namespace muster::p2p
