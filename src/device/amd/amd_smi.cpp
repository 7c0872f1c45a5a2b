// AMD SMI. Numbers of constants are the library's own, the same in releases 23 to 27.
#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/amd/libraries.hpp"
#include "device/amd/vendor_calls.hpp"

namespace muster {

namespace {

constexpr const char* words = "amdsmi_status_code_to_string";
constexpr const char* source = "amd_smi";
using Handle = void*;

/// Not supported, not implemented, no permission, no such file, not found, no data, setting unavailable.
bool is_quiet(int status) {
  constexpr int quiet[] = {0, 2, 3, 10, 14, 31, 40, 52, 55, VendorCalls::lacks};
  return is_in(status, quiet);
}

constexpr std::uint64_t for_gpus = 2;
constexpr std::uint32_t processor_gpu = 1;
constexpr std::uint32_t link_xgmi = 2;
constexpr std::uint32_t temperature_now = 0;
constexpr std::uint32_t memory_vram = 0;

struct Place {
  Handle handle = nullptr;
  PciAddress address;
};

class AmdSmi {
 public:
  AmdSmi(VendorCalls& calls, const std::vector<Place>& places) : calls_(calls), places_(places) {}

  [[nodiscard]] VendorGpu read(const Place& place) {
    VendorGpu gpu;
    gpu.address = place.address;
    std::uint32_t numa = 0;
    if (ask(gpu, "amdsmi_topo_get_numa_node_number", place.handle, &numa) && numa < 4096)
      gpu.numa_node = static_cast<int>(numa);
    for (std::uint32_t sensor = 0; sensor < 3; ++sensor) {
      std::int64_t degrees = 0;
      if (ask(gpu, "amdsmi_get_temp_metric", place.handle, sensor, temperature_now, &degrees))
        gpu.temperatures[sensor] = degrees;
    }
    std::uint64_t number = 0;
    if (ask(gpu, "amdsmi_get_gpu_memory_total", place.handle, memory_vram, &number)) gpu.memory_total = number;
    if (ask(gpu, "amdsmi_get_gpu_memory_usage", place.handle, memory_vram, &number)) gpu.memory_used = number;
    // Corrected first, then uncorrected, in every release.
    ReplyBuffer counts{};
    if (ask(gpu, "amdsmi_get_gpu_total_ecc_count", place.handle, counts.data())) gpu.uncorrected = counts[1];
    read_links(place, gpu);
    return gpu;
  }

 private:
  template <class... Arguments>
  bool ask(VendorGpu& gpu, const char* name, Arguments... arguments) {
    const int status = calls_(name, arguments...);
    if (!is_quiet(status) && gpu.error.empty()) gpu.error = calls_.failure(name, status, words);
    return status == 0;
  }

  void read_links(const Place& place, VendorGpu& gpu) {
    for (const Place& other : places_) {
      if (other.address == place.address) continue;
      std::uint64_t hops = 0;
      std::uint32_t type = 0;
      if (ask(gpu, "amdsmi_topo_get_link_type", place.handle, other.handle, &hops, &type) && type == link_xgmi)
        gpu.xgmi.push_back(other.address);
    }
  }

  VendorCalls& calls_;
  const std::vector<Place>& places_;
};

/// A list in two calls: how long it is, then what is in it. Empty with `status` where that fails.
template <class... Arguments>
std::vector<Handle> handles_of(VendorCalls& calls, int& status, const char* name, Arguments... arguments) {
  std::uint32_t count = 0;
  status = calls(name, arguments..., &count, static_cast<Handle*>(nullptr));
  std::vector<Handle> handles(status == 0 ? std::min(count, 4096u) : 0);
  if (handles.empty()) return handles;
  count = static_cast<std::uint32_t>(handles.size());
  status = calls(name, arguments..., &count, handles.data());
  handles.resize(status == 0 ? std::min<std::size_t>(count, handles.size()) : 0);
  return handles;
}

std::optional<Place> place_of(VendorCalls& calls, Handle handle) {
  std::uint32_t type = processor_gpu;
  if (calls("amdsmi_get_processor_type", handle, &type) == 0 && type != processor_gpu) return std::nullopt;
  std::uint64_t id = 0;
  if (calls("amdsmi_get_gpu_device_bdf", handle, &id) != 0) return std::nullopt;
  return Place{handle, PciAddress{static_cast<std::uint32_t>(id >> 16), static_cast<std::uint32_t>(id >> 8 & 0xff),
                                  static_cast<std::uint32_t>(id >> 3 & 0x1f), static_cast<std::uint32_t>(id & 7)}};
}

/// Year, major, minor, release.
std::string version_of(VendorCalls& calls) {
  ReplyBuffer room{};
  if (calls("amdsmi_get_lib_version", room.data()) != 0) return {};
  return fmt::format("{}.{}.{}", room[0] & 0xffffffff, room[0] >> 32, room[1] & 0xffffffff);
}

void read_gpus(VendorCalls& calls, LibraryReport& report, Inventory& inventory) {
  constexpr const char* sockets = "amdsmi_get_socket_handles";
  int status = calls("amdsmi_init", for_gpus);
  if (status != 0) {
    calls.give_up("amdsmi_init", status, words);
    return;
  }
  report.version = version_of(calls);
  std::vector<Place> places;
  const auto all = handles_of(calls, status, sockets);
  if (status != 0) {
    calls.give_up(sockets, status, words);
  } else {
    for (Handle socket : all)
      for (Handle one : handles_of(calls, status, "amdsmi_get_processor_handles", socket))
        if (const auto place = place_of(calls, one))
          places.push_back({place->handle, whole_at(inventory, place->address)});
    AmdSmi library(calls, places);
    std::vector<VendorGpu> gpus;
    for (const Place& place : places) {
      calls.turn_to(place.address, inventory);
      gpus.push_back(library.read(place));
    }
    join(gpus, source, inventory);
    if (!report.version.empty()) inventory.versions[source] = report.version;
  }
  calls.turn_away();
  calls("amdsmi_shut_down");
}

}  // namespace

void add_amd_smi(Inventory& inventory, const CallWatch& watch) {
  const Library library = watch("dlopen libamd_smi.so", [] {
    return Library::open(
        {"libamd_smi.so.27", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "libamd_smi.so"});
  });
  LibraryReport report = report_of(library);
  VendorCalls calls(library, watch, report);
  if (library.is_open()) read_gpus(calls, report, inventory);
  inventory.libraries.push_back(std::move(report));
}

}  // namespace muster
