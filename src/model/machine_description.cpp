#include "model/machine_description.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

namespace {

Error lacks(const MachineFault& fault, std::string_view what) {
  return {ErrorKind::usage, "fault " + fault.name, fmt::format("the machine has no {} (any more)", what)};
}

Result<void> spoil_gpus(const MachineFault& fault, DescribedGpus& gpus) {
  const auto each = [&](const std::vector<int>& some, auto act) -> Result<void> {
    for (const int index : some) {
      if (index < 0 || static_cast<std::size_t>(index) >= gpus.devices.size())
        return tl::unexpected(lacks(fault, fmt::format("GPU {}", index)));
      act(gpus.devices[static_cast<std::size_t>(index)]);
    }
    return {};
  };
  if (auto done = each(fault.gpu_lost, [](DescribedGpu& gpu) { gpu.is_lost = true; }); !done) return done;
  if (auto done = each(fault.gpu_without_file, [](DescribedGpu& gpu) { gpu.file_mode = "none"; }); !done) return done;
  if (auto done = each(fault.gpu_closed, [](DescribedGpu& gpu) { gpu.file_mode = "0600"; }); !done) return done;
  if (auto done = each(fault.gpu_narrow, [](DescribedGpu& gpu) { gpu.lanes /= 2; }); !done) return done;
  if (auto done = each(fault.gpu_whole, [](DescribedGpu& gpu) { gpu.is_whole = true; }); !done) return done;
  // Last, and from the highest: the others are named by the numbers that they had.
  std::vector<int> missing = fault.gpu_missing;
  std::sort(missing.begin(), missing.end(), std::greater<>());
  for (const int index : missing) {
    if (index < 0 || static_cast<std::size_t>(index) >= gpus.devices.size())
      return tl::unexpected(lacks(fault, fmt::format("GPU {}", index)));
    gpus.devices.erase(gpus.devices.begin() + index);
  }
  if (!fault.driver_version.empty()) gpus.driver_version = fault.driver_version;
  if (!fault.gpu_model.empty()) gpus.model = fault.gpu_model;
  gpus.driver.insert(gpus.driver.end(), fault.driver.begin(), fault.driver.end());
  return {};
}

Result<void> spoil_nics(const MachineFault& fault, std::vector<DescribedNic>& nics) {
  const auto each = [&](const std::vector<std::string>& names, auto act) -> Result<void> {
    for (const std::string& name : names) {
      const auto is_it = [&](const DescribedNic& nic) { return nic.name == name || nic.device == name; };
      const auto found = std::find_if(nics.begin(), nics.end(), is_it);
      if (found == nics.end()) return tl::unexpected(lacks(fault, "NIC " + printable_line(name, 60)));
      act(found);
    }
    return {};
  };
  if (auto done = each(fault.nic_down, [](auto nic) { nic->state = "down"; }); !done) return done;
  if (auto done = each(fault.nic_slow, [](auto nic) { nic->rate /= 2; }); !done) return done;
  if (auto done = each(fault.nic_missing, [&](auto nic) { nics.erase(nic); }); !done) return done;
  if (fault.nics_swapped.size() != 2) return {};
  std::vector<DescribedNic*> two;
  if (auto done = each(fault.nics_swapped, [&](auto nic) { two.push_back(&*nic); }); !done) return done;
  std::swap(two[0]->name, two[1]->name);
  std::swap(two[0]->inet, two[1]->inet);
  return {};
}

Result<void> spoil_libraries(const MachineFault& fault, std::vector<std::string>& libraries) {
  for (const std::string& name : fault.library_missing) {
    const auto found = std::find(libraries.begin(), libraries.end(), name);
    if (found == libraries.end()) return tl::unexpected(lacks(fault, "library " + printable_line(name, 60)));
    libraries.erase(found);
  }
  return {};
}

CpuMask moved(const CpuMask& mask, int distance, int cpus) {
  CpuMask result;
  for (const int cpu : mask.cpus()) result.add((cpu + distance) % cpus);
  return result;
}

void spoil_masks(const MachineFault& fault, MachineDescription& machine) {
  if (!fault.masks.empty()) machine.masks = fault.masks;
  if (machine.masks.empty()) return;
  const auto by = fault.masks_shifted % static_cast<int>(machine.masks.size());
  std::rotate(machine.masks.begin(), machine.masks.begin() + by, machine.masks.end());
  const int cpus = machine.cores * machine.smt;
  for (CpuMask& mask : machine.masks) mask = moved(mask, fault.masks_moved, cpus);
}

void set(Environment& environment, const std::string& name, const std::string& value) {
  const auto found =
      std::find_if(environment.begin(), environment.end(), [&](const auto& one) { return one.first == name; });
  if (found == environment.end())
    environment.emplace_back(name, value);
  else
    found->second = value;
}

Result<void> apply(const MachineFault& fault, MachineDescription& machine) {
  if (auto done = spoil_gpus(fault, machine.gpus); !done) return done;
  if (auto done = spoil_nics(fault, machine.nics); !done) return done;
  if (auto done = spoil_libraries(fault, machine.libraries); !done) return done;
  spoil_masks(fault, machine);
  if (fault.cpu_quota > 0) machine.cpu_quota = fault.cpu_quota;
  if (!fault.kernel.empty()) machine.kernel = fault.kernel;
  for (const auto& [name, value] : fault.environment) set(machine.forced, name, value);
  machine.unset.insert(machine.unset.end(), fault.unset.begin(), fault.unset.end());
  for (const auto& [name, value] : fault.limits) machine.limits[name] = value;
  machine.applied_faults.push_back(fault.name);
  return {};
}

}  // namespace

CpuMask MachineDescription::core(int number) const {
  CpuMask mask;
  for (int thread = 0; thread < smt; ++thread) mask.add(number + thread * cores);
  return mask;
}

CpuMask MachineDescription::whole_cores(const CpuMask& mask) const {
  CpuMask whole;
  for (const int cpu : mask.cpus()) whole = whole | core(cpu % cores);
  return whole;
}

CpuMask MachineDescription::cpus() const {
  CpuMask all;
  for (int cpu = 0; cpu < cores * smt; ++cpu) all.add(cpu);
  return all;
}

Result<MachineDescription> with_faults(MachineDescription machine, std::span<const std::string> names) {
  for (const std::string& name : names) {
    const auto found = std::find_if(machine.faults.begin(), machine.faults.end(),
                                    [&](const MachineFault& fault) { return fault.name == name; });
    if (found == machine.faults.end()) {
      std::vector<std::string> known;
      for (const MachineFault& fault : machine.faults) known.push_back(fault.name);
      return fail(ErrorKind::usage, machine.name,
                  fmt::format("has no fault \"{}\"{}", printable_line(name, 60), suggestion(name, known)));
    }
    const MachineFault fault = *found;
    if (auto done = apply(fault, machine); !done) return tl::unexpected(done.error());
  }
  return machine;
}

}  // namespace muster
