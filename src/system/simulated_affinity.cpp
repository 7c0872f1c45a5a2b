#include "system/simulated_affinity.hpp"

#include <cstdlib>

#include "base/cpu_mask.hpp"
#include "base/environment.hpp"
#include "system/system.hpp"

namespace muster {

SimulatedLaunch simulated_launch(const fs::path& machine, const fs::path& library, const fs::path& records) {
  std::error_code ignored;
  const CpuMask cpus = node_cpus(machine / "root");
  if (cpus.empty() || !fs::exists(library, ignored)) return {};
  const std::string others = environment_text("LD_PRELOAD");
  const std::string chosen = environment_text(env_affinity_folder);
  SimulatedLaunch launch;
  launch.ranks = {{env_affinity_cpus, cpus.list()},
                  {env_affinity_folder, chosen.empty() ? fs::absolute(records).string() : chosen},
                  {"LD_PRELOAD", library.string() + (others.empty() ? "" : ":" + others)},
                  // Ranks have fewer processors than cores.
                  {"OMPI_MCA_mpi_yield_when_idle", "1"}};
  launch.launcher = {{"HWLOC_XMLFILE", fs::absolute(machine / "topology.xml").string()}, {"HWLOC_THISSYSTEM", "1"}};
  return launch;
}

bool has_simulated_affinity() {
  return !environment_text(env_affinity_cpus).empty();
}

void forget_simulated_topology() {
  if (!has_simulated_affinity()) return;
  for (const char* name : {"HWLOC_XMLFILE", "HWLOC_THISSYSTEM"}) ::unsetenv(name);
}

}  // namespace muster
