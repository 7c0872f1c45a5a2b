#include "system/described_layout.hpp"

namespace muster {

Layout layout_of(const MachineDescription& machine) {
  Layout layout;
  for (int core = 0; core < machine.cores; ++core) layout.cores.push_back(machine.core(core));
  layout.caches = machine.caches;
  for (const DescribedDomain& domain : machine.domains)
    if (!domain.cpus.empty()) layout.domains[domain.number] = domain.cpus;
  for (const DescribedGpu& gpu : machine.gpus.devices)
    if (!gpu.near.empty()) layout.nearby[gpu.address] = gpu.near;
  for (const DescribedNic& nic : machine.nics)
    if (!nic.near.empty() && !nic.address.empty()) layout.nearby[nic.address] = nic.near;
  return layout;
}

}  // namespace muster
