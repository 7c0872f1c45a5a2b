#include "device/gpu_health.hpp"

#include "device/gpu_backend.hpp"

namespace muster {

namespace {

/// The same device, and nothing known of it but where it is.
Device bare(const Device& gpu) {
  Device device;
  device.kind = gpu.kind;
  device.address = gpu.address;
  device.uuid = gpu.uuid;
  device.vendor_id = gpu.vendor_id;
  device.driver = gpu.driver;
  return device;
}

}  // namespace

GpuHealth::GpuHealth(const Inventory& inventory, CallWatch watch) {
  for (const GpuBackend* backend : gpu_backends()) {
    if (backend->open_watch == nullptr) continue;
    if (auto opened = backend->open_watch(inventory, watch)) watches_.emplace(backend->vendor, std::move(opened));
  }
}

GpuHealth::~GpuHealth() = default;

GpuHealth::Values GpuHealth::look(const Device& gpu) const {
  const auto found = watches_.find(vendor_of(gpu));
  Device device = bare(gpu);
  return found != watches_.end() && found->second->look(device) ? device.values : Values();
}

GpuHealth::Values GpuHealth::glance(const Device& gpu) const {
  const auto found = watches_.find(vendor_of(gpu));
  Device device = bare(gpu);
  return found != watches_.end() && found->second->glance(device) ? device.values : Values();
}

std::vector<int> GpuHealth::xids(const Device& gpu) const {
  const auto found = watches_.find(vendor_of(gpu));
  return found == watches_.end() ? std::vector<int>() : found->second->xids(gpu.address);
}

}  // namespace muster
