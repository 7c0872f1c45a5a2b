// Network devices: /sys/class/{infiniband,cxi,net}.
#include <algorithm>
#include <fmt/format.h>

#include "device/parse.hpp"
#include "device/sources.hpp"

namespace muster {

namespace {

/// The device behind an entry of a class; nullptr: a virtual one, or a share of a device (a virtual function).
Device* find_behind(const Machine& machine, Inventory& inventory, const std::string& entry, std::string_view source) {
  const auto path = machine.pci_path(entry + "/device");
  if (path.empty()) return nullptr;
  const bool is_share = !machine.link_name(fmt::format("sys/bus/pci/devices/{}/physfn", to_string(path[0]))).empty();
  return is_share ? nullptr : &inventory.seen(DeviceKind::nic, path[0], source);
}

void add_infiniband(const Machine& machine, Inventory& inventory) {
  const std::string folder = "sys/class/infiniband";
  if (!machine.has(folder)) return;
  inventory.add_source("infiniband");
  for (const std::string& name : machine.names(folder)) {
    const std::string entry = folder + "/" + name;
    Device* device = find_behind(machine, inventory, entry, "infiniband");
    if (device == nullptr) continue;
    device->firmware = machine.text(entry + "/fw_ver");
    for (const std::string& number : machine.names(entry + "/ports")) {
      const std::string port = entry + "/ports/" + number;
      device->ports.push_back({name + "/" + number, machine.text(port + "/link_layer"),
                               parse_state(machine.text(port + "/state")),
                               parse_state(machine.text(port + "/phys_state")),
                               parse_amount(machine.text(port + "/rate")), parse_lanes(machine.text(port + "/rate"))});
    }
  }
}

void add_cxi(const Machine& machine, Inventory& inventory) {
  const std::string folder = "sys/class/cxi";
  if (!machine.has(folder)) return;
  inventory.add_source("cxi");
  for (const std::string& name : machine.names(folder)) {
    Device* device = find_behind(machine, inventory, folder + "/" + name, "cxi");
    if (device != nullptr && device->firmware.empty())
      device->firmware = machine.text(fmt::format("{}/{}/device/uc/qspi_blob_version", folder, name));
  }
}

void add_interfaces(const Machine& machine, Inventory& inventory) {
  const std::string folder = "sys/class/net";
  if (!machine.has(folder)) return;
  inventory.add_source("net");
  for (const std::string& name : machine.names(folder)) {
    const std::string entry = folder + "/" + name;
    Device* device = find_behind(machine, inventory, entry, "net");
    if (device == nullptr) continue;
    // IP over InfiniBand has less data than the port beneath it, and may be down by choice.
    const bool is_infiniband = machine.text(entry + "/type") == "32";
    if (is_infiniband) continue;
    const double speed = parse_amount(machine.text(entry + "/speed"));
    device->ports.push_back({name, "Ethernet", machine.text(entry + "/operstate"), "", speed / 1000});
  }
}

}  // namespace

void add_network(const Machine& machine, Inventory& inventory) {
  add_infiniband(machine, inventory);
  add_cxi(machine, inventory);
  add_interfaces(machine, inventory);
}

}  // namespace muster
