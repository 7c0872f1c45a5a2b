/// The parts of a described machine's tree.
#pragma once

#include <string>
#include <string_view>

#include "base/cpu_mask.hpp"
#include "base/tree_writer.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// `00000000,0000ffff`: groups of 32 bits, as the kernel prints a map of `cpus` CPUs.
[[nodiscard]] std::string kernel_map(const CpuMask& mask, int cpus);
/// A number that is the same for the same words, and most likely for no others.
[[nodiscard]] std::uint64_t number_of(std::string_view words);

/// As the driver of its vendor writes it. Of this device of this node alone.
[[nodiscard]] std::string uuid_of(const MachineDescription& machine, const std::string& host, const DescribedGpu& gpu);

// The parts of a machine's tree: /sys, /proc and /dev.
void write_cpus(const MachineDescription& machine, TreeWriter& tree);
void write_gpus(const MachineDescription& machine, const std::string& host, TreeWriter& tree);
void write_nics(const MachineDescription& machine, TreeWriter& tree);

/// What every function on the PCI bus has; returns its folder.
struct PciFunction {
  std::string address;
  std::string id;  ///< `1002:7408`
  std::string class_code;
  std::string driver;
  int domain = -1;
  CpuMask near;
  int lanes = 16;
  bool is_lost = false;
};
std::string write_function(const MachineDescription& machine, const PciFunction& function, TreeWriter& tree);

/// The topology below `root` as hwloc sees it, in its XML form. Of the program's environment it needs HWLOC_* for a
/// moment: no other thread may run.
[[nodiscard]] Result<std::string> topology_text(const fs::path& root);

}  // namespace muster
