#include "device/inventory.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <tuple>
#include <utility>

namespace muster {

namespace {

struct NamedId {
  std::string_view id;
  std::string_view name;
};

// Names used where no driver has one; from the PCI ID Repository, pci-ids.ucw.cz.
constexpr std::array known_models = {
    NamedId{"10de:15f8", "Tesla P100-PCIE-16GB"},
    NamedId{"10de:1db1", "Tesla V100-SXM2-16GB"},
    NamedId{"10de:1db5", "Tesla V100-SXM2-32GB"},
    NamedId{"10de:1db8", "Tesla V100-SXM3-32GB"},
    NamedId{"10de:1eb8", "Tesla T4"},
    NamedId{"10de:20b0", "NVIDIA A100-SXM4-40GB"},
    NamedId{"10de:20b2", "NVIDIA A100-SXM4-80GB"},
    NamedId{"10de:20b5", "NVIDIA A100 80GB PCIe"},
    NamedId{"10de:20f1", "NVIDIA A100-PCIE-40GB"},
    NamedId{"10de:2330", "NVIDIA H100 80GB HBM3"},
    NamedId{"10de:2331", "NVIDIA H100 PCIe"},
    NamedId{"10de:2335", "NVIDIA H200"},
    NamedId{"10de:2342", "NVIDIA GH200 120GB"},
    NamedId{"10de:26b9", "NVIDIA L40S"},
    NamedId{"1002:66a1", "AMD Instinct MI50/MI60"},
    NamedId{"1002:738c", "AMD Instinct MI100"},
    NamedId{"1002:7408", "AMD Instinct MI250X"},
    NamedId{"1002:740c", "AMD Instinct MI250X/MI250"},
    NamedId{"1002:740f", "AMD Instinct MI210"},
    NamedId{"1002:74a0", "AMD Instinct MI300A"},
    NamedId{"1002:74a1", "AMD Instinct MI300X"},
    NamedId{"1002:74a5", "AMD Instinct MI325X"},
    NamedId{"15b3:1017", "ConnectX-5"},
    NamedId{"15b3:1019", "ConnectX-5 Ex"},
    NamedId{"15b3:101b", "ConnectX-6"},
    NamedId{"15b3:101d", "ConnectX-6 Dx"},
    NamedId{"15b3:1021", "ConnectX-7"},
    NamedId{"17db:0501", "Cassini 1 (Slingshot 200Gb)"},
};
constexpr std::array known_vendors = {
    NamedId{"10de", "nvidia"}, NamedId{"1002", "amd"},      NamedId{"8086", "intel"},
    NamedId{"15b3", "nvidia"}, NamedId{"14e4", "broadcom"}, NamedId{"17db", "hpe"},
};

template <std::size_t N>
std::string name_in(const std::array<NamedId, N>& list, std::string_view id) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const NamedId& one) { return one.id == id; });
  return std::string(found == list.end() ? id : found->name);
}

template <class List>
bool holds(const List& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
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
  constexpr std::array<std::string_view, 5> names = {"open", "missing", "denied", "root_only", "withheld"};
  return names[static_cast<std::size_t>(access)];
}

std::string_view to_string(DeviceKind kind) {
  constexpr std::array<std::string_view, 3> names = {"gpu", "nic", "part"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(LibraryState state) {
  constexpr std::array<std::string_view, 3> names = {"absent", "broken", "working"};
  return names[static_cast<std::size_t>(state)];
}

bool Device::is_seen_by(std::string_view source) const {
  return holds(sources, source);
}

std::string label_of(const Device& device) {
  if (device.kind == DeviceKind::gpu) return "GPU " + to_string(device.address);
  if (device.kind == DeviceKind::part) return fmt::format("part {} of GPU {}", device.part, to_string(device.address));
  if (device.ports.empty()) return "NIC " + to_string(device.address);
  const std::string& port = device.ports.front().name;
  return fmt::format("NIC {} ({})", port.substr(0, port.find('/')), to_string(device.address));
}

std::string vendor_of(const Device& device) {
  return name_in(known_vendors, device.vendor_id);
}

std::string model_of(const Device& device) {
  if (!device.name.empty()) return device.name;
  if (device.device_id.empty()) return "unknown model";
  return name_in(known_models, device.vendor_id + ":" + device.device_id);
}

bool Inventory::has_source(std::string_view source) const {
  return holds(sources, source);
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
