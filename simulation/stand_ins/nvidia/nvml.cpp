// Stands in for NVIDIA's management library: reports the devices on the sheet as a healthy driver would, except for
// its lines. Keys of `set` are the names of values in docs/methods/device_visibility.md; further ones:
//   count (of all), uuid, address, nvlinks, nvlinks_down "3 7", nvlinks_without_state "3", nvlink_rate (MB/s),
//   nvlink_to "ADDRESS ADDRESS...", throttle_bits (number), fabric_state, fabric_code, fabric_health, fabric_clique,
//   fabric_cluster (32 digits), processes "PID:MIB ..." (PID self: the caller), mig_profiles "3g.40gb 1g.10gb" or "-",
//   mig_uuids, mig_instances (numbers of GPU instances), mig_memory "TOTAL:USED
//   ..." (MiB), pcie_replays; nvlink_replays, nvlink_recoveries, nvlink_crc_flit, nvlink_crc_data, and of drivers with
//   NVLink 5 nvlink_failed_recoveries, nvlink_symbol_errors, nvlink_effective_errors, nvlink_fec_corrected,
//   nvlink_symbol_ber (mantissa x 256 + exponent): each of link 0
// `later GPU KEY VALUE after N` gives another value from the N+1st question on; `xid GPU CODE [after N]` an event at
// the N+1st look for one. A value `none`: this GPU has no such thing. With OLD_DRIVER it has only what drivers of 2018
// had.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

#include "sheet.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using fake::entered;
using fake::Sheet;
using fake::SheetDevice;
using Handle = void*;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

constexpr int invalid = 2, not_supported = 3, not_found = 6, too_small = 7, lost = 15, unknown = 999;

/// The handle of GPU n is n + 1, of its instance m that and m + 1 in the upper half.
int gpu_of(Handle handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle) & 0xffff) - 1;
}
int part_of(Handle handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle) >> 16) - 1;
}
Handle handle_of(int gpu, int part = -1) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(gpu + 1) | static_cast<std::uintptr_t>(part + 1) << 16);
}

const SheetDevice& device_at(Handle handle) {
  return Sheet::here().devices[static_cast<std::size_t>(gpu_of(handle))];
}

