#include "device/gpu_health.hpp"

#include "device/nvidia/nvml_watch.hpp"
#include "device/sources.hpp"
#include "system/this_machine.hpp"

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

GpuHealth::Values read_files(const Device& gpu) {
  Inventory inventory;
  inventory.devices.push_back(bare(gpu));
  const Machine machine(root_of("/"));
  add_amdgpu_files(machine, inventory);
  return inventory.devices[0].values;
}

}  // namespace

GpuHealth::GpuHealth(const Inventory& inventory, CallWatch watch)
    : nvml_(NvmlWatch::open(inventory, std::move(watch))) {}

GpuHealth::~GpuHealth() = default;

GpuHealth::Values GpuHealth::look(const Device& gpu) const {
  if (vendor_of(gpu) == "amd") return read_files(gpu);
  Device device = bare(gpu);
  return nvml_ && nvml_->look(device) ? device.values : Values();
}

GpuHealth::Values GpuHealth::glance(const Device& gpu) const {
  if (vendor_of(gpu) == "amd") return read_files(gpu);
  Device device = bare(gpu);
  return nvml_ && nvml_->glance(device) ? device.values : Values();
}

std::vector<int> GpuHealth::xids(const Device& gpu) const {
  return nvml_ ? nvml_->xids(gpu.address) : std::vector<int>();
}

}  // namespace muster
