/// Writes many small files below one folder; the first failure is kept, and ends the work.
#pragma once

#include <string>
#include <string_view>

#include "base/cpu_mask.hpp"
#include "base/files.hpp"
#include "model/machine_description.hpp"

namespace muster {

class TreeWriter {
 public:
  explicit TreeWriter(fs::path root) : root_(std::move(root)) {}

  void folder(const std::string& path);
  /// A line, as files of /sys are.
  void put(const std::string& path, std::string_view text) { write(path, std::string(text) + "\n"); }
  void write(const std::string& path, std::string_view text, unsigned mode = 0644);
  /// A symbolic link at `path` to `target`, both below the root.
  void link(const std::string& path, const std::string& target);
  [[nodiscard]] const Result<void>& result() const { return result_; }

 private:
  void fail_at(const fs::path& path, const std::string& what);
  fs::path root_;
  Result<void> result_;
};

/// `00000000,0000ffff`: groups of 32 bits, as the kernel prints a map of `cpus` CPUs.
[[nodiscard]] std::string kernel_map(const CpuMask& mask, int cpus);
/// A number that is the same for the same words, and most likely for no others.
[[nodiscard]] std::uint64_t number_of(std::string_view words);

/// `GPU-...` as NVIDIA's driver writes it; of AMD the unique id as KFD writes it, a decimal number. Of this device of
/// this node alone.
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

/// `file`: the topology below `root` as hwloc sees it, in its XML form. Of the program's environment it needs HWLOC_*
/// for a moment: no other thread may run.
[[nodiscard]] Result<void> write_topology(const fs::path& root, const fs::path& file);

}  // namespace muster