/// Of this GPU, else of all, else the fallback.
std::string value(Handle handle, std::string_view key, const std::string& fallback) {
  return fake::later_value(gpu_of(handle), key, device_at(handle).text(key, Sheet::here().text(key, fallback)));
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

/// The code of `call` for this GPU: that of a line, else that it is lost, else well.
int begin(const char* call, Handle handle) {
  if (gpu_of(handle) < 0 || gpu_of(handle) >= static_cast<int>(Sheet::here().devices.size())) return invalid;
  if (const int code = entered(call, gpu_of(handle)); code != 0) return code;
  return device_at(handle).is_lost ? lost : 0;
}

int put_number(const char* call, Handle handle, const char* key, double fallback, U32* to, double scale = 1) {
  if (const int code = begin(call, handle); code != 0) return code;
  const std::string text = value(handle, key, std::to_string(fallback));
  if (text == "none") return not_supported;
  *to = static_cast<U32>(std::lround(std::strtod(text.c_str(), nullptr) * scale));
  return 0;
}

int put_text(const std::string& text, char* to, U32 length) {
  if (text.size() + 1 > length) return too_small;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

bool is_model(const char* part) {
  return Sheet::here().model.find(part) != std::string::npos;
}

bool is_on(Handle handle, const char* key, const char* fallback) {
  const std::string text = value(handle, key, fallback);
  return text == "on" || text == "yes";
}

int put_on(const char* call, Handle handle, const char* key, const char* fallback, U32* to, U32* pending = nullptr) {
  if (const int code = begin(call, handle); code != 0) return code;
  if (value(handle, key, fallback) == "none") return not_supported;
  *to = is_on(handle, key, fallback);
  if (pending != nullptr) *pending = is_on(handle, (std::string(key) + "_pending").c_str(), *to != 0 ? "on" : "off");
  return 0;
}

struct Pci {
  char legacy[16];
  U32 domain, bus, device, ids, subsystem;
  char text[32];
};

void put_pci(const std::string& address, U32 ids, Pci* to) {
  unsigned domain = 0, bus = 0, device = 0;
  std::sscanf(address.c_str(), "%x:%x:%x", &domain, &bus, &device);
  std::memset(to, 0, sizeof(*to));
  to->domain = domain;
  to->bus = bus;
  to->device = device;
  to->ids = ids;
  std::snprintf(to->legacy, sizeof(to->legacy), "%04X:%02X:%02X.0", domain & 0xffff, bus & 0xff, device & 0xff);
  std::snprintf(to->text, sizeof(to->text), "%08X:%02X:%02X.0", domain, bus, device);
}

U32 ids_of_sheet() {
  const std::string& id = Sheet::here().id;  // 10de:2330
  return static_cast<U32>(std::strtoul(id.substr(5).c_str(), nullptr, 16) << 16 |
                          std::strtoul(id.substr(0, 4).c_str(), nullptr, 16));
}

/// Links as the boards have them: to switches, to every other GPU alike, over a bridge, or none.
int link_count(Handle handle) {
  int count = 0;
  if (is_model("HBM3") || is_model("H200")) count = 18;
  if (is_model("H100 NVL") || is_model("A100-SXM4")) count = 12;
  if (is_model("GH200")) count = 0;
  return std::atoi(value(handle, "nvlinks", std::to_string(count)).c_str());
}

std::string link_remote(Handle handle, int link) {
  std::vector<std::string> ends = words(value(handle, "nvlink_to", ""));
  if (ends.empty() && link_count(handle) == 18) ends = {"0000:05:00.0", "0000:06:00.0", "0000:07:00.0", "0000:08:00.0"};
  if (ends.empty())
    for (const SheetDevice& other : Sheet::here().devices)
      if (other.address != device_at(handle).address) ends.push_back(other.address);
  return ends.empty() ? std::string() : ends[static_cast<std::size_t>(link) % ends.size()];
}

bool is_link_up(Handle handle, int link) {
  for (const std::string& down : words(value(handle, "nvlinks_down", "")))
    if (down == "all" || std::atoi(down.c_str()) == link) return false;
  return !link_remote(handle, link).empty();
}

std::vector<std::string> profiles(Handle handle) {
  if (!is_on(handle, "mig", "off")) return {};
  auto list = words(value(handle, "mig_profiles", "3g.40gb 2g.20gb 1g.10gb 1g.10gb"));
  if (list.size() == 1 && list[0] == "-") list.clear();
  return list;
}

std::string entry(Handle handle, const char* key, int index, const std::string& fallback) {
  const auto list = words(value(handle, key, ""));
  return static_cast<std::size_t>(index) < list.size() ? list[static_cast<std::size_t>(index)] : fallback;
}

/// `3g.40gb`: slices and gigabytes.
void sizes_of(const std::string& profile, U32& slices, U64& gigabytes) {
  unsigned a = 0, b = 0;
  std::sscanf(profile.c_str(), "%ug.%ugb", &a, &b);
  slices = a;
  gigabytes = b;
}

void memory_of(Handle handle, U64& total, U64& used) {
  constexpr U64 mebi = 1u << 20;
  if (const int part = part_of(handle); part >= 0) {
    U32 slices = 0;
    U64 gigabytes = 0;
    sizes_of(profiles(handle)[static_cast<std::size_t>(part)], slices, gigabytes);
    unsigned long long a = gigabytes * 1024, b = 10;
    std::sscanf(entry(handle, "mig_memory", part, "").c_str(), "%llu:%llu", &a, &b);
    total = a * mebi;
    used = b * mebi;
    return;
  }
  total = Sheet::here().memory;
  const std::string reported = value(handle, "memory_total", "");
  if (!reported.empty()) total = std::strtoull(reported.c_str(), nullptr, 10) * mebi;
  used = std::strtoull(value(handle, "memory_used", "60").c_str(), nullptr, 10) * mebi;
}

int put_count(const char* call, Handle handle, const std::string& key, U64* to) {
  if (const int code = begin(call, handle); code != 0) return code;
  const std::string text = value(handle, key, "0");
  if (text == "none") return not_supported;
  *to = std::strtoull(text.c_str(), nullptr, 10);
  return 0;
}

/// Each process 16 bytes, or 24 with its instance. The room is counted in processes.
int put_processes(const char* call, Handle handle, U32* count, void* to, std::size_t size) {
  if (const int code = begin(call, handle); code != 0) return code;
  const auto list = words(value(handle, "processes", ""));
  const U32 room = *count;
  *count = static_cast<U32>(list.size());
  if (list.size() > room) return too_small;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_own = list[i].rfind("self:", 0) == 0;
    auto pid = static_cast<unsigned>(::getpid());
    unsigned long long mebibytes = 0;
    if (is_own)
      std::sscanf(list[i].c_str(), "self:%llu", &mebibytes);
    else
      std::sscanf(list[i].c_str(), "%u:%llu", &pid, &mebibytes);
    const U32 number = pid;
    const U64 bytes = mebibytes << 20;
    auto* at = static_cast<unsigned char*>(to) + i * size;
    std::memset(at, 0, size);
    std::memcpy(at, &number, sizeof(number));
    std::memcpy(at + 8, &bytes, sizeof(bytes));
    if (size > 16) std::memset(at + 16, 0xff, 8);
  }
  return 0;
}

int give_handle(const char* call, int index, Handle* to) {
  if (index < 0 || index >= static_cast<int>(Sheet::here().devices.size())) return invalid;
  if (const int code = entered(call, index); code != 0) return code;
  if (Sheet::here().devices[static_cast<std::size_t>(index)].is_lost) return lost;
  *to = handle_of(index);
  return 0;
}

std::set<int>& registered() {
  static std::set<int> gpus;
  return gpus;
}

struct Event {
  Handle device;
  unsigned long long kind, data;
  U32 gpu_instance, compute_instance;
};

/// The events of lines `xid GPU CODE [after N]`, each once.
int next_event(Event* to) {
  constexpr int timeout = 10;
  static int looks = 0;
  static std::set<std::size_t> given;
  ++looks;
  const auto& lines = Sheet::here().lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& line = lines[i].words;
    if (line.size() < 3 || line[0] != "xid" || given.count(i) != 0) continue;
    const int gpu = std::atoi(line[1].c_str());
    if (registered().count(gpu) == 0 || (line.size() == 5 && looks <= std::atoi(line[4].c_str()))) continue;
    given.insert(i);
    *to = {handle_of(gpu), 0x8, static_cast<unsigned long long>(std::atoi(line[2].c_str())), 0, 0};
    return 0;
  }
  return timeout;
}

