/// This node: topology (hwloc), kernel, limits, whitelisted environment. The only folder that includes hwloc.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_mask.hpp"
#include "base/files.hpp"
#include "muster/observation.hpp"
#include "muster/report.hpp"

namespace muster {

struct Topology {
  int packages = 0;
  int numa_domains = 0;
  int cores = 0;          ///< physical cores that this process may use
  int cpus = 0;           ///< logical CPUs that it may use
  int cpus_per_core = 1;  ///< largest number of siblings
  std::uint64_t memory_bytes = 0;
  std::string cpu_model;
  CpuMask allowed;
  std::vector<CpuMask> core_masks;   ///< logical CPUs of each of these cores, also those we may not use
  std::vector<CpuMask> cache_masks;  ///< logical CPUs of each last-level cache that one of them is below
  std::vector<CpuMask> numa_masks;   ///< logical CPUs of each domain that holds one of them
};

/// The real machine, also where a simulated one is pretended.
[[nodiscard]] Result<Topology> read_topology();
[[nodiscard]] std::string host_name();

/// The physical cores that `mask` touches, each named by its lowest logical CPU: masks of ranks that sit on two
/// threads of one core give the same core. Cheap (a file of /sys per CPU); a CPU that /sys does not know is a core.
[[nodiscard]] CpuMask cores_of(const CpuMask& mask, const fs::path& root = "/");
/// The CPUs that any process of this job could be given on this node: online and in our control group's cpuset,
/// whatever the caller itself is bound to. Empty when the kernel does not report it.
[[nodiscard]] CpuMask node_cpus(const fs::path& root = "/");

/// Kernel, OS, CPU, cores, NUMA domains, memory, locked-memory and open-file limits, drivers found, and the variables
/// that matter (OMP_*, *_VISIBLE_DEVICES, NCCL_*, MPICH_*, OMPI_MCA_*, UCX_*, FI_*, SLURM_*): never the whole
/// environment, and no value of a variable whose name looks like a secret.
[[nodiscard]] NodeProvenance node_provenance();
/// The variables of `environment` (`NAME=value`) that matter, as facts `env.NAME`, sorted.
[[nodiscard]] std::vector<Fact> environment_facts(const char* const* environment);
/// Whether a variable of that name matters, by the list above.
[[nodiscard]] bool is_wanted_variable(std::string_view name);
/// Whether its value may be a password or a key, so that it must never be shown.
[[nodiscard]] bool looks_secret(std::string_view name);

}  // namespace muster
