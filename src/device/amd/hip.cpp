#include "device/amd/hip.hpp"

#include <cstdint>
#include <fmt/format.h>

#include "base/text.hpp"
#include "device/gpu_runtime.hpp"
#include "device/runtime_compiler.hpp"

namespace muster {

namespace {

// HIP knows a device by its number where CUDA has a context: the number stands for it.
void* context_of(int device) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(device) + 1);
}
int device_of(void* context) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
}

/// Functions whose form differs from CUDA's; a process has one libamdhip64.
struct Differing {
  int (*set_device)(int) = nullptr;
  int (*copy)(void*, const void*, std::size_t, int, void*) = nullptr;
  int (*peer_copy)(void*, int, const void*, int, std::size_t, void*) = nullptr;
  int (*enable_peer)(int, unsigned) = nullptr;
} hip;

int use(void* context) {
  return hip.set_device(device_of(context));
}
int retain(void** context, int device) {
  *context = context_of(device);
  return 0;
}
int release(int) {
  return 0;
}
int copy(void* to, const void* from, std::size_t bytes, void* stream) {
  constexpr int by_address = 4;
  return hip.copy(to, from, bytes, by_address, stream);
}
int peer_copy(void* to, void* to_context, const void* from, void* from_context, std::size_t bytes, void* stream) {
  return hip.peer_copy(to, device_of(to_context), from, device_of(from_context), bytes, stream);
}
int enable_peer(void* context, unsigned flags) {
  return hip.enable_peer(device_of(context), flags);
}

template <class Function, class Call>
bool adapt(const Library& library, Function*& function, Call& call, const char* symbol, decltype(call.function) own,
           std::vector<std::string>& missing) {
  call.name = symbol;
  call.function = own;
  if (library.fill(function, symbol)) return true;
  missing.emplace_back(symbol);
  return false;
}

bool fill_devices(const Library& library, GpuTable& table, std::vector<std::string>& missing) {
  table.retain = {"hipSetDevice", retain};
  table.release = {"hipSetDevice", release};
  bool all = table.count.fill(library, "hipGetDeviceCount", missing);
  all &= table.device.fill(library, "hipDeviceGet", missing);
  all &= table.name.fill(library, "hipDeviceGetName", missing);
  all &= table.uuid.fill(library, "hipDeviceGetUuid", missing);
  all &= table.bus_id.fill(library, "hipDeviceGetPCIBusId", missing);
  all &= table.attribute.fill(library, "hipDeviceGetAttribute", missing);
  all &= table.total_memory.fill(library, "hipDeviceTotalMem", missing);
  all &= table.can_access.fill(library, "hipDeviceCanAccessPeer", missing);
  all &= adapt(library, hip.set_device, table.use, "hipSetDevice", use, missing);
  return all & adapt(library, hip.enable_peer, table.enable_peer, "hipDeviceEnablePeerAccess", enable_peer, missing);
}

bool fill_memory(const Library& library, GpuTable& table, std::vector<std::string>& missing) {
  bool all = table.allocate.fill(library, "hipMalloc", missing);
  all &= table.free.fill(library, "hipFree", missing);
  all &= table.pin.fill(library, "hipHostMalloc", missing);
  all &= table.unpin.fill(library, "hipHostFree", missing);
  all &= table.pinned_address.fill(library, "hipHostGetDevicePointer", missing);
  all &= table.memory_info.fill(library, "hipMemGetInfo", missing);
  all &= table.set32.fill(library, "hipMemsetD32Async", missing);
  all &= adapt(library, hip.copy, table.copy, "hipMemcpyAsync", copy, missing);
  return all & adapt(library, hip.peer_copy, table.peer_copy, "hipMemcpyPeerAsync", peer_copy, missing);
}

bool fill_streams(const Library& library, GpuTable& table, std::vector<std::string>& missing) {
  bool all = table.create_stream.fill(library, "hipStreamCreateWithFlags", missing);
  all &= table.destroy_stream.fill(library, "hipStreamDestroy", missing);
  all &= table.synchronize.fill(library, "hipStreamSynchronize", missing);
  all &= table.query.fill(library, "hipStreamQuery", missing);
  all &= table.wait_event.fill(library, "hipStreamWaitEvent", missing);
  all &= table.create_event.fill(library, "hipEventCreateWithFlags", missing);
  all &= table.destroy_event.fill(library, "hipEventDestroy", missing);
  all &= table.record.fill(library, "hipEventRecord", missing);
  all &= table.elapsed.fill(library, "hipEventElapsedTime", missing);
  all &= table.load_module.fill(library, "hipModuleLoadData", missing);
  all &= table.unload_module.fill(library, "hipModuleUnload", missing);
  all &= table.find_kernel.fill(library, "hipModuleGetFunction", missing);
  return all & table.launch.fill(library, "hipModuleLaunchKernel", missing);
}

bool fill_all(const Library& library, GpuTable& table, std::vector<std::string>& missing) {
  bool all = fill_devices(library, table, missing);
  all &= fill_memory(library, table, missing);
  return all & fill_streams(library, table, missing);
}

void fill_constants(const Library& library, GpuTable& table) {
  table.vendor = "amd";
  // As ROCm 5 and later count them; hipGetDeviceProperties is avoided, its layout changed under one name.
  table.attributes = {63, 5, 60, 59, 19, 23, 61, 2};
  table.pin_flags = 1 | 2 | 0x20000000;  // portable, mapped, placed by the memory policy of the caller
  table.stream_flags = 1;
  const char* (*name)(int) = nullptr;
  const char* (*text)(int) = nullptr;
  static_cast<void>(library.fill(name, "hipGetErrorName") && library.fill(text, "hipGetErrorString"));
  table.words = [name, text](int code) {
    const char* called = name == nullptr ? nullptr : name(code);
    const char* reported = text == nullptr ? nullptr : text(code);
    if (called == nullptr) return std::string("a code without words");
    return printable_line(reported == nullptr ? called : fmt::format("{}, {}", called, reported), 160);
  };
  table.images.emplace_back([](int) { return compile_by_hiprtc(); });
}

std::string version_of(const Library& library) {
  int (*version)(int*) = nullptr;
  int number = 0;
  if (!library.fill(version, "hipRuntimeGetVersion") || version(&number) != 0) return {};
  return fmt::format("{}.{}.{}", number / 10'000'000, number / 100'000 % 100, number % 100'000);
}

}  // namespace

std::string_view remedy_for_hip(int code) {
  switch (code) {
    case 3:
    case 35:
      return "load amdgpu on the node in the version that this ROCm needs (modinfo amdgpu), and see dmesg: amdgpu, kfd";
    case 100:
    case 101:  // ROCm 5 returns that where there is none at all
      return "see what ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES leave visible, whether this job was given GPUs and "
             "may open /dev/kfd and /dev/dri/renderD*";
    default:
      return "see the kernel log of the node (dmesg: amdgpu, kfd) and the output of rocminfo there; drain the node if "
             "it stays";
  }
}

GpuRuntime open_hip(const CallWatch& watch) {
  return open_runtime({.vendor = "amd",
                       .files = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
                       .init = "hipInit",
                       .reinstall = "install ROCm's runtime anew on the node, all of one version",
                       .upgrade = "install ROCm 5.2 or later",
                       .remedy = remedy_for_hip,
                       .set_constants = fill_constants,
                       .fill = fill_all,
                       .version = version_of},
                      watch);
}

}  // namespace muster