int count_of_sheet(U32* to) {
  *to = static_cast<U32>(std::atoi(Sheet::here().text("count", std::to_string(Sheet::here().devices.size())).c_str()));
  return 0;
}

}  // namespace

EXPORT const char* nvmlErrorString(int code) {
  static const std::map<int, const char*> known = {
      {0, "Success"},
      {1, "Uninitialized"},
      {2, "Invalid Argument"},
      {3, "Not Supported"},
      {4, "Insufficient Permissions"},
      {6, "Not Found"},
      {8, "Insufficient External Power"},
      {9, "Driver Not Loaded"},
      {10, "Timeout"},
      {12, "NVML Shared Library Not Found"},
      {14, "Corrupted infoROM"},
      {15, "GPU is lost"},
      {16, "GPU requires reset"},
      {17, "The operating system has blocked the request"},
      {18, "Driver/library version mismatch"},
      {20, "Insufficient Memory"},
      {999, "Unknown Error"},
  };
  const auto found = known.find(code);
  return found == known.end() ? "Unknown Error" : found->second;
}

EXPORT int nvmlShutdown() {
  return entered("nvmlShutdown");
}

EXPORT int nvmlSystemGetDriverVersion(char* to, U32 length) {
  if (const int code = entered("nvmlSystemGetDriverVersion"); code != 0) return code;
  return put_text(Sheet::here().driver_version, to, length);
}

