/// The health of GPUs while something runs on them: the values of the inventory again and again, and XIDs as they come.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/call_watch.hpp"
#include "device/inventory.hpp"

namespace muster {

class NvmlWatch;

class GpuHealth {
 public:
  /// Names and units as those of Device::values (docs/methods/device_visibility.md).
  using Values = std::map<std::string, std::string>;

  /// `inventory` lists the GPUs. Calls of libraries go past `watch`. By one thread.
  GpuHealth(const Inventory& inventory, CallWatch watch);
  ~GpuHealth();
  GpuHealth(const GpuHealth&) = delete;
  GpuHealth& operator=(const GpuHealth&) = delete;

  /// All current values of a GPU. Empty: no source reports it. May take milliseconds.
  [[nodiscard]] Values look(const Device& gpu) const;
  /// What changes from one moment to the next: clocks, throttling, the PCIe link.
  [[nodiscard]] Values glance(const Device& gpu) const;
  /// XIDs of a GPU of NVIDIA since the first look at it; each is given once.
  [[nodiscard]] std::vector<int> xids(const Device& gpu) const;

 private:
  std::unique_ptr<NvmlWatch> nvml_;
};

}  // namespace muster
