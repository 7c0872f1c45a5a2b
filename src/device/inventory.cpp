#include "device/inventory.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <span>
#include <tuple>
#include <utility>

#include "base/lists.hpp"
#include "base/names.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

// Of network devices, used where no driver has a name; from the PCI ID Repository, pci-ids.ucw.cz. Vendors of GPUs have
// theirs in their folders.
constexpr std::array known_models = {
    NamedId{"15b3:1017", "ConnectX-5"}, NamedId{"15b3:1019", "ConnectX-5 Ex"},
    NamedId{"15b3:101b", "ConnectX-6"}, NamedId{"15b3:101d", "ConnectX-6 Dx"},
    NamedId{"15b3:1021", "ConnectX-7"}, NamedId{"17db:0501", "Cassini 1 (Slingshot 200Gb)"},
};
constexpr std::array known_vendors = {NamedId{"14e4", "broadcom"}, NamedId{"17db", "hpe"}};

std::string_view name_in(std::span<const NamedId> list, std::string_view id) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const NamedId& one) { return one.id == id; });
  return found == list.end() ? std::string_view() : found->name;
}

Device& seen_in(std::vector<Device>& devices, Device wanted, std::string_view source) {
  const auto before = [](const Device& a, const Device& b) {
    return std::tie(a.kind, a.address, a.part) < std::tie(b.kind, b.address, b.part);
  };
  auto at = std::lower_bound(devices.begin(), devices.end(), wanted, before);
  if (at == devices.end() || before(wanted, *at)) at = devices.insert(at, std::move(wanted));
  if (!at->is_seen_by(source)) at->sources.emplace_back(source);
  return *at;
}

}  // namespace

std::string_view to_string(FileAccess access) {
  constexpr std::string_view names[] = {"open", "missing", "denied", "root_only", "withheld"};
  return enum_name(names, access);
}

std::string_view to_string(DeviceKind kind) {
  constexpr std::string_view names[] = {"gpu", "nic", "part"};
  return enum_name(names, kind);
}

std::string_view to_string(LibraryState state) {
  constexpr std::string_view names[] = {"absent", "broken", "working"};
  return enum_name(names, state);
}

bool Device::is_seen_by(std::string_view source) const {
  return is_in(source, sources);
}

std::string label_of(const Device& device) {
  if (device.kind == DeviceKind::gpu) return "GPU " + to_string(device.address);
  if (device.kind == DeviceKind::part) return fmt::format("part {} of GPU {}", device.part, to_string(device.address));
  if (device.ports.empty()) return "NIC " + to_string(device.address);
  const std::string& port = device.ports.front().name;
  return fmt::format("NIC {} ({})", port.substr(0, port.find('/')), to_string(device.address));
}

std::string vendor_of(const Device& device) {
  for (const GpuVendor* vendor : gpu_vendors())
    if (is_in(device.vendor_id, vendor->pci_vendors)) return std::string(vendor->name);
  const std::string_view name = name_in(known_vendors, device.vendor_id);
  return name.empty() ? device.vendor_id : std::string(name);
}

std::string model_of(const Device& device) {
  if (!device.name.empty()) return device.name;
  if (device.device_id.empty()) return "unknown model";
  const std::string id = device.vendor_id + ":" + device.device_id;
  std::string_view name = name_in(known_models, id);
  for (const GpuVendor* vendor : gpu_vendors())
    if (name.empty()) name = name_in(vendor->pci_models, id);
  return name.empty() ? id : std::string(name);
}

bool Inventory::has_source(std::string_view source) const {
  return is_in(source, sources);
}

void Inventory::add_source(std::string_view source) {
  if (!has_source(source)) sources.emplace_back(source);
}

Device& Inventory::seen(DeviceKind kind, const PciAddress& address, std::string_view source) {
  Device wanted;
  wanted.kind = kind;
  wanted.address = address;
  return seen_in(devices, std::move(wanted), source);
}

Device& Inventory::seen_part(const PciAddress& address, int number, std::string_view source) {
  Device wanted;
  wanted.kind = DeviceKind::part;
  wanted.address = address;
  wanted.part = number;
  return seen_in(devices, std::move(wanted), source);
}

const Device* Inventory::gpu_at(const PciAddress& address) const {
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const Device& device) {
    return device.kind == DeviceKind::gpu && device.address == address;
  });
  return found == devices.end() ? nullptr : &*found;
}

int Inventory::count_gpus() const {
  return static_cast<int>(std::count_if(devices.begin(), devices.end(),
                                        [](const Device& device) { return device.kind == DeviceKind::gpu; }));
}

Device* Inventory::gpu_at(const PciAddress& address) {
  return const_cast<Device*>(std::as_const(*this).gpu_at(address));
}

}  // namespace muster
