#include "device/gpu_meter.hpp"

namespace muster {

std::unique_ptr<GpuMeter> open_gpu_meter(std::string_view vendor, const PciAddress& address, const std::string& root,
                                         CallWatch watch) {
  if (vendor == "amd") return open_amdgpu_meter(address, root);
  return open_nvml_meter(address, std::move(watch));
}

}  // namespace muster
