// What the GPUs' kernel drivers show without a vendor's library, and their device files.
#include <algorithm>
#include <fmt/format.h>

#include "device/parse.hpp"
#include "device/sources.hpp"

namespace muster {

namespace {

/// NVIDIA's driver writes question marks for what it has not yet asked the card.
std::string reported(const std::map<std::string, std::string, std::less<>>& table, std::string_view key) {
  const auto found = table.find(key);
  if (found == table.end() || found->second.find('?') != std::string::npos || found->second == "N/A") return {};
  return found->second;
}

DeviceFile file_at(const Machine& machine, const std::string& path) {
  return {path, machine.access(path)};
}

bool has_numbered_nvidia_file(const Machine& machine) {
  const auto names = machine.names("dev");
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.rfind("nvidia", 0) == 0 && name.size() > 6 && name[6] >= '0' && name[6] <= '9';
  });
}

/// The driver's setuid helper makes missing files when a program first asks for them.
void forgive_files_made_on_demand(const Machine& machine, Inventory& inventory) {
  if (!machine.is_setuid("usr/bin/nvidia-modprobe")) return;
  const bool is_used = has_numbered_nvidia_file(machine);
  const auto is_to_come = [&](const DeviceFile& file) {
    return file.access == FileAccess::missing && file.path.rfind("/dev/nvidia", 0) == 0 &&
           (!is_used || file.path == "/dev/nvidia-uvm");
  };
  std::erase_if(inventory.files, is_to_come);
  for (Device& device : inventory.devices) std::erase_if(device.files, is_to_come);
}

/// The node of the graphics interface; for AMD and Intel the one that computing uses too.
void add_render_file(const Machine& machine, Device& device) {
  const std::string folder = fmt::format("sys/bus/pci/devices/{}/drm", to_string(device.address));
  for (const std::string& name : machine.names(folder)) {
    if (name.rfind("renderD", 0) != 0) continue;
    const DeviceFile file = file_at(machine, "/dev/dri/" + name);
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

void add_nvidia(const Machine& machine, Inventory& inventory) {
  const std::string folder = "proc/driver/nvidia/gpus";
  if (!machine.has(folder)) return;
  inventory.add_source("nvidia");
  for (const std::string& name : machine.names(folder)) {
    const auto address = parse_pci_address(name);
    if (!address) continue;
    const auto table = parse_table(machine.text(fmt::format("{}/{}/information", folder, name)), ':');
    Device& device = inventory.seen(DeviceKind::gpu, *address, "nvidia");
    if (device.vendor_id.empty()) device.vendor_id = "10de";
    device.name = reported(table, "Model");
    device.uuid = reported(table, "GPU UUID");
    device.firmware = reported(table, "Video BIOS");
    device.is_excluded = reported(table, "GPU Excluded") == "Yes";
    const std::string minor = reported(table, "Device Minor");
    if (!minor.empty() && !device.is_lost) device.files.push_back(file_at(machine, "/dev/nvidia" + minor));
  }
}

void add_device_files(const Machine& machine, Inventory& inventory) {
  for (Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu && !device.is_lost && (device.vendor_id == "1002" || device.vendor_id == "8086"))
      add_render_file(machine, device);
  if (any_bound(inventory, "nvidia"))
    for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) inventory.files.push_back(file_at(machine, path));
  if (any_bound(inventory, "amdgpu")) inventory.files.push_back(file_at(machine, "/dev/kfd"));
  forgive_files_made_on_demand(machine, inventory);
}

}  // namespace muster
