#include "device/gpu_meter.hpp"

#include "device/gpu_backend.hpp"

namespace muster {

std::unique_ptr<GpuMeter> open_gpu_meter(std::string_view vendor, const PciAddress& address, const std::string& root,
                                         CallWatch watch) {
  const GpuBackend* backend = find_gpu_backend(vendor);
  return backend == nullptr ? nullptr : backend->open_meter(address, root, std::move(watch));
}

}  // namespace muster
