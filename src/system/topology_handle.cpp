#include "system/topology_handle.hpp"

namespace muster {

Result<TopologyHandle> new_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(ErrorKind::system, "hwloc", "can't make a topology");
  TopologyHandle topology(raw);
  // Parts of hwloc that connect to X servers or load the libraries of GPUs, when devices are read. One that this hwloc
  // lacks is refused, and nothing is lost.
  for (const char* component : {"gl", "opencl", "cuda", "nvml", "rsmi", "levelzero"})
    (void)hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  return topology;
}

}  // namespace muster
