/// hwloc's topology, as all readers here make it.
#pragma once

#include <hwloc.h>
#include <memory>
#include <type_traits>

#include "muster/result.hpp"

namespace muster {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyDeleter>;

/// A topology that is not loaded yet. It will not open displays, OpenCL or the libraries of GPU vendors. Fails with
/// kind `system` when memory is short.
[[nodiscard]] Result<TopologyHandle> new_topology();

}  // namespace muster
