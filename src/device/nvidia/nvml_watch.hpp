/// NVML while GPUs are at work: their values again and again, and XIDs as they come.
#pragma once

#include <memory>
#include <vector>

#include "device/call_watch.hpp"
#include "device/gpu_health.hpp"

namespace muster {

class NvmlWatch final : public GpuWatch {
 public:
  /// nullptr where NVML is not to be asked (as in add_nvml) or is unusable. Every call goes past `watch`.
  [[nodiscard]] static std::unique_ptr<NvmlWatch> open(const Inventory& inventory, CallWatch watch);
  ~NvmlWatch() override;
  NvmlWatch(const NvmlWatch&) = delete;
  NvmlWatch& operator=(const NvmlWatch&) = delete;

  bool look(Device& gpu) const override;
  bool glance(Device& gpu) const override;
  [[nodiscard]] std::vector<int> xids(const PciAddress& gpu) override;

 private:
  struct Inside;
  explicit NvmlWatch(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace muster
