#include "system/topology_handle.hpp"

#include "model/gpu_vendor.hpp"

namespace muster {

Result<TopologyHandle> new_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(ErrorKind::system, "hwloc", "can't make a topology");
  TopologyHandle topology(raw);
  // Parts of hwloc that connect to X servers or load the libraries of GPUs, when devices are read. One that this hwloc
  // lacks is refused, and nothing is lost.
  const auto leave_out = [&](std::string_view component) {
    (void)hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, std::string(component).c_str());
  };
  for (const char* component : {"gl", "opencl"}) leave_out(component);
  for (const GpuVendor* vendor : gpu_vendors())
    for (const std::string_view component : vendor->hwloc_components) leave_out(component);
  return topology;
}

}  // namespace muster
