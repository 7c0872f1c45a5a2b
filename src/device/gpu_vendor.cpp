#include "device/gpu_vendor.hpp"

#include <algorithm>

namespace muster {

extern const GpuVendor nvidia_gpus;
extern const GpuVendor amd_gpus;
extern const GpuVendor intel_gpus;

namespace {

constexpr const GpuVendor* vendors[] = {&nvidia_gpus, &amd_gpus, &intel_gpus};

}  // namespace

std::span<const GpuVendor* const> gpu_vendors() {
  return vendors;
}

const GpuVendor& terms_of_vendor(std::string_view name) {
  static constexpr GpuVendor unknown{};
  const auto* found =
      std::find_if(std::begin(vendors), std::end(vendors), [&](const GpuVendor* one) { return one->name == name; });
  return found == std::end(vendors) ? unknown : **found;
}

std::string of_all_vendors(std::string_view GpuVendor::*term, std::string_view separator) {
  std::string line;
  for (const GpuVendor* vendor : vendors) {
    if ((vendor->*term).empty()) continue;
    if (!line.empty()) line += separator;
    line += vendor->*term;
  }
  return line;
}

}  // namespace muster