EXPORT int nvmlSystemGetNVMLVersion(char* to, U32 length) {
  if (const int code = entered("nvmlSystemGetNVMLVersion"); code != 0) return code;
  return put_text("12." + Sheet::here().driver_version, to, length);
}

EXPORT int nvmlDeviceGetName(Handle handle, char* to, U32 length) {
  if (const int code = begin("nvmlDeviceGetName", handle); code != 0) return code;
  const std::string suffix =
      part_of(handle) < 0 ? "" : " MIG " + profiles(handle)[static_cast<std::size_t>(part_of(handle))];
  return put_text(value(handle, "name", Sheet::here().model) + suffix, to, length);
}

EXPORT int nvmlDeviceGetUUID(Handle handle, char* to, U32 length) {
  if (const int code = begin("nvmlDeviceGetUUID", handle); code != 0) return code;
  const std::string whole = device_at(handle).text("uuid", device_at(handle).uuid);
  if (part_of(handle) < 0) return put_text(whole, to, length);
  return put_text(
      entry(handle, "mig_uuids", part_of(handle), "MIG-" + std::to_string(part_of(handle)) + whole.substr(4)), to,
      length);
}

EXPORT int nvmlDeviceGetSerial(Handle handle, char* to, U32 length) {
  if (const int code = begin("nvmlDeviceGetSerial", handle); code != 0) return code;
  return put_text(value(handle, "serial", "16505220" + std::to_string(10000 + gpu_of(handle))), to, length);
}

