// A GPU's state from NVML: memory, its errors, temperature, power, clocks, modes, fabric, processes.
#include <algorithm>
#include <array>
#include <cstring>

#include "device/machine.hpp"
#include "device/nvidia/nvml.hpp"
#include "device/nvidia/nvml_session.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

struct Reason {
  std::uint64_t bit;
  std::string_view name;
};

constexpr std::array reasons = {
    Reason{0x1, "idle"},        Reason{0x2, "application_clocks"}, Reason{0x4, "power_cap"},
    Reason{0x8, "hw_slowdown"}, Reason{0x10, "sync_boost"},        Reason{0x20, "sw_thermal"},
    Reason{0x40, "hw_thermal"}, Reason{0x80, "power_brake"},       Reason{0x100, "display_clocks"},
};

}  // namespace

std::string throttle_names(std::uint64_t bits) {
  std::vector<std::string> names;
  for (const Reason& reason : reasons)
    if ((bits & reason.bit) != 0) names.emplace_back(reason.name);
  return join(names, ", ");
}

namespace nvml {

namespace {

void put(Device& device, const char* key, std::uint64_t value) {
  device.values[key] = std::to_string(value);
}

void put_yes(Device& device, const char* key, bool value) {
  device.values[key] = value ? "yes" : "no";
}

void read_ecc(const Session& session, Handle handle, Device& gpu) {
  const auto& at = session.at;
  std::uint32_t now = 0, pending = 0;
  if (session.ask(gpu, "nvmlDeviceGetEccMode", at.ecc_mode, handle, &now, &pending)) {
    gpu.values["ecc"] = now != 0 ? "on" : "off";
    if (now != pending) gpu.values["ecc_pending"] = pending != 0 ? "on" : "off";
  }
  // Errors since the driver was loaded (0, volatile): kind 0 was corrected, 1 was not; 7 is SRAM, 2 the device memory.
  constexpr int since_load = 0;
  for (const bool is_lasting : {false, true}) {
    const std::string kind = is_lasting ? "uncorrected" : "corrected";
    std::uint64_t count = 0;
    if (session.ask(gpu, "nvmlDeviceGetTotalEccErrors", at.ecc_total, handle, int{is_lasting}, since_load, &count))
      put(gpu, ("ecc_" + kind).c_str(), count);
    for (const auto& [place, name] : {std::pair(7, "sram_"), std::pair(2, "dram_")})
      if (session.ask(gpu, "nvmlDeviceGetMemoryErrorCounter", at.ecc_at, handle, int{is_lasting}, since_load, place,
                      &count))
        put(gpu, (name + kind).c_str(), count);
  }
}

void read_repairs(const Session& session, Handle handle, Device& gpu) {
  const auto& at = session.at;
  std::uint32_t corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (session.ask(gpu, "nvmlDeviceGetRemappedRows", at.remapped_rows, handle, &corrected, &uncorrected, &pending,
                  &failed)) {
    put(gpu, "remapped_rows_corrected", corrected);
    put(gpu, "remapped_rows_uncorrected", uncorrected);
    put_yes(gpu, "row_remap_pending", pending != 0);
    put_yes(gpu, "row_remap_failed", failed != 0);
  }
  // Cause 0 is many corrected errors, 1 one that was not.
  for (const auto& [cause, key] :
       {std::pair(0, "retired_pages_corrected"), std::pair(1, "retired_pages_uncorrected")}) {
    std::array<std::uint64_t, 512> pages{};
    auto count = static_cast<std::uint32_t>(pages.size());
    if (session.ask(gpu, "nvmlDeviceGetRetiredPages", at.retired_pages, handle, cause, &count, pages.data()))
      put(gpu, key, count);
  }
  if (session.ask(gpu, "nvmlDeviceGetRetiredPagesPendingStatus", at.retirement_pending, handle, &pending))
    put_yes(gpu, "page_retirement_pending", pending != 0);
}

void read_modes(const Session& session, Handle handle, Device& gpu) {
  const auto& at = session.at;
  std::uint32_t value = 0, pending = 0;
  if (session.ask(gpu, "nvmlDeviceGetPersistenceMode", at.persistence, handle, &value))
    gpu.values["persistence"] = value != 0 ? "on" : "off";
  constexpr std::array modes = {"default", "exclusive_thread", "prohibited", "exclusive_process"};
  if (session.ask(gpu, "nvmlDeviceGetComputeMode", at.compute_mode, handle, &value) && value < modes.size())
    gpu.values["compute_mode"] = modes[value];
  if (!session.ask(gpu, "nvmlDeviceGetMigMode", at.mig_mode, handle, &value, &pending)) return;
  gpu.values["mig"] = value != 0 ? "on" : "off";
  if (value != pending) gpu.values["mig_pending"] = pending != 0 ? "on" : "off";
}

/// Fields of two bits: 1 yes, 2 no, 0 unknown; then one of four bits, whose 1 means healthy.
void read_fabric_health(std::uint32_t health, Device& gpu) {
  constexpr std::array<std::pair<const char*, const char*>, 4> fields = {{{"fabric_bandwidth", "degraded"},
                                                                          {"fabric_recovery", "in_progress"},
                                                                          {"fabric_route", "unhealthy"},
                                                                          {"fabric_timeout", "in_recovery"}}};
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((health >> 2 * i & 3) == 1) gpu.values[fields[i].first] = fields[i].second;
  constexpr std::array configurations = {"",
                                         "",
                                         "wrong system GUID",
                                         "wrong chassis serial number",
                                         "no partition",
                                         "too few NVLinks",
                                         "firmware of the GPU that does not fit",
                                         "wrong place in the rack"};
  const std::uint32_t configuration = health >> 8 & 15;
  if (configuration > 1)
    gpu.values["fabric_configuration"] =
        configuration < configurations.size() ? configurations[configuration] : fmt::format("code {}", configuration);
}

/// Device files by which this job may import memory of other nodes of its NVLink domain; NVIDIA's IMEX service must run
/// for them. `none`, `closed`, `open`.
std::string imex_channels() {
  const Machine machine(root_of("/"));
  const std::string folder = "dev/nvidia-caps-imex-channels";
  const auto names = machine.names(folder);
  const auto is_open = [&](const std::string& name) { return machine.access(folder + "/" + name) == FileAccess::open; };
  if (names.empty()) return "none";
  return std::any_of(names.begin(), names.end(), is_open) ? "open" : "closed";
}

void read_fabric(const Session& session, Handle handle, Device& gpu) {
  FabricV2 reported{};
  reported.version = version_word<FabricV2>(2);
  if (!session.ask(gpu, "nvmlDeviceGetGpuFabricInfoV", session.at.fabric_v2, handle, &reported)) {
    Fabric old{};
    if (!session.ask(gpu, "nvmlDeviceGetGpuFabricInfo", session.at.fabric, handle, &old)) return;
    reported.state = old.state;
    reported.status = old.status;
    reported.health = 0;
    reported.clique = old.clique;
    std::copy(std::begin(old.cluster), std::end(old.cluster), std::begin(reported.cluster));
  }
  constexpr std::array states = {"", "not_started", "in_progress", "completed"};
  if (reported.state == 0 || reported.state >= states.size()) return;  // 0: this GPU has none
  gpu.values["fabric"] = states[reported.state];
  if (reported.state == 3)
    gpu.values["fabric_status"] = reported.status == 0 ? "success" : std::to_string(reported.status);
  read_fabric_health(reported.health, gpu);
  // A clique's number means something only inside of its cluster; no cluster: the links end in this node.
  std::string cluster;
  for (const unsigned char byte : reported.cluster) cluster += fmt::format("{:02x}", byte);
  if (reported.state == 3 && cluster.find_first_not_of('0') != cluster.npos)
    gpu.values["fabric_domain"] = fmt::format("{}/{}", cluster, reported.clique);
  if (gpu.values.count("fabric_domain") != 0) gpu.values["imex"] = imex_channels();
}

}  // namespace

void read_heat_and_clocks(const Session& session, Handle handle, Device& gpu) {
  const auto& at = session.at;
  std::uint32_t value = 0;
  if (session.ask(gpu, "nvmlDeviceGetTemperature", at.temperature, handle, 0, &value)) put(gpu, "temperature", value);
  if (session.ask(gpu, "nvmlDeviceGetTemperatureThreshold", at.temperature_limit, handle, 1, &value))
    put(gpu, "temperature_slowdown", value);
  if (session.ask(gpu, "nvmlDeviceGetPowerUsage", at.power, handle, &value))
    gpu.values["power"] = fmt::format("{:.2f}", value / 1000.0);
  if (session.ask(gpu, "nvmlDeviceGetEnforcedPowerLimit", at.power_limit, handle, &value))
    gpu.values["power_limit"] = fmt::format("{:.2f}", value / 1000.0);
  for (const auto& [kind, name] : {std::pair(1, "clock_sm"), std::pair(2, "clock_memory")}) {
    if (session.ask(gpu, "nvmlDeviceGetClockInfo", at.clock, handle, kind, &value)) put(gpu, name, value);
    if (session.ask(gpu, "nvmlDeviceGetMaxClockInfo", at.clock_able, handle, kind, &value))
      put(gpu, (std::string(name) + "_able").c_str(), value);
  }
  std::uint64_t bits = 0;
  if (session.ask(gpu, "nvmlDeviceGetCurrentClocksEventReasons", at.throttle_reasons, handle, &bits)) {
    const std::string names = throttle_names(bits);
    gpu.values["throttled_by"] = names.empty() ? "nothing" : names;
  }
}

std::string text_of(const Session& session, Device& device, std::string_view name, GetText* function, Handle handle) {
  char text[128] = {};
  if (!session.ask(device, name, function, handle, text, static_cast<std::uint32_t>(sizeof(text) - 1))) return {};
  return printable_line(trim(text), 100);
}

void read_memory(const Session& session, Handle handle, Device& device) {
  constexpr std::uint64_t mebi = 1u << 20;
  MemoryV2 reported{};
  reported.version = version_word<MemoryV2>(2);
  if (!session.ask(device, "nvmlDeviceGetMemoryInfo_v2", session.at.memory_v2, handle, &reported)) {
    Memory old{};
    if (!session.ask(device, "nvmlDeviceGetMemoryInfo", session.at.memory, handle, &old)) return;
    reported.total = old.total;
    reported.used = old.used;
  } else {
    put(device, "memory_reserved", reported.reserved / mebi);
  }
  put(device, "memory_total", reported.total / mebi);
  put(device, "memory_used", reported.used / mebi);
}

void read_health(const Session& session, Handle handle, Device& gpu) {
  read_ecc(session, handle, gpu);
  read_repairs(session, handle, gpu);
  read_link_errors(session, handle, gpu);
  read_heat_and_clocks(session, handle, gpu);
  read_modes(session, handle, gpu);
  read_fabric(session, handle, gpu);
}

}  // namespace nvml
}  // namespace muster
