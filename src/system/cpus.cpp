#include "base/files.hpp"
#include "system/control_groups.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

CpuMask list_in(const fs::path& file) {
  return CpuMask::parse_list(read_line(file)).value_or(CpuMask());
}

/// Of version 2, else of version 1; empty: none. A group without the controller has the CPUs of the one around it.
CpuMask cpuset_of_group(const fs::path& root) {
  for (const ControlGroup& group : control_groups("cpuset", root))
    for (const char* file : {"cpuset.cpus.effective", "cpuset.effective_cpus"})
      if (CpuMask mask = list_in(group.folder / file); !mask.empty()) return mask;
  return {};
}

}  // namespace

CpuMask cores_of(const CpuMask& mask, const fs::path& root) {
  CpuMask cores;
  CpuMask seen;
  for (const int cpu : mask.cpus()) {
    if (seen.has(cpu)) continue;
    const CpuMask siblings =
        list_in(root / ("sys/devices/system/cpu/cpu" + std::to_string(cpu)) / "topology/thread_siblings_list");
    cores.add(siblings.empty() ? cpu : siblings.lowest());
    seen = seen | siblings;
  }
  return cores;
}

CpuMask node_cpus(const fs::path& root) {
  const CpuMask online = list_in(root / "sys/devices/system/cpu/online");
  const CpuMask group = cpuset_of_group(root);
  return group.empty() ? online : online & group;
}

}  // namespace muster
