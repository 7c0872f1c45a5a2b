#include "device/nvidia/files.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "device/parse.hpp"

namespace muster {

namespace {

/// NVIDIA's driver writes question marks for what it has not yet asked the card.
std::string reported(const std::map<std::string, std::string, std::less<>>& table, std::string_view key) {
  const auto found = table.find(key);
  if (found == table.end() || found->second.find('?') != std::string::npos || found->second == "N/A") return {};
  return found->second;
}

bool has_numbered_nvidia_file(const Machine& machine) {
  const auto names = machine.names("dev");
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.rfind("nvidia", 0) == 0 && name.size() > 6 && name[6] >= '0' && name[6] <= '9';
  });
}

void add_nvidia_versions(const Machine& machine, Inventory& inventory) {
  const auto put = [&](const char* name, std::string version) {
    if (!version.empty()) inventory.versions[name] = std::move(version);
  };
  put("nvidia", parse_version(machine.text("proc/driver/nvidia/version")));
  // The library's version is in the name of the file that its link leads to.
  for (const char* folder : {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib"}) {
    constexpr std::string_view stem = "libnvidia-ml.so.";
    const std::string target = machine.link_name(fmt::format("{}/libnvidia-ml.so.1", folder));
    if (target.rfind(stem, 0) == 0 && target.size() > stem.size() + 1) put("libnvidia-ml", target.substr(stem.size()));
  }
}

}  // namespace

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

void add_nvidia(const Machine& machine, Inventory& inventory) {
  add_nvidia_versions(machine, inventory);
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
    if (!minor.empty() && !device.is_lost) device.files.push_back(machine.file_at("/dev/nvidia" + minor));
  }
}

}  // namespace muster
