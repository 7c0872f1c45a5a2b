#include "device/amd/vendor_calls.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

std::string in_text(const std::vector<PciAddress>& addresses) {
  std::vector<std::string> texts;
  for (const PciAddress& address : addresses) texts.push_back(to_string(address));
  return join(texts, " ");
}

/// The kernel's word goes first: a library has it from there.
void fill(Device& device, const std::string& key, const std::string& value) {
  device.values.emplace(key, value);
}

/// Releases differ in whether they give degrees or thousandths of one.
double degrees(std::int64_t reported) {
  return reported > 1000 ? static_cast<double>(reported) / 1000 : static_cast<double>(reported);
}

void add_sensors(const VendorGpu& gpu, Device& device) {
  constexpr const char* places[] = {"temperature_edge", "temperature_junction", "temperature_memory"};
  for (std::size_t i = 0; i < 3; ++i)
    if (gpu.temperatures[i] > 0) fill(device, places[i], fmt::format("{:g}", degrees(gpu.temperatures[i])));
  if (gpu.power > 0) fill(device, "power", fmt::format("{:g}", gpu.power));
  if (gpu.memory_total > 0) fill(device, "memory_total", std::to_string(gpu.memory_total >> 20));
  if (gpu.memory_used > 0) fill(device, "memory_used", std::to_string(gpu.memory_used >> 20));
}

void add_reported(const VendorGpu& gpu, const std::string& source, Device& device) {
  if (device.vendor_id.empty()) device.vendor_id = "1002";
  add_sensors(gpu, device);
  if (!gpu.unique_id.empty()) device.values[source + "_unique_id"] = gpu.unique_id;
  if (gpu.numa_node >= 0) device.values[source + "_numa"] = std::to_string(gpu.numa_node);
  if (gpu.uncorrected) device.values[source + "_uncorrected"] = std::to_string(*gpu.uncorrected);
  if (!gpu.error.empty()) device.values[source + "_error"] = gpu.error;
  if (!gpu.xgmi.empty()) device.values[source + "_xgmi"] = in_text(gpu.xgmi);
}

}  // namespace

void VendorCalls::turn_to(const PciAddress& address, const Inventory& inventory) const {
  std::string label = "GPU " + to_string(address);
  for (const Device& device : inventory.devices) {
    if (device.kind != DeviceKind::gpu || device.address != address) continue;
    // KFD has it in decimal; as HIP and the vendor's tools write it.
    if (const auto id = std::strtoull(device.uuid.c_str(), nullptr, 10); id != 0)
      label += fmt::format(" (GPU-{:016x})", id);
  }
  watch_.device(label);
}

std::string VendorCalls::failure(const char* name, int status, const char* words) {
  if (status == lacks) return fmt::format("it has no {}", name);
  const char* text = nullptr;
  std::string message;
  if ((*this)(words, status, &text) == 0 && text != nullptr) message = ": " + printable_line(text, 200);
  return fmt::format("{} returned {}{}", name, status, message);
}

void VendorCalls::give_up(const char* name, int status, const char* words) {
  report_.state = LibraryState::broken;
  report_.code = status == lacks ? 0 : status;
  report_.error = failure(name, status, words);
}

void VendorCalls::note_missing(const char* name) {
  auto& missing = report_.missing;
  if (!is_in(name, missing)) missing.emplace_back(name);
}

LibraryReport report_of(const Library& library) {
  LibraryReport report;
  report.name = library.name();
  report.file = library.file();
  report.error = library.error();
  report.state = library.is_open()     ? LibraryState::working
                 : library.is_absent() ? LibraryState::absent
                                       : LibraryState::broken;
  return report;
}

PciAddress whole_at(const Inventory& inventory, const PciAddress& address) {
  const auto gpu_at = [&](const PciAddress& place) {
    const auto found = std::find_if(inventory.devices.begin(), inventory.devices.end(), [&](const Device& device) {
      return device.kind == DeviceKind::gpu && device.address == place;
    });
    return found == inventory.devices.end() ? nullptr : &*found;
  };
  if (address.function == 0 || gpu_at(address) != nullptr) return address;
  const PciAddress whole{address.domain, address.bus, address.device, 0};
  const Device* gpu = gpu_at(whole);
  return gpu != nullptr && gpu->partitions > 1 ? whole : address;
}

void join(const std::vector<VendorGpu>& gpus, const std::string& source, Inventory& inventory) {
  inventory.add_source(source);
  for (const VendorGpu& gpu : gpus) {
    Device& device = inventory.seen(DeviceKind::gpu, gpu.address, source);
    // Of several parts of one GPU the first speaks for it.
    if (device.values.count(source + "_devices") == 0) add_reported(gpu, source, device);
    auto& count = device.values[source + "_devices"];
    count = std::to_string(count.empty() ? 1 : std::stoi(count) + 1);
  }
}

}  // namespace muster
