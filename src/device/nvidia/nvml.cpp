#include "device/nvidia/nvml.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "device/library.hpp"
#include "device/nvidia/nvml_session.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace nvml {

// On a simulated machine only with stand-ins: otherwise NVML is not queried, and not missing.
bool is_to_be_asked(const Inventory& inventory) {
  const bool has_gpu = std::any_of(inventory.devices.begin(), inventory.devices.end(), [](const Device& device) {
    return device.kind == DeviceKind::gpu && device.vendor_id == "10de";
  });
  if (!has_gpu && !inventory.has_source("nvidia") && inventory.versions.count("nvidia") == 0) return false;
  return this_machine().simulated.empty() || std::getenv(env_drivers) != nullptr;
}

PciAddress address_of(const nvml::PciInfo& pci) {
  return {pci.domain, pci.bus, pci.device, 0};
}

void read_link(const Session& session, Handle handle, Device& gpu) {
  const auto& at = session.at;
  std::uint32_t width = 0, able = 0, generation = 0, generation_able = 0;
  session.ask(gpu, "nvmlDeviceGetCurrPcieLinkWidth", at.link_width, handle, &width);
  session.ask(gpu, "nvmlDeviceGetMaxPcieLinkWidth", at.link_width_able, handle, &able);
  session.ask(gpu, "nvmlDeviceGetCurrPcieLinkGeneration", at.link_generation, handle, &generation);
  session.ask(gpu, "nvmlDeviceGetMaxPcieLinkGeneration", at.link_generation_able, handle, &generation_able);
  const auto put = [&](const char* key, std::uint32_t value) {
    if (value != 0) gpu.values[key] = std::to_string(value);
  };
  put("pcie_width", width);
  put("pcie_width_able", able);
  put("pcie_generation", generation);
  put("pcie_generation_able", generation_able);
}

}  // namespace nvml

