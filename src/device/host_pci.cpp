// The PCI bus: /sys/bus/pci/devices.
#include <algorithm>
#include <fmt/format.h>

#include "device/parse.hpp"
#include "device/sources.hpp"

namespace muster {

namespace {

/// The smaller of those that are known.
template <class Number>
Number lesser(Number a, Number b) {
  if (a <= 0 || b <= 0) return std::max(a, b);
  return std::min(a, b);
}

std::string folder_of(const PciAddress& address) {
  return "sys/bus/pci/devices/" + to_string(address);
}

/// The link between `lower` and the port above it.
PciLink read_link(const Machine& machine, const PciAddress& lower, const PciAddress* upper, bool is_virtual) {
  const auto width = [&](const PciAddress& end) {
    return parse_width(machine.text(folder_of(end) + "/max_link_width"));
  };
  const auto speed = [&](const PciAddress& end) {
    return parse_amount(machine.text(folder_of(end) + "/max_link_speed"));
  };
  PciLink link;
  link.at = lower;
  link.width = parse_width(machine.text(folder_of(lower) + "/current_link_width"));
  link.speed = parse_amount(machine.text(folder_of(lower) + "/current_link_speed"));
  link.width_able = upper == nullptr ? width(lower) : lesser(width(lower), width(*upper));
  link.is_one_ended = upper == nullptr || is_virtual || width(*upper) <= 0;
  link.speed_able = upper == nullptr ? speed(lower) : lesser(speed(lower), speed(*upper));
  return link;
}

/// Every second hop on the way up is a link: device to switch port, then through the switch, then switch to root port.
void add_links(const Machine& machine, bool is_virtual, Device& device) {
  const auto path = machine.pci_path(folder_of(device.address));
  if (path.empty()) return;
  for (std::size_t i = 0; i == 0 || i + 1 < path.size(); i += 2) {
    const PciLink link = read_link(machine, path[i], i + 1 < path.size() ? &path[i + 1] : nullptr, is_virtual);
    if (link.width > 0) device.links.push_back(link);
  }
}

int uncorrected_errors(const Machine& machine, const std::string& folder) {
  int sum = 0;
  for (const std::string& name : machine.names(folder + "/ras"))
    if (name.find("_err_count") != name.npos) sum += parse_uncorrected(machine.text(folder + "/ras/" + name));
  return sum;
}

/// Ports above a device are synthetic there. The flags of the first CPU show it.
bool is_virtual_machine(const Machine& machine) {
  constexpr std::size_t first_cpu = 8192;
  const std::string text = machine.head("proc/cpuinfo", first_cpu);
  const auto flags = text.find("\nflags");
  const auto end = text.find('\n', flags == text.npos ? flags : flags + 1);
  return flags != text.npos && (text.substr(flags, end - flags) + " ").find(" hypervisor ") != text.npos;
}

void fill(const Machine& machine, bool is_virtual, Device& device) {
  const std::string folder = folder_of(device.address);
  device.device_id = parse_id(machine.text(folder + "/device"));
  device.driver = machine.link_name(folder + "/driver");
  const std::string numa = machine.text(folder + "/numa_node");
  device.numa_node = numa.empty() || numa[0] == '-' ? -1 : static_cast<int>(parse_amount(numa));
  // The kernel remembers vendor and class of a device that is gone; only its configuration space shows it.
  device.is_lost = machine.head(folder + "/config", 4) == "\xff\xff\xff\xff" || device.device_id == "ffff";
  if (!device.is_lost) add_links(machine, is_virtual, device);
  if (device.kind != DeviceKind::gpu) return;
  device.name = machine.text(folder + "/product_name");
  device.firmware = machine.text(folder + "/vbios_version");
  device.uncorrected = uncorrected_errors(machine, folder);
}

}  // namespace

void add_pci(const Machine& machine, Inventory& inventory) {
  if (!machine.has("sys/bus/pci/devices")) return;
  inventory.add_source("pci");
  const bool is_virtual = is_virtual_machine(machine);
  for (const std::string& name : machine.names("sys/bus/pci/devices")) {
    const auto address = parse_pci_address(name);
    if (!address) continue;
    const std::string folder = folder_of(*address);
    const std::string class_code = parse_id(machine.text(folder + "/class"));
    const std::string vendor_id = parse_id(machine.text(folder + "/vendor"));
    const bool gpu = is_gpu(*address, class_code, vendor_id);
    // A virtual function beside its physical one is a share of the same device.
    if ((!gpu && !is_nic(class_code)) || !machine.link_name(folder + "/physfn").empty()) continue;
    Device& device = inventory.seen(gpu ? DeviceKind::gpu : DeviceKind::nic, *address, "pci");
    device.class_code = class_code;
    device.vendor_id = vendor_id;
    fill(machine, is_virtual, device);
  }
}

}  // namespace muster
