/// NVML while GPUs are at work: their values again and again, and XIDs as they come.
#pragma once

#include <memory>
#include <vector>

#include "device/call_watch.hpp"
#include "device/inventory.hpp"

namespace muster {

class NvmlWatch {
 public:
  /// nullptr where NVML is not to be asked (as in add_nvml) or is unusable. Every call goes past `watch`.
  [[nodiscard]] static std::unique_ptr<NvmlWatch> open(const Inventory& inventory, CallWatch watch);
  ~NvmlWatch();
  NvmlWatch(const NvmlWatch&) = delete;
  NvmlWatch& operator=(const NvmlWatch&) = delete;

  /// Fills the values of `gpu`, found by its address: all counters, modes, processes. False: NVML does not know it.
  bool look(Device& gpu) const;
  /// As above, of what changes from one moment to the next: clocks, throttling, PCIe.
  bool glance(Device& gpu) const;
  /// XIDs of the GPU since it was first asked about here; each is given once.
  [[nodiscard]] std::vector<int> xids(const PciAddress& gpu);

 private:
  struct Inside;
  explicit NvmlWatch(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace muster