namespace {

using nvml::Code;
using nvml::Handle;
using nvml::Session;

bool is_same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

void read_identity(const Session& session, Handle handle, const nvml::PciInfo& pci, Device& gpu) {
  const auto& at = session.at;
  if (gpu.vendor_id.empty()) gpu.vendor_id = fmt::format("{:04x}", pci.ids & 0xffff);
  if (gpu.device_id.empty() && pci.ids >> 16 != 0) gpu.device_id = fmt::format("{:04x}", pci.ids >> 16);
  const std::string name = text_of(session, gpu, "nvmlDeviceGetName", at.name, handle);
  const std::string uuid = text_of(session, gpu, "nvmlDeviceGetUUID", at.uuid, handle);
  const std::string vbios = text_of(session, gpu, "nvmlDeviceGetVbiosVersion", at.vbios, handle);
  const std::string serial = text_of(session, gpu, "nvmlDeviceGetSerial", at.serial, handle);
  if (gpu.name.empty()) gpu.name = name;
  if (gpu.firmware.empty()) gpu.firmware = vbios;
  if (gpu.uuid.empty()) gpu.uuid = uuid;
  if (!uuid.empty() && !is_same(gpu.uuid, uuid)) gpu.values["nvml_uuid"] = uuid;
  // Boards without one report zero.
  if (serial.find_first_not_of('0') != std::string::npos) gpu.values["serial"] = serial;
}

enum class Depth { links, all };

void read_gpu(const Session& session, Handle handle, std::uint32_t index, Depth depth, Inventory& inventory) {
  nvml::PciInfo pci{};
  if (const Code code = session.call("nvmlDeviceGetPciInfo_v3", session.at.pci, handle, &pci); code != 0) {
    LibraryReport& report = inventory.libraries.back();
    if (report.error.empty()) report.error = session.words("nvmlDeviceGetPciInfo_v3", code);
    report.code = code;
    return;
  }
  Device& gpu = inventory.seen(DeviceKind::gpu, nvml::address_of(pci), "nvml");
  gpu.values["nvml_index"] = std::to_string(index);
  session.turn_to(gpu);
  read_identity(session, handle, pci, gpu);
  session.turn_to(gpu);  // by its UUID, too
  read_link(session, handle, gpu);
  if (depth == Depth::links) return read_nvlinks(session, handle, gpu);
  read_memory(session, handle, gpu);
  read_health(session, handle, gpu);
  read_nvlinks(session, handle, gpu);
  read_processes(session, handle, gpu);
  read_parts(session, handle, nvml::address_of(pci), inventory);
}

/// Of GPUs that have no handle the index alone is known; by their address the library reports the reason, one by one.
void ask_the_others(const Session& session, Inventory& inventory) {
  for (Device& gpu : inventory.devices) {
    if (gpu.kind != DeviceKind::gpu || gpu.vendor_id != "10de" || gpu.driver != "nvidia" || gpu.is_seen_by("nvml"))
      continue;
    Handle handle = nullptr;
    const std::string address = to_string(gpu.address);
    session.turn_to(gpu);
    const Code code = session.call("nvmlDeviceGetHandleByPciBusId", session.at.by_bus_id, address.c_str(), &handle);
    if (code == 0) continue;
    gpu.values["nvml_error"] = session.words("nvmlDeviceGetHandleByPciBusId", code);
    gpu.values["nvml_code"] = std::to_string(code);
  }
}

void read_versions(const Session& session, Inventory& inventory) {
  char text[96] = {};
  const auto read = [&](const char* call, auto* function) -> std::string {
    if (session.call(call, function, text, static_cast<std::uint32_t>(sizeof(text) - 1)) != 0) return {};
    return printable_line(text, 60);
  };
  const std::string driver = read("nvmlSystemGetDriverVersion", session.at.driver_version);
  const std::string library = read("nvmlSystemGetNVMLVersion", session.at.nvml_version);
  if (!driver.empty()) inventory.versions.try_emplace("nvidia", driver);
  if (!library.empty()) inventory.versions["nvml"] = library;
  inventory.libraries.back().version = library;
  int cuda = 0;
  if (session.call("nvmlSystemGetCudaDriverVersion", session.at.cuda_version, &cuda) == 0 && cuda > 0)
    inventory.versions["cuda_driver"] = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
}

void read_gpus(const Session& session, Depth depth, Inventory& inventory) {
  read_versions(session, inventory);
  inventory.add_source("nvml");
  std::uint32_t count = 0;
  const auto refuse = [&](const std::string& call, Code code) {
    LibraryReport& report = inventory.libraries.back();
    if (!report.error.empty()) return;
    report.code = code;
    report.error = session.words(call, code);
  };
  if (const Code code = session.call("nvmlDeviceGetCount_v2", session.at.count, &count); code != 0) {
    inventory.libraries.back().state = LibraryState::broken;
    return refuse("nvmlDeviceGetCount_v2", code);
  }
  // A larger count is corrupt data: nodes have at most 16.
  for (std::uint32_t index = 0; index < std::min(count, 256u); ++index) {
    Handle handle = nullptr;
    const std::string call = "nvmlDeviceGetHandleByIndex_v2";
    session.turn_away();
    if (const Code code = session.call(call, session.at.by_index, index, &handle); code == 0)
      read_gpu(session, handle, index, depth, inventory);
    else if (code != nvml::no_permission)  // another job's
      refuse(call, code);
  }
  ask_the_others(session, inventory);
}

void add(Inventory& inventory, Depth depth, const CallWatch& watch) {
  if (!nvml::is_to_be_asked(inventory)) return;
  const Library library = watch("dlopen libnvidia-ml.so.1", [] { return Library::open({"libnvidia-ml.so.1"}); });
  LibraryReport report;
  report.name = library.name();
  report.file = library.file();
  report.error = library.error();
  report.state = library.is_absent() ? LibraryState::absent : LibraryState::broken;
  nvml::Functions functions;
  if (library.is_open()) functions = nvml::functions_of(library, report.missing);
  if (library.is_open() && !nvml::can_be_asked(functions))
    report.error = fmt::format("it lacks functions that all drivers have ({}); it is {}", human_list(report.missing),
                               library.file());
  const Session session(functions, watch);
  if (report.error.empty() && library.is_open()) {
    report.code = session.call("nvmlInit_v2", functions.init);
    if (report.code != 0) report.error = session.words("nvmlInit_v2", report.code);
  }
  const bool is_working = library.is_open() && report.error.empty();
  if (is_working) report.state = LibraryState::working;
  inventory.libraries.push_back(std::move(report));
  if (!is_working) return;
  read_gpus(session, depth, inventory);
  session.turn_away();
  session.call("nvmlShutdown", functions.shutdown);
}

}  // namespace

void add_nvml(Inventory& inventory, const CallWatch& watch) {
  add(inventory, Depth::all, watch);
}

void add_nvml_links(Inventory& inventory, const CallWatch& watch) {
  add(inventory, Depth::links, watch);
}

}  // namespace muster
