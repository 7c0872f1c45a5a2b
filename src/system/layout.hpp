/// How the CPUs of a machine hang together: cores, caches, NUMA domains, and the devices near to them. The whole
/// machine, also what this process may not use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_mask.hpp"
#include "muster/observation.hpp"

namespace muster {

struct Layout {
  std::vector<CpuMask> cores;             ///< logical CPUs of each core, in hwloc's (logical) order
  std::vector<CpuMask> caches;            ///< of each last-level cache; empty: not known
  std::map<int, CpuMask> domains;         ///< of each NUMA domain that has CPUs, by the kernel's number
  std::map<std::string, CpuMask> nearby;  ///< CPUs nearest to a PCI device, by its address `0000:c1:00.0`
  friend bool operator==(const Layout&, const Layout&) = default;

  [[nodiscard]] bool empty() const { return cores.empty(); }
  [[nodiscard]] CpuMask cpus() const;
  /// All CPUs of the cores that `mask` touches: its siblings included.
  [[nodiscard]] CpuMask whole_cores(const CpuMask& mask) const;
  /// Numbers of the domains that `mask` touches.
  [[nodiscard]] CpuMask domains_of(const CpuMask& mask) const;
};

/// `source` is empty for this machine, `synthetic:` and hwloc's description for one that is made up
/// (`synthetic:pack:2 numa:2 core:8 pu:2`), else the path of an hwloc XML file. Fails with kind `system`.
[[nodiscard]] Result<Layout> read_layout(const std::string& source = {});

/// The CPUs that the topology allows (a control group, a job's share); a source as for read_layout.
[[nodiscard]] Result<CpuMask> read_allowed_cpus(const std::string& source);

/// A PCI device from a topology. Texts are verbatim, untrusted.
struct TopologyDevice {
  std::string address;     ///< `0000:c1:00.0`
  std::string class_code;  ///< `0380`
  std::string vendor_id;
  std::string device_id;
  std::string name;   ///< of its interface (`hsn0`), else of its InfiniBand device; empty: neither
  std::string model;  ///< as a management library called it; empty: none did
  double rate = 0;    ///< Gbit/s of its PCIe link; 0: unknown
  friend bool operator==(const TopologyDevice&, const TopologyDevice&) = default;
};

/// All PCI devices of a topology file, in its order. `source` and failures as for read_layout.
[[nodiscard]] Result<std::vector<TopologyDevice>> read_topology_devices(const std::string& source);

/// Facts `layout.cores`, `layout.caches`, `layout.domains` and one `near.ADDRESS` for each device in `devices`.
[[nodiscard]] std::vector<Fact> to_facts(const Layout& layout, const std::vector<std::string>& devices);
/// Reads those facts back; empty when they are not there or damaged.
[[nodiscard]] Layout parse_layout(const std::vector<Fact>& facts);

}  // namespace muster
