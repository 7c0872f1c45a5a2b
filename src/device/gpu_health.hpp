/// The health of GPUs while something runs on them: the values of the inventory again and again, and XIDs as they come.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/call_watch.hpp"
#include "device/inventory.hpp"

namespace muster {

/// A vendor's source of health, open as long as the object.
class GpuWatch {
 public:
  virtual ~GpuWatch() = default;
  /// Fills the values of `gpu`, found by its address: all counters, modes, processes. False: it is not
  /// among those of the source.
  virtual bool look(Device& gpu) const = 0;
  /// As above, of what changes from one moment to the next: clocks, throttling, PCIe, processes.
  virtual bool glance(Device& gpu) const = 0;
  /// Codes of driver errors (XIDs) of the GPU since it was first asked about here; each is given once.
  [[nodiscard]] virtual std::vector<int> xids(const PciAddress& gpu) = 0;
};

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
  /// What changes from one moment to the next: clocks, throttling, the PCIe link, processes.
  [[nodiscard]] Values glance(const Device& gpu) const;
  /// XIDs of a GPU since the first look at it, where its vendor has such; each is given once.
  [[nodiscard]] std::vector<int> xids(const Device& gpu) const;

 private:
  std::map<std::string, std::unique_ptr<GpuWatch>, std::less<>> watches_;  ///< by vendor
};

}  // namespace muster