EXPORT int nvmlDeviceGetVbiosVersion(Handle handle, char* to, U32 length) {
  if (const int code = begin("nvmlDeviceGetVbiosVersion", handle); code != 0) return code;
  return put_text(value(handle, "firmware", Sheet::here().firmware), to, length);
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(Handle handle, U32* to) {
  return put_number("nvmlDeviceGetCurrPcieLinkWidth", handle, "pcie_width", device_at(handle).lanes, to);
}
EXPORT int nvmlDeviceGetMaxPcieLinkWidth(Handle handle, U32* to) {
  return put_number("nvmlDeviceGetMaxPcieLinkWidth", handle, "pcie_width_able", 16, to);
}
EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(Handle handle, U32* to) {
  return put_number("nvmlDeviceGetCurrPcieLinkGeneration", handle, "pcie_generation", is_model("A100") ? 4 : 5, to);
}
EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(Handle handle, U32* to) {
  return put_number("nvmlDeviceGetMaxPcieLinkGeneration", handle, "pcie_generation_able", is_model("A100") ? 4 : 5, to);
}

EXPORT int nvmlDeviceGetMemoryInfo(Handle handle, U64* to) {
  if (const int code = begin("nvmlDeviceGetMemoryInfo", handle); code != 0) return code;
  memory_of(handle, to[0], to[2]);
  to[1] = to[0] - to[2];
  return 0;
}

EXPORT int nvmlDeviceGetTemperature(Handle handle, int, U32* to) {
  return put_number("nvmlDeviceGetTemperature", handle, "temperature", 35, to);
}
EXPORT int nvmlDeviceGetTemperatureThreshold(Handle handle, int kind, U32* to) {
  if (kind != 1) return not_supported;
  return put_number("nvmlDeviceGetTemperatureThreshold", handle, "temperature_slowdown", 89, to);
}
EXPORT int nvmlDeviceGetPowerUsage(Handle handle, U32* to) {
  return put_number("nvmlDeviceGetPowerUsage", handle, "power", 70, to, 1000);
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(Handle handle, U32* to) {
  return put_number("nvmlDeviceGetEnforcedPowerLimit", handle, "power_limit", 700, to, 1000);
}
EXPORT int nvmlDeviceGetClockInfo(Handle handle, int kind, U32* to) {
  return put_number("nvmlDeviceGetClockInfo", handle, kind == 2 ? "clock_memory" : "clock_sm", kind == 2 ? 2619 : 345,
                    to);
}
EXPORT int nvmlDeviceGetMaxClockInfo(Handle handle, int kind, U32* to) {
  return put_number("nvmlDeviceGetMaxClockInfo", handle, kind == 2 ? "clock_memory_able" : "clock_sm_able",
                    kind == 2 ? 2619 : 1980, to);
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(Handle handle, U64* to) {
  if (const int code = begin("nvmlDeviceGetCurrentClocksThrottleReasons", handle); code != 0) return code;
  *to = std::strtoull(value(handle, "throttle_bits", "1").c_str(), nullptr, 0);
  return 0;
}
EXPORT int nvmlDeviceGetEccMode(Handle handle, U32* to, U32* pending) {
  return put_on("nvmlDeviceGetEccMode", handle, "ecc", "on", to, pending);
}
EXPORT int nvmlDeviceGetTotalEccErrors(Handle handle, int kind, int since, U64* to) {
  if (since != 0) return invalid;
  return put_count("nvmlDeviceGetTotalEccErrors", handle, kind == 0 ? "ecc_corrected" : "ecc_uncorrected", to);
}
EXPORT int nvmlDeviceGetMemoryErrorCounter(Handle handle, int kind, int since, int place, U64* to) {
  if (since != 0 || (place != 7 && place != 2)) return not_supported;
  return put_count("nvmlDeviceGetMemoryErrorCounter", handle,
                   std::string(place == 7 ? "sram_" : "dram_") + (kind == 0 ? "corrected" : "uncorrected"), to);
}
EXPORT int nvmlDeviceGetPersistenceMode(Handle handle, U32* to) {
  return put_on("nvmlDeviceGetPersistenceMode", handle, "persistence", "on", to);
}
EXPORT int nvmlDeviceGetComputeMode(Handle handle, U32* to) {
  if (const int code = begin("nvmlDeviceGetComputeMode", handle); code != 0) return code;
  const std::string mode = value(handle, "compute_mode", "default");
  *to = mode == "prohibited" ? 2 : mode == "exclusive_process" ? 3 : 0;
  return 0;
}
EXPORT int nvmlDeviceGetRetiredPages(Handle handle, int cause, U32* count, U64*) {
  return put_number("nvmlDeviceGetRetiredPages", handle,
                    cause == 0 ? "retired_pages_corrected" : "retired_pages_uncorrected", 0, count);
}
EXPORT int nvmlDeviceGetRetiredPagesPendingStatus(Handle handle, U32* to) {
  return put_on("nvmlDeviceGetRetiredPagesPendingStatus", handle, "page_retirement_pending", "no", to);
}
EXPORT int nvmlDeviceGetNvLinkState(Handle handle, U32 link, U32* to) {
  if (const int code = begin("nvmlDeviceGetNvLinkState", handle); code != 0) return code;
  if (is_on(handle, "mig", "off") || link_count(handle) == 0) return not_supported;
  if (static_cast<int>(link) >= link_count(handle)) return invalid;
  for (const std::string& failing : words(value(handle, "nvlinks_without_state", "")))
    if (std::atoi(failing.c_str()) == static_cast<int>(link)) return unknown;
  *to = is_link_up(handle, static_cast<int>(link));
  return 0;
}
EXPORT int nvmlDeviceGetPcieReplayCounter(Handle handle, U32* to) {
  return put_number("nvmlDeviceGetPcieReplayCounter", handle, "pcie_replays", 0, to);
}
EXPORT int nvmlDeviceGetNvLinkErrorCounter(Handle handle, U32 link, int kind, U64* to) {
  static const char* keys[] = {"nvlink_replays", "nvlink_recoveries", "nvlink_crc_flit", "nvlink_crc_data"};
  if (kind < 0 || kind > 3) return invalid;
  *to = 0;
  if (link != 0) return begin("nvmlDeviceGetNvLinkErrorCounter", handle);
  return put_count("nvmlDeviceGetNvLinkErrorCounter", handle, keys[kind], to);
}
EXPORT int nvmlEventSetCreate(Handle* to) {
  if (const int code = entered("nvmlEventSetCreate"); code != 0) return code;
  *to = reinterpret_cast<Handle>(std::uintptr_t{1});
  return 0;
}
EXPORT int nvmlEventSetFree(Handle) {
  return entered("nvmlEventSetFree");
}
EXPORT int nvmlDeviceRegisterEvents(Handle handle, unsigned long long, Handle) {
  if (const int code = begin("nvmlDeviceRegisterEvents", handle); code != 0) return code;
  registered().insert(gpu_of(handle));
  return 0;
}
EXPORT int nvmlDeviceGetNvLinkVersion(Handle handle, U32, U32* to) {
  return put_number("nvmlDeviceGetNvLinkVersion", handle, "nvlink_version", is_model("A100") ? 3 : 4, to);
}

#ifdef OLD_DRIVER

EXPORT int nvmlInit() {
  return entered("nvmlInit");
}
EXPORT int nvmlDeviceGetCount(U32* to) {
  const int code = entered("nvmlDeviceGetCount");
  return code != 0 ? code : count_of_sheet(to);
}
EXPORT int nvmlDeviceGetHandleByIndex(U32 index, Handle* to) {
  return give_handle("nvmlDeviceGetHandleByIndex", static_cast<int>(index), to);
}
EXPORT int nvmlEventSetWait(Handle, Event* to, U32) {
  const int code = entered("nvmlEventSetWait");
  return code != 0 ? code : next_event(to);
}
EXPORT int nvmlDeviceGetPciInfo(Handle handle, Pci* to) {
  if (const int code = begin("nvmlDeviceGetPciInfo", handle); code != 0) return code;
  Pci reported;
  put_pci(device_at(handle).text("address", device_at(handle).address), ids_of_sheet(), &reported);
  std::memcpy(to, &reported, 36);
  return 0;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses(Handle handle, U32* count, void* to) {
  return put_processes("nvmlDeviceGetComputeRunningProcesses", handle, count, to, 16);
}

#else

EXPORT int nvmlInit_v2() {
  return entered("nvmlInit_v2");
}
EXPORT int nvmlEventSetWait_v2(Handle, Event* to, U32) {
  const int code = entered("nvmlEventSetWait_v2");
  return code != 0 ? code : next_event(to);
}
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* to) {
  if (const int code = entered("nvmlSystemGetCudaDriverVersion_v2"); code != 0) return code;
  *to = 12040;
  return 0;
}
EXPORT int nvmlDeviceGetCount_v2(U32* to) {
  const int code = entered("nvmlDeviceGetCount_v2");
  return code != 0 ? code : count_of_sheet(to);
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(U32 index, Handle* to) {
  return give_handle("nvmlDeviceGetHandleByIndex_v2", static_cast<int>(index), to);
}
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* address, Handle* to) {
  for (std::size_t i = 0; i < Sheet::here().devices.size(); ++i) {
    const SheetDevice& device = Sheet::here().devices[i];
    if (device.text("address", device.address) != address) continue;
    // What has no handle by its number has none by its address.
    if (const int code = give_handle("nvmlDeviceGetHandleByIndex_v2", static_cast<int>(i), to); code != 0) return code;
    return give_handle("nvmlDeviceGetHandleByPciBusId_v2", static_cast<int>(i), to);
  }
  return not_found;
}
EXPORT int nvmlDeviceGetPciInfo_v3(Handle handle, Pci* to) {
  if (const int code = begin("nvmlDeviceGetPciInfo_v3", handle); code != 0) return code;
  put_pci(device_at(handle).text("address", device_at(handle).address), ids_of_sheet(), to);
  return 0;
}
EXPORT int nvmlDeviceGetMemoryInfo_v2(Handle handle, void* to) {
  if (const int code = begin("nvmlDeviceGetMemoryInfo_v2", handle); code != 0) return code;
  struct Reply {
    U32 version;
    U64 total, reserved, free, used;
  }* reported = static_cast<Reply*>(to);
  if (reported->version != (40u | 2u << 24)) return 25;
  memory_of(handle, reported->total, reported->used);
  reported->reserved = std::strtoull(value(handle, "memory_reserved", "480").c_str(), nullptr, 10) << 20;
  reported->free = reported->total - reported->used;
  return 0;
}
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(Handle handle, U64* to) {
  if (const int code = entered("nvmlDeviceGetCurrentClocksEventReasons", gpu_of(handle)); code != 0) return code;
  return nvmlDeviceGetCurrentClocksThrottleReasons(handle, to);
}
EXPORT int nvmlDeviceGetRemappedRows(Handle handle, U32* corrected, U32* uncorrected, U32* pending, U32* failed) {
  if (const int code = begin("nvmlDeviceGetRemappedRows", handle); code != 0) return code;
  if (value(handle, "remapped_rows_corrected", "0") == "none") return not_supported;
  *corrected = static_cast<U32>(std::atoi(value(handle, "remapped_rows_corrected", "0").c_str()));
  *uncorrected = static_cast<U32>(std::atoi(value(handle, "remapped_rows_uncorrected", "0").c_str()));
  *pending = is_on(handle, "row_remap_pending", "no");
  *failed = is_on(handle, "row_remap_failed", "no");
  return 0;
}
EXPORT int nvmlDeviceGetMigMode(Handle handle, U32* to, U32* pending) {
  return put_on("nvmlDeviceGetMigMode", handle, "mig", is_model("T4") || is_model("L40") ? "none" : "off", to, pending);
}
EXPORT int nvmlDeviceGetMaxMigDeviceCount(Handle handle, U32* to) {
  return put_number("nvmlDeviceGetMaxMigDeviceCount", handle, "mig_most", 7, to);
}
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, U32 index, Handle* to) {
  if (const int code = begin("nvmlDeviceGetMigDeviceHandleByIndex", handle); code != 0) return code;
  if (index >= profiles(handle).size()) return not_found;
  *to = handle_of(gpu_of(handle), static_cast<int>(index));
  return 0;
}
EXPORT int nvmlDeviceGetGpuInstanceId(Handle handle, U32* to) {
  if (const int code = begin("nvmlDeviceGetGpuInstanceId", handle); code != 0) return code;
  if (part_of(handle) < 0) return not_supported;
  *to = static_cast<U32>(
      std::atoi(entry(handle, "mig_instances", part_of(handle), std::to_string(part_of(handle) + 1)).c_str()));
  return 0;
}
EXPORT int nvmlDeviceGetComputeInstanceId(Handle handle, U32* to) {
  if (const int code = begin("nvmlDeviceGetComputeInstanceId", handle); code != 0) return code;
  *to = 0;
  return part_of(handle) < 0 ? not_supported : 0;
}
EXPORT int nvmlDeviceGetAttributes_v2(Handle handle, void* to) {
  if (const int code = begin("nvmlDeviceGetAttributes_v2", handle); code != 0) return code;
  if (part_of(handle) < 0) return not_supported;
  struct Reply {
    U32 numbers[8];
    U64 mebibytes;
  }* reported = static_cast<Reply*>(to);
  U64 gigabytes = 0;
  U64 used = 0;
  sizes_of(profiles(handle)[static_cast<std::size_t>(part_of(handle))], reported->numbers[6], gigabytes);
  reported->numbers[7] = reported->numbers[6];
  reported->numbers[0] = 16 * reported->numbers[6];
  memory_of(handle, reported->mebibytes, used);
  reported->mebibytes >>= 20;
  return 0;
}
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle handle, U32 link, Pci* to) {
  if (const int code = begin("nvmlDeviceGetNvLinkRemotePciInfo_v2", handle); code != 0) return code;
  put_pci(link_remote(handle, static_cast<int>(link)), 0, to);
  return 0;
}
EXPORT int nvmlDeviceGetFieldValues(Handle handle, int count, void* to) {
  if (const int code = begin("nvmlDeviceGetFieldValues", handle); code != 0) return code;
  struct Reply {
    U32 id, scope;
    std::int64_t at, latency;
    std::int32_t type, code;
    U64 value;
  }* reported = static_cast<Reply*>(to);
  static const std::map<U32, const char*> counters = {{214, "nvlink_failed_recoveries"},
                                                      {219, "nvlink_effective_errors"},
                                                      {221, "nvlink_symbol_errors"},
                                                      {222, "nvlink_symbol_ber"},
                                                      {236, "nvlink_fec_corrected"}};
  for (int i = 0; i < count; ++i) {
    if (const auto counter = counters.find(reported[i].id); counter != counters.end()) {
      const std::string text = reported[i].scope == 0 ? value(handle, counter->second, "none") : "none";
      reported[i].code = text == "none" ? not_supported : 0;
      reported[i].type = 3;
      reported[i].value = std::strtoull(text.c_str(), nullptr, 10);
      continue;
    }
    const bool is_speed = reported[i].id == 164 || reported[i].id == 90;
    reported[i].code = is_speed ? 0 : not_supported;
    reported[i].type = 1;
    reported[i].value =
        static_cast<U64>(std::atoi(value(handle, "nvlink_rate", is_model("A100") ? "25000" : "26562").c_str()));
  }
  return 0;
}
EXPORT int nvmlDeviceGetGpuFabricInfoV(Handle handle, void* to) {
  if (const int code = begin("nvmlDeviceGetGpuFabricInfoV", handle); code != 0) return code;
  struct Reply {
    U32 version;
    unsigned char cluster[16];
    std::int32_t status;
    U32 clique;
    unsigned char state;
    U32 health;
  }* reported = static_cast<Reply*>(to);
  if (reported->version != (36u | 2u << 24)) return 25;
  const std::string state = value(handle, "fabric_state", link_count(handle) == 18 ? "3" : "none");
  if (state == "none") return not_supported;
  reported->state = static_cast<unsigned char>(std::atoi(state.c_str()));
  reported->status = std::atoi(value(handle, "fabric_code", "0").c_str());
  reported->health = static_cast<U32>(std::strtoul(value(handle, "fabric_health", "2").c_str(), nullptr, 0));
  reported->clique = static_cast<U32>(std::atoi(value(handle, "fabric_clique", "0").c_str()));
  const std::string cluster = value(handle, "fabric_cluster", "");
  for (std::size_t i = 0; i < 16; ++i)
    reported->cluster[i] = static_cast<unsigned char>(
        2 * i + 1 < cluster.size() ? std::strtoul(cluster.substr(2 * i, 2).c_str(), nullptr, 16) : 0);
  return 0;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, U32* count, void* to) {
  return put_processes("nvmlDeviceGetComputeRunningProcesses_v3", handle, count, to, 24);
}

#endif
