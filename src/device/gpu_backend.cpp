#include "device/gpu_backend.hpp"

#include <algorithm>

namespace muster {

extern const GpuBackend nvidia_backend;
extern const GpuBackend amd_backend;

namespace {

constexpr const GpuBackend* backends[] = {&nvidia_backend, &amd_backend};

}  // namespace

std::span<const GpuBackend* const> gpu_backends() {
  return backends;
}

const GpuBackend* find_gpu_backend(std::string_view vendor) {
  const auto* found = std::find_if(std::begin(backends), std::end(backends),
                                   [&](const GpuBackend* one) { return one->vendor == vendor; });
  return found == std::end(backends) ? nullptr : *found;
}

}  // namespace muster
