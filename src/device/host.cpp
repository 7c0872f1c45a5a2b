#include <fmt/format.h>

#include "device/parse.hpp"
#include "device/sources.hpp"

namespace muster {

namespace {

void add_versions(const Machine& machine, Inventory& inventory) {
  const auto add = [&](const std::string& name, std::string version) {
    if (!version.empty()) inventory.versions[name] = std::move(version);
  };
  add("kernel", machine.text("proc/sys/kernel/osrelease"));
  for (const char* module : {"nvidia", "amdgpu", "i915", "xe", "mlx5_core", "cxi_ss1", "hfi1", "bnxt_en"})
    add(module, machine.text(fmt::format("sys/module/{}/version", module)));
  add("nvidia", parse_version(machine.text("proc/driver/nvidia/version")));
  // The library's version is in the name of the file that its link leads to.
  for (const char* folder : {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib"}) {
    constexpr std::string_view stem = "libnvidia-ml.so.";
    const std::string target = machine.link_name(fmt::format("{}/libnvidia-ml.so.1", folder));
    if (target.rfind(stem, 0) == 0 && target.size() > stem.size() + 1) add("libnvidia-ml", target.substr(stem.size()));
  }
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
  add_nvidia(machine, inventory);
  add_kfd(machine, inventory);
  add_amdgpu_files(machine, inventory);
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
