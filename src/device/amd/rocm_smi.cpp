// ROCm SMI. Numbers of constants are the library's own, the same in releases 5 to 7.
#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/amd/libraries.hpp"
#include "device/amd/vendor_calls.hpp"

namespace muster {

namespace {

constexpr const char* words = "rsmi_status_string";
constexpr const char* source = "rocm_smi";

/// Not supported, no such file, no permission, not implemented, not found, no data: this GPU has no such sensor, or we
/// may not read it.
bool is_quiet(int status) {
  constexpr int quiet[] = {0, 2, 3, 4, 9, 10, 14, VendorCalls::lacks};
  return is_in(status, quiet);
}

constexpr std::uint32_t link_xgmi = 2;
constexpr std::uint32_t temperature_now = 0;
constexpr std::uint32_t memory_vram = 0;
constexpr std::uint64_t first_block = 1;
constexpr std::uint64_t last_block = 0x2000;

class RocmSmi {
 public:
  explicit RocmSmi(VendorCalls& calls) : calls_(calls) {}

  /// Release 5 ends the process where it is asked for a sensor of a GPU without hwmon, as in some containers.
  [[nodiscard]] VendorGpu read(std::uint32_t index, const PciAddress& address, bool has_sensors) {
    VendorGpu gpu;
    gpu.address = address;
    std::uint64_t number = 0;
    if (ask(gpu, "rsmi_dev_unique_id_get", index, &number) && number != 0) gpu.unique_id = fmt::format("{:#x}", number);
    std::uint32_t numa = 0;
    if (ask(gpu, "rsmi_topo_get_numa_node_number", index, &numa)) gpu.numa_node = static_cast<int>(numa);
    for (std::uint32_t sensor = 0; has_sensors && sensor < 3; ++sensor) {
      std::int64_t degrees = 0;
      if (ask(gpu, "rsmi_dev_temp_metric_get", index, sensor, temperature_now, &degrees))
        gpu.temperatures[sensor] = degrees;
    }
    if (has_sensors && ask(gpu, "rsmi_dev_power_ave_get", index, std::uint32_t{0}, &number))
      gpu.power = static_cast<double>(number) / 1e6;
    if (ask(gpu, "rsmi_dev_memory_total_get", index, memory_vram, &number)) gpu.memory_total = number;
    if (ask(gpu, "rsmi_dev_memory_usage_get", index, memory_vram, &number)) gpu.memory_used = number;
    read_errors(index, gpu);
    return gpu;
  }

  void read_links(std::uint32_t index, const std::vector<std::pair<std::uint32_t, PciAddress>>& places,
                  VendorGpu& gpu) {
    for (const auto& [other, address] : places) {
      if (address == gpu.address) continue;
      std::uint64_t hops = 0;
      std::uint32_t type = 0;
      if (ask(gpu, "rsmi_topo_get_link_type", index, other, &hops, &type) && type == link_xgmi)
        gpu.xgmi.push_back(address);
    }
  }

  template <class... Arguments>
  bool ask(VendorGpu& gpu, const char* name, Arguments... arguments) {
    const int status = calls_(name, arguments...);
    if (!is_quiet(status) && gpu.error.empty()) gpu.error = calls_.failure(name, status, words);
    return status == 0;
  }

 private:
  /// Corrected first, then uncorrected, in every release.
  void read_errors(std::uint32_t index, VendorGpu& gpu) {
    for (std::uint64_t block = first_block; block <= last_block; block <<= 1) {
      ReplyBuffer counts{};
      if (ask(gpu, "rsmi_dev_ecc_count_get", index, block, counts.data()))
        gpu.uncorrected = gpu.uncorrected.value_or(0) + counts[1];
    }
  }
  VendorCalls& calls_;
};

std::string version_of(VendorCalls& calls) {
  ReplyBuffer room{};
  if (calls("rsmi_version_get", room.data()) != 0) return {};
  return fmt::format("{}.{}.{}", room[0] & 0xffffffff, room[0] >> 32, room[1] & 0xffffffff);
}

/// Those with a known place, by their number in the library. Bits 28 to 31 are a part's number.
std::vector<std::pair<std::uint32_t, PciAddress>> places_of(VendorCalls& calls, std::uint32_t count,
                                                            const Inventory& inventory) {
  std::vector<std::pair<std::uint32_t, PciAddress>> places;
  for (std::uint32_t index = 0; index < count; ++index) {
    std::uint64_t id = 0;
    if (calls("rsmi_dev_pci_id_get", index, &id) != 0) continue;
    places.push_back(
        {index, whole_at(inventory, {static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id >> 8 & 0xff),
                                     static_cast<std::uint32_t>(id >> 3 & 0x1f), static_cast<std::uint32_t>(id & 7)})});
  }
  return places;
}

/// The kernel shows some, and what it shows goes before the library's.
bool has_sensors(const Inventory& inventory, const PciAddress& address) {
  const Device* gpu = inventory.gpu_at(address);
  if (gpu == nullptr) return false;
  return std::any_of(gpu->values.begin(), gpu->values.end(), [](const auto& value) {
    return value.first.starts_with("temperature_") || value.first == "power";
  });
}

void read_gpus(VendorCalls& calls, LibraryReport& report, Inventory& inventory) {
  if (const int status = calls("rsmi_init", std::uint64_t{0}); status != 0) {
    calls.give_up("rsmi_init", status, words);
    return;
  }
  report.version = version_of(calls);
  std::uint32_t count = 0;
  if (const int status = calls("rsmi_num_monitor_devices", &count); status != 0) {
    calls.give_up("rsmi_num_monitor_devices", status, words);
  } else {
    const auto places = places_of(calls, std::min(count, 4096u), inventory);
    RocmSmi library(calls);
    std::vector<VendorGpu> gpus;
    for (const auto& [index, address] : places) {
      calls.turn_to(address, inventory);
      gpus.push_back(library.read(index, address, has_sensors(inventory, address)));
      library.read_links(index, places, gpus.back());
    }
    join(gpus, source, inventory);
    if (!report.version.empty()) inventory.versions[source] = report.version;
  }
  calls.turn_away();
  calls("rsmi_shut_down");
}

}  // namespace

void add_rocm_smi(Inventory& inventory, const CallWatch& watch) {
  const Library library = watch("dlopen librocm_smi64.so", [] {
    return Library::open({"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1"});
  });
  LibraryReport report = report_of(library);
  VendorCalls calls(library, watch, report);
  if (library.is_open()) read_gpus(calls, report, inventory);
  inventory.libraries.push_back(std::move(report));
}

}  // namespace muster
