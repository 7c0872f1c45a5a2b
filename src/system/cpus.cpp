#include "base/files.hpp"
#include "base/text.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

CpuMask list_in(const fs::path& file) {
  return CpuMask::parse_list(read_line(file)).value_or(CpuMask());
}

/// The cpuset of our control group: version 2 (`0::/path`) or 1 (`4:cpuset:/path`); empty when there is none.
CpuMask cpuset_of_group(const fs::path& root) {
  const auto groups = read_file(root / "proc/self/cgroup", 1u << 16);
  if (!groups) return {};
  for (const std::string_view line : lines(*groups)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    CpuMask mask;
    if (controllers.empty()) mask = list_in(root / ("sys/fs/cgroup" + path) / "cpuset.cpus.effective");
    if (controllers.find("cpuset") != controllers.npos)
      mask = list_in(root / ("sys/fs/cgroup/cpuset" + path) / "cpuset.effective_cpus");
    if (!mask.empty()) return mask;
  }
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
