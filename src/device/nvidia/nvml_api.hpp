/// NVIDIA's management library as far as it is asked: its functions, by the names that the file exports, and the few
/// types that cross the border. Our own declarations of a published binary interface.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/library.hpp"

namespace muster::nvml {

using Code = int;  ///< 0: well
using Handle = void*;

inline constexpr Code invalid_argument = 2;
inline constexpr Code not_supported = 3;
inline constexpr Code no_permission = 4;
inline constexpr Code driver_not_loaded = 9;
inline constexpr Code gpu_is_lost = 15;
inline constexpr Code version_mismatch = 18;

/// The same up to `device` in all versions of the function; the rest only from _v2 on.
struct PciInfo {
  char legacy[16];
  std::uint32_t domain, bus, device, ids, subsystem;
  char text[32];
  char spare[64];  ///< not of the interface: room for what later ones may add
};

struct Memory {
  std::uint64_t total, free, used;
};
struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;
};

struct MigAttributes {
  std::uint32_t multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, instance_slices, compute_slices;
  std::uint64_t memory_mib;
};

struct Fabric {
  unsigned char cluster[16];
  Code status;
  std::uint32_t clique;
  unsigned char state;
};
struct FabricV2 {
  std::uint32_t version;
  unsigned char cluster[16];
  Code status;
  std::uint32_t clique;
  unsigned char state;
  std::uint32_t health;
};

struct Field {
  std::uint32_t id, scope;
  std::int64_t at, latency;
  std::int32_t type;  ///< 0 double, 1 and 2 unsigned, 3 and 4 longer ones
  Code code;
  union {
    double real;
    std::uint32_t number;
    std::uint64_t longer;
  } value;
};

/// What an event set gives: an XID is of kind `xid_event`, its number the data.
struct Event {
  Handle device;
  unsigned long long kind, data;
  std::uint32_t gpu_instance, compute_instance;
};
/// More than any GPU has (NVML_NVLINK_MAX_LINKS: 18).
inline constexpr std::uint32_t most_links = 36;
inline constexpr unsigned long long xid_event = 0x8;

/// Versioned structures have their size and version in their first word.
template <class T>
constexpr std::uint32_t version_word(std::uint32_t version) {
  return static_cast<std::uint32_t>(sizeof(T)) | version << 24;
}

using GetNumber = Code(Handle, std::uint32_t*);
using GetText = Code(Handle, char*, std::uint32_t);

/// nullptr: the library has no such function, as older ones do not.
struct Functions {
  Code (*init)() = nullptr;
  Code (*shutdown)() = nullptr;
  const char* (*error_string)(Code) = nullptr;
  Code (*driver_version)(char*, std::uint32_t) = nullptr;
  Code (*nvml_version)(char*, std::uint32_t) = nullptr;
  Code (*cuda_version)(int*) = nullptr;
  Code (*count)(std::uint32_t*) = nullptr;
  Code (*by_index)(std::uint32_t, Handle*) = nullptr;
  Code (*by_bus_id)(const char*, Handle*) = nullptr;
  GetText *name = nullptr, *uuid = nullptr, *serial = nullptr, *vbios = nullptr;
  Code (*pci)(Handle, PciInfo*) = nullptr;
  GetNumber *link_generation = nullptr, *link_width = nullptr, *link_generation_able = nullptr,
            *link_width_able = nullptr;
  Code (*memory)(Handle, Memory*) = nullptr;
  Code (*memory_v2)(Handle, MemoryV2*) = nullptr;
  Code (*temperature)(Handle, int, std::uint32_t*) = nullptr;
  Code (*temperature_limit)(Handle, int, std::uint32_t*) = nullptr;
  GetNumber *power = nullptr, *power_limit = nullptr;
  Code (*clock)(Handle, int, std::uint32_t*) = nullptr;
  Code (*clock_able)(Handle, int, std::uint32_t*) = nullptr;
  Code (*throttle_reasons)(Handle, std::uint64_t*) = nullptr;
  Code (*ecc_mode)(Handle, std::uint32_t*, std::uint32_t*) = nullptr;
  Code (*ecc_total)(Handle, int, int, std::uint64_t*) = nullptr;
  Code (*ecc_at)(Handle, int, int, int, std::uint64_t*) = nullptr;
  Code (*remapped_rows)(Handle, std::uint32_t*, std::uint32_t*, std::uint32_t*, std::uint32_t*) = nullptr;
  Code (*retired_pages)(Handle, int, std::uint32_t*, std::uint64_t*) = nullptr;
  GetNumber* retirement_pending = nullptr;
  GetNumber *persistence = nullptr, *compute_mode = nullptr;
  Code (*mig_mode)(Handle, std::uint32_t*, std::uint32_t*) = nullptr;
  GetNumber* mig_most = nullptr;
  Code (*mig_by_index)(Handle, std::uint32_t, Handle*) = nullptr;
  GetNumber *gpu_instance = nullptr, *compute_instance = nullptr;
  Code (*mig_attributes)(Handle, MigAttributes*) = nullptr;
  Code (*link_state)(Handle, std::uint32_t, std::uint32_t*) = nullptr;
  Code (*link_version)(Handle, std::uint32_t, std::uint32_t*) = nullptr;
  Code (*link_remote)(Handle, std::uint32_t, PciInfo*) = nullptr;
  Code (*fields)(Handle, int, Field*) = nullptr;
  Code (*fabric)(Handle, Fabric*) = nullptr;
  Code (*fabric_v2)(Handle, FabricV2*) = nullptr;
  Code (*processes)(Handle, std::uint32_t*, void*) = nullptr;
  GetNumber* pcie_replays = nullptr;
  Code (*link_errors)(Handle, std::uint32_t, int, std::uint64_t*) = nullptr;
  Code (*create_events)(Handle*) = nullptr;
  Code (*register_events)(Handle, unsigned long long, Handle) = nullptr;
  Code (*wait_for_event)(Handle, Event*, std::uint32_t) = nullptr;
  Code (*free_events)(Handle) = nullptr;
  bool are_processes_short = false;  ///< the oldest form: 16 bytes each
};

/// What `library` has of them, by the first of a function's names that it has. What it lacks is named in `missing`, but
/// for functions that only some drivers have.
[[nodiscard]] Functions functions_of(const Library& library, std::vector<std::string>& missing);

/// It has the few without which nothing can be asked.
[[nodiscard]] bool can_be_asked(const Functions& functions);

}  // namespace muster::nvml
