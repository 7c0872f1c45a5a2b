#include <fmt/format.h>

#include "device/gpu_backend.hpp"
#include "device/sources.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

void add_versions(const Machine& machine, Inventory& inventory) {
  const auto add = [&](const std::string& name, std::string version) {
    if (!version.empty()) inventory.versions[name] = std::move(version);
  };
  add("kernel", machine.text("proc/sys/kernel/osrelease"));
  const auto add_module = [&](std::string_view module) {
    if (!module.empty()) add(std::string(module), machine.text(fmt::format("sys/module/{}/version", module)));
  };
  for (const GpuVendor* vendor : gpu_vendors()) {
    add_module(vendor->driver);
    add_module(vendor->other_driver);
  }
  for (const char* module : {"mlx5_core", "cxi_ss1", "hfi1", "bnxt_en"}) add_module(module);
}

Result<void> check_root(const Machine& machine, const std::string& root) {
  if (machine.has("sys") || machine.has("proc")) return {};
  return fail(ErrorKind::system, root, "no root folder of a machine: it has neither sys nor proc");
}

}  // namespace

Result<Inventory> read_inventory(const std::string& root) {
  const Machine machine(root);
  if (auto sound = check_root(machine, root); !sound) return tl::unexpected(sound.error());
  Inventory inventory;
  add_versions(machine, inventory);
  add_pci(machine, inventory);
  for (const GpuBackend* backend : gpu_backends())
    if (backend->add_files != nullptr) backend->add_files(machine, inventory);
  add_device_files(machine, inventory);
  add_network(machine, inventory);
  return inventory;
}

Result<Inventory> read_nics(const std::string& root) {
  const Machine machine(root);
  if (auto sound = check_root(machine, root); !sound) return tl::unexpected(sound.error());
  Inventory inventory;
  add_pci(machine, inventory);
  add_network(machine, inventory);
  std::erase_if(inventory.devices, [](const Device& device) { return device.kind != DeviceKind::nic; });
  return inventory;
}

}  // namespace muster
