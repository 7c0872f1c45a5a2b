/// What a GPU runtime offers, in the terms that libcuda and libamdhip64 share: every function returns 0 or the vendor's
/// code, handles and addresses are pointers, a context is what makes a device the one of the calling thread. Filled in
/// folders of vendors; used by gpu.cpp alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/library.hpp"
#include "muster/result.hpp"

namespace muster {

/// A function and what its vendor calls it.
template <class... Args>
struct VendorCall {
  const char* name = "";
  int (*function)(Args...) = nullptr;

  /// False when the library lacks it; then its name goes to `missing`.
  bool fill(const Library& library, const char* symbol, std::vector<std::string>& missing) {
    name = symbol;
    if (library.fill(function, symbol)) return true;
    missing.emplace_back(symbol);
    return false;
  }
};

/// The vendor's numbers for what is asked of a device.
struct GpuAttributes {
  int multiprocessors = 0, clock = 0, memory_clock = 0, bus_width = 0, l2 = 0, major = 0, minor = 0, engines = 0;
};

struct GpuTable {
  std::string_view vendor;  ///< GpuVendor::name
  GpuAttributes attributes;
  unsigned pin_flags = 0;     ///< mapped, for all devices, placed by the caller's memory policy
  unsigned stream_flags = 0;  ///< not ordered with the default stream
  int peer_is_enabled = 704;  ///< its error code
  std::function<std::string(int code)> words;

  VendorCall<int*> count;
  VendorCall<int*, int> device;
  VendorCall<char*, int, int> name;
  VendorCall<void*, int> uuid;  ///< 16 bytes
  VendorCall<char*, int, int> bus_id;
  VendorCall<int*, int, int> attribute;
  VendorCall<std::size_t*, int> total_memory;
  VendorCall<void**, int> retain;
  VendorCall<int> release;
  VendorCall<void*> use;

  VendorCall<void**, std::size_t> allocate;
  VendorCall<void*> free;
  VendorCall<void**, std::size_t, unsigned> pin;
  VendorCall<void*> unpin;
  VendorCall<void**, void*, unsigned> pinned_address;
  VendorCall<std::size_t*, std::size_t*> memory_info;

  VendorCall<void*, const void*, std::size_t, void*> copy;
  VendorCall<void*, void*, const void*, void*, std::size_t, void*> peer_copy;
  VendorCall<void*, unsigned, std::size_t, void*> set32;
  VendorCall<int*, int, int> can_access;
  VendorCall<void*, unsigned> enable_peer;

  VendorCall<void**, unsigned> create_stream;
  VendorCall<void*> destroy_stream, synchronize, query;
  VendorCall<void*, void*, unsigned> wait_event;
  VendorCall<void**, unsigned> create_event;
  VendorCall<void*> destroy_event;
  VendorCall<void*, void*> record;
  VendorCall<float*, void*, void*> elapsed;

  VendorCall<void**, const void*> load_module;
  VendorCall<void*> unload_module;
  VendorCall<void**, void*, const char*> find_kernel;
  VendorCall<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**> launch;

  /// Where the kernels' code may come from, the best first; each is asked only when those before it did not load.
  /// The argument is the compute capability, 90 for 9.0.
  std::vector<std::function<Result<std::string>(int capability)>> images;
};

}  // namespace muster
