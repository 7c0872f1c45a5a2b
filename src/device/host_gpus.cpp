// Device files of GPUs.
#include <algorithm>
#include <fmt/format.h>

#include "device/gpu_backend.hpp"
#include "device/sources.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

/// The node of the graphics interface, where computing uses it too.
void add_render_file(const Machine& machine, Device& device) {
  const std::string folder = fmt::format("sys/bus/pci/devices/{}/drm", to_string(device.address));
  for (const std::string& name : machine.names(folder)) {
    if (name.rfind("renderD", 0) != 0) continue;
    const DeviceFile file = machine.file_at("/dev/dri/" + name);
    const auto same = [&](const DeviceFile& other) { return other.path == file.path; };
    if (std::none_of(device.files.begin(), device.files.end(), same)) device.files.push_back(file);
  }
}

bool any_bound(const Inventory& inventory, std::string_view driver) {
  return std::any_of(inventory.devices.begin(), inventory.devices.end(), [&](const Device& device) {
    return device.kind == DeviceKind::gpu && device.driver == driver && !device.is_lost;
  });
}

}  // namespace

void add_device_files(const Machine& machine, Inventory& inventory) {
  for (Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu && !device.is_lost && terms_of_vendor(vendor_of(device)).has_render_files)
      add_render_file(machine, device);
  for (const GpuVendor* vendor : gpu_vendors())
    if (any_bound(inventory, vendor->driver))
      for (const std::string_view path : vendor->shared_files)
        inventory.files.push_back(machine.file_at(std::string(path)));
  for (const GpuBackend* backend : gpu_backends())
    if (backend->forgive_files != nullptr) backend->forgive_files(machine, inventory);
}

}  // namespace muster
