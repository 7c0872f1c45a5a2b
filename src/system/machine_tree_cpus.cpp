// CPUs, caches and NUMA domains: /sys/devices/system, /proc/cpuinfo.
#include <fmt/format.h>

#include "system/tree_writer.hpp"

namespace muster {

namespace {

/// In the folder of its first CPU; those of the others lead there.
void write_cache(const MachineDescription& machine, std::size_t index, int cpu, TreeWriter& tree) {
  const CpuMask& cpus = machine.caches[index];
  const auto folder_of = [](int owner) { return fmt::format("sys/devices/system/cpu/cpu{}/cache/index3", owner); };
  if (cpu != cpus.lowest()) return tree.link(folder_of(cpu), folder_of(cpus.lowest()));
  const std::string folder = folder_of(cpu);
  tree.put(folder + "/level", "3");
  tree.put(folder + "/type", "Unified");
  tree.put(folder + "/id", std::to_string(index));
  tree.put(folder + "/size", fmt::format("{}K", machine.cache_bytes >> 10));
  tree.put(folder + "/shared_cpu_map", kernel_map(cpus, machine.cores * machine.smt));
  tree.put(folder + "/shared_cpu_list", cpus.list());
}

void write_cpu(const MachineDescription& machine, int cpu, TreeWriter& tree) {
  const int count = machine.cores * machine.smt;
  const int core = cpu % machine.cores;
  const int share = machine.cores / machine.packages;
  const int package = core / share;
  CpuMask in_package;
  for (int other = package * share; other < (package + 1) * share; ++other)
    in_package = in_package | machine.core(other);
  const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}", cpu);
  tree.put(folder + "/topology/physical_package_id", std::to_string(package));
  tree.put(folder + "/topology/core_id", std::to_string(core % share));
  tree.put(folder + "/topology/thread_siblings", kernel_map(machine.core(core), count));
  tree.put(folder + "/topology/thread_siblings_list", machine.core(core).list());
  tree.put(folder + "/topology/core_siblings", kernel_map(in_package, count));
  for (std::size_t i = 0; i < machine.caches.size(); ++i)
    if (machine.caches[i].has(cpu)) write_cache(machine, i, cpu, tree);
}

void write_cpuinfo(const MachineDescription& machine, TreeWriter& tree) {
  std::string text;
  const int share = machine.cores / machine.packages;
  for (int cpu = 0; cpu < machine.cores * machine.smt; ++cpu) {
    const int core = cpu % machine.cores;
    text += fmt::format("processor\t: {}\nmodel name\t: {}\n", cpu, machine.cpu_model);
    text += fmt::format("physical id\t: {}\ncore id\t\t: {}\n", core / share, core % share);
    text += machine.is_virtual ? "flags\t\t: fpu vme hypervisor\n\n" : "\n";
  }
  tree.write("proc/cpuinfo", text);
}

void write_domains(const MachineDescription& machine, TreeWriter& tree) {
  CpuMask all;
  CpuMask with_cpus;
  std::uint64_t bytes = 0;
  for (const DescribedDomain& domain : machine.domains) {
    all.add(domain.number);
    if (!domain.cpus.empty()) with_cpus.add(domain.number);
    const std::string folder = fmt::format("sys/devices/system/node/node{}", domain.number);
    tree.put(folder + "/cpumap", kernel_map(domain.cpus, machine.cores * machine.smt));
    tree.put(folder + "/cpulist", domain.cpus.list());
    tree.put(folder + "/meminfo", fmt::format("Node {} MemTotal: {} kB", domain.number, domain.memory >> 10));
    bytes += domain.memory;
  }
  for (const char* name : {"online", "possible", "has_memory", "has_normal_memory"})
    tree.put(fmt::format("sys/devices/system/node/{}", name), all.list());
  tree.put("sys/devices/system/node/has_cpu", with_cpus.list());
  tree.put("proc/meminfo",
           fmt::format("MemTotal: {0} kB\nMemFree: {1} kB\nMemAvailable: {1} kB", bytes >> 10, bytes / 10 * 9 >> 10));
}

}  // namespace

void write_cpus(const MachineDescription& machine, TreeWriter& tree) {
  for (const char* name : {"online", "possible", "present"})
    tree.put(fmt::format("sys/devices/system/cpu/{}", name), machine.cpus().list());
  for (int cpu = 0; cpu < machine.cores * machine.smt; ++cpu) write_cpu(machine, cpu, tree);
  write_cpuinfo(machine, tree);
  write_domains(machine, tree);
  // hwloc reads this in place of uname(2) of a real machine.
  tree.put("proc/hwloc-nofile-info",
           fmt::format("OSName: Linux\nOSRelease: {}\nOSVersion: simulated\nHostName: simulated\nArchitecture: {}",
                       machine.kernel, machine.architecture));
}

}  // namespace muster
