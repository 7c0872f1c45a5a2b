// A node as far as binding goes, from hwloc and the kernel's files.
#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "device/parse.hpp"
#include "device/placement.hpp"
#include "system/described_layout.hpp"

namespace muster {

namespace {

using Devices = std::vector<const Device*>;

bool may_be_used(const Device& device) {
  const bool is_withheld = std::any_of(device.files.begin(), device.files.end(),
                                       [](const DeviceFile& file) { return file.access == FileAccess::withheld; });
  return !device.is_lost && !device.is_excluded && !is_withheld;
}

/// Of the vendor that most are of, in the order in which its runtime counts: KFD's where it is known, else by address.
Devices gpus_of(const Inventory& inventory) {
  std::map<std::string, Devices> by_vendor;
  for (const Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu && may_be_used(device)) by_vendor[vendor_of(device)].push_back(&device);
  Devices most;
  for (const auto& [vendor, some] : by_vendor)
    if (some.size() >= most.size()) most = some;
  if (std::all_of(most.begin(), most.end(), [](const Device* gpu) { return gpu->compute_order > 0; }))
    std::stable_sort(most.begin(), most.end(),
                     [](const Device* a, const Device* b) { return a->compute_order < b->compute_order; });
  return most;
}

/// Partitions of AMD's GPUs in the place of their wholes, as the runtime counts them: by KFD's nodes.
Devices whole_or_parts(const Inventory& inventory, const Devices& gpus) {
  Devices all;
  for (const Device* gpu : gpus) {
    Devices parts;
    for (const Device& device : inventory.devices)
      if (device.kind == DeviceKind::part && device.address == gpu->address && device.compute_order > 0)
        parts.push_back(&device);
    if (parts.empty()) parts.push_back(gpu);
    all.insert(all.end(), parts.begin(), parts.end());
  }
  if (std::all_of(all.begin(), all.end(), [](const Device* gpu) { return gpu->compute_order > 0; }))
    std::stable_sort(all.begin(), all.end(),
                     [](const Device* a, const Device* b) { return a->compute_order < b->compute_order; });
  return all;
}

/// What hwloc knows of a device's place is finer than its NUMA domain.
CpuMask near_to(const Layout& layout, const Device& device) {
  const auto found = layout.nearby.find(to_string(device.address));
  if (found != layout.nearby.end()) return found->second;
  const auto domain = layout.domains.find(device.numa_node);
  return domain == layout.domains.end() ? CpuMask() : domain->second;
}

NearDevice network_card(const Layout& layout, const Device& device) {
  NearDevice nic{to_string(device.address), {}, near_to(layout, device), 0};
  for (const NetPort& port : device.ports) {
    nic.rate = std::max(nic.rate, port.rate);
    if (nic.name.empty()) nic.name = printable_line(port.name.substr(0, port.name.find('/')), 40);
  }
  return nic;
}

}  // namespace

NodeParts parts_of(Layout layout, const Inventory& inventory) {
  NodeParts node;
  const Devices gpus = gpus_of(inventory);
  if (!gpus.empty()) node.vendor = vendor_of(*gpus[0]);
  for (const Device* one : whole_or_parts(inventory, gpus)) {
    const Device& whole = *inventory.gpu_at(one->address);
    node.gpus.push_back({to_string(whole.address), printable_line(model_of(whole), 60), near_to(layout, whole), 0});
  }
  for (const Device& device : inventory.devices)
    if (device.kind == DeviceKind::nic && !device.is_lost) node.nics.push_back(network_card(layout, device));
  node.layout = std::move(layout);
  return node;
}

NodeParts parts_of(Layout layout, const std::vector<TopologyDevice>& devices) {
  Inventory inventory;
  for (const TopologyDevice& one : devices) {
    const auto address = parse_pci_address(one.address);
    if (!address) continue;
    const bool gpu = is_gpu(*address, one.class_code + "00", one.vendor_id);
    if (!gpu && !is_nic(one.class_code + "00")) continue;
    Device& device = inventory.seen(gpu ? DeviceKind::gpu : DeviceKind::nic, *address, "hwloc");
    device.vendor_id = one.vendor_id;
    device.device_id = one.device_id;
    device.name = one.model;
    if (!gpu) device.ports.push_back({one.name, {}, {}, {}, one.rate});
  }
  return parts_of(std::move(layout), inventory);
}

NodeParts parts_of(const MachineDescription& machine) {
  NodeParts node;
  node.layout = layout_of(machine);
  const auto near = [&](const std::string& address, int number) {
    const auto found = node.layout.nearby.find(address);
    if (found != node.layout.nearby.end()) return found->second;
    const auto domain = node.layout.domains.find(number);
    return domain == node.layout.domains.end() ? CpuMask() : domain->second;
  };
  for (const DescribedGpu& gpu : machine.gpus.devices)
    if (!gpu.is_lost)
      node.gpus.push_back({gpu.address, printable_line(machine.gpus.model, 60), near(gpu.address, gpu.domain), 0});
  for (const DescribedNic& nic : machine.nics)
    if (!nic.address.empty())
      node.nics.push_back({nic.address, printable_line(nic.name.empty() ? nic.device : nic.name, 40),
                           near(nic.address, nic.domain), nic.rate});
  node.reserved = machine.reserved;
  node.vendor = machine.gpus.vendor;
  return node;
}

}  // namespace muster
