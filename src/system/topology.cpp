#include <algorithm>

#include "base/text.hpp"
#include "system/meminfo.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"
#include "system/topology_handle.hpp"

namespace muster {

namespace {

Result<TopologyHandle> load() {
  auto topology = new_topology();
  if (topology && hwloc_topology_load(topology->get()) != 0)
    return fail(ErrorKind::system, "hwloc", "can't read this machine's topology");
  return topology;
}

CpuMask to_mask(hwloc_const_cpuset_t set) {
  CpuMask mask;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) mask.add(cpu);
  return mask;
}

/// Masks of the objects of a type that hold at least one CPU we may use.
std::vector<CpuMask> masks_of(hwloc_topology_t topology, hwloc_obj_type_t type, const CpuMask& allowed) {
  std::vector<CpuMask> masks;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
    CpuMask mask = to_mask(object->cpuset);
    if (mask.intersects(allowed)) masks.push_back(std::move(mask));
  }
  return masks;
}

std::string info(hwloc_topology_t topology, const char* name) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_MACHINE}) {
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, 0);
    const char* text = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, name);
    if (text != nullptr) return printable_line(text);
  }
  return {};
}

}  // namespace

Result<Topology> read_topology() {
  auto allowed = CpuMask::processors_of_this_thread();
  if (!allowed) return tl::unexpected(allowed.error());
  auto loaded = load();
  if (!loaded) return tl::unexpected(loaded.error());
  const hwloc_topology_t machine = loaded->get();

  Topology topology;
  topology.allowed = *allowed;
  topology.cpus = allowed->count();
  topology.core_masks = masks_of(machine, HWLOC_OBJ_CORE, *allowed);
  // Some virtual machines show no cores: then every CPU is one.
  if (topology.core_masks.empty()) topology.core_masks = masks_of(machine, HWLOC_OBJ_PU, *allowed);
  topology.cores = static_cast<int>(topology.core_masks.size());
  for (const CpuMask& core : topology.core_masks)
    topology.cpus_per_core = std::max(topology.cpus_per_core, core.count());
  for (const hwloc_obj_type_t level : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE})
    if (topology.cache_masks.empty()) topology.cache_masks = masks_of(machine, level, *allowed);
  topology.numa_masks = masks_of(machine, HWLOC_OBJ_NUMANODE, *allowed);
  topology.numa_domains = static_cast<int>(topology.numa_masks.size());
  topology.packages = static_cast<int>(masks_of(machine, HWLOC_OBJ_PACKAGE, *allowed).size());
  // hwloc adds up the NUMA nodes; in some virtual machines (memory added after the start) the kernel's figures of these
  // lack most of it.
  topology.memory_bytes = read_meminfo("MemTotal:", root_of("/"));
  if (topology.memory_bytes == 0) topology.memory_bytes = hwloc_get_root_obj(machine)->total_memory;
  topology.cpu_model = info(machine, "CPUModel");
  return topology;
}

}  // namespace muster
