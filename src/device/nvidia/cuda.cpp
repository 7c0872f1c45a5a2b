#include "device/nvidia/cuda.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "device/gpu_runtime.hpp"
#include "device/kernels.hpp"
#include "device/runtime_compiler.hpp"

namespace muster {

namespace {

struct CudaCode {
  int code;
  std::string_view name;
  std::string_view remedy;
};

constexpr CudaCode cuda_codes[] = {
    {3, "CUDA_ERROR_NOT_INITIALIZED", "load the nvidia module on the node, and see its kernel log (dmesg: NVRM, Xid)"},
    {34, "CUDA_ERROR_STUB_LIBRARY",
     "this is the toolkit's stub for linking: take its folder (.../stubs) out of LD_LIBRARY_PATH, so that the driver's "
     "libcuda.so.1 is found"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "another process holds the GPU alone (compute mode): end it, or set the mode back by nvidia-smi -c 0"},
    {100, "CUDA_ERROR_NO_DEVICE",
     "see what CUDA_VISIBLE_DEVICES leaves visible, whether this job was given GPUs and may open /dev/nvidia*"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "see whether CUDA_VISIBLE_DEVICES names GPUs that are there"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY",
     "start nvidia-fabricmanager on the node (GPUs behind NVSwitch need it), in the very version of the driver"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "the library and the loaded kernel module are of different versions: reboot the node after a driver update; in a "
     "container, pass the host's libraries to it"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "take the forward compatibility package (cuda-compat) out of LD_LIBRARY_PATH: this GPU does not support it"},
    {999, "CUDA_ERROR_UNKNOWN",
     "see whether the module nvidia_uvm is loaded and /dev/nvidia-uvm is its device (a container needs that file "
     "passed to it), and the kernel log of the node (dmesg: NVRM, Xid); reboot the node if it stays"},
};

const CudaCode* find_cuda_code(int code) {
  for (const CudaCode& one : cuda_codes)
    if (one.code == code) return &one;
  return nullptr;
}

/// The library's own words, as far as it has any.
std::function<std::string(int)> words_of_cuda(const Library& library) {
  using Words = int(int, const char**);
  Words* name = nullptr;
  Words* text = nullptr;
  static_cast<void>(library.fill(name, "cuGetErrorName") && library.fill(text, "cuGetErrorString"));
  return [name, text](int code) {
    const char* reported = nullptr;
    std::string words;
    if (name != nullptr && name(code, &reported) == 0 && reported != nullptr) words = reported;
    if (words.empty()) words = name_of_cuda(code);
    reported = nullptr;
    if (text != nullptr && text(code, &reported) == 0 && reported != nullptr)
      words += fmt::format("{}{}", words.empty() ? "" : ", ", reported);
    return words.empty() ? std::string("a code without words") : printable_line(words, 160);
  };
}

bool fill_cuda_devices(const Library& library, GpuTable& table, std::vector<std::string>& missing) {
  bool all = table.count.fill(library, "cuDeviceGetCount", missing);
  all &= table.device.fill(library, "cuDeviceGet", missing);
  all &= table.name.fill(library, "cuDeviceGetName", missing);
  // The second form also names MIG instances; drivers before 11.4 lack it.
  std::vector<std::string> unimportant;
  if (!table.uuid.fill(library, "cuDeviceGetUuid_v2", unimportant))
    all &= table.uuid.fill(library, "cuDeviceGetUuid", missing);
  all &= table.bus_id.fill(library, "cuDeviceGetPCIBusId", missing);
  all &= table.attribute.fill(library, "cuDeviceGetAttribute", missing);
  all &= table.total_memory.fill(library, "cuDeviceTotalMem_v2", missing);
  all &= table.retain.fill(library, "cuDevicePrimaryCtxRetain", missing);
  all &= table.release.fill(library, "cuDevicePrimaryCtxRelease_v2", missing);
  all &= table.use.fill(library, "cuCtxSetCurrent", missing);
  all &= table.can_access.fill(library, "cuDeviceCanAccessPeer", missing);
  return all & table.enable_peer.fill(library, "cuCtxEnablePeerAccess", missing);
}

bool fill_cuda_memory(const Library& library, GpuTable& table, std::vector<std::string>& missing) {
  bool all = table.allocate.fill(library, "cuMemAlloc_v2", missing);
  all &= table.free.fill(library, "cuMemFree_v2", missing);
  all &= table.pin.fill(library, "cuMemHostAlloc", missing);
  all &= table.unpin.fill(library, "cuMemFreeHost", missing);
  all &= table.pinned_address.fill(library, "cuMemHostGetDevicePointer_v2", missing);
  all &= table.memory_info.fill(library, "cuMemGetInfo_v2", missing);
  all &= table.copy.fill(library, "cuMemcpyAsync", missing);
  all &= table.peer_copy.fill(library, "cuMemcpyPeerAsync", missing);
  return all & table.set32.fill(library, "cuMemsetD32Async", missing);
}

bool fill_cuda_streams(const Library& library, GpuTable& table, std::vector<std::string>& missing) {
  bool all = table.create_stream.fill(library, "cuStreamCreate", missing);
  all &= table.destroy_stream.fill(library, "cuStreamDestroy_v2", missing);
  all &= table.synchronize.fill(library, "cuStreamSynchronize", missing);
  all &= table.query.fill(library, "cuStreamQuery", missing);
  all &= table.wait_event.fill(library, "cuStreamWaitEvent", missing);
  all &= table.create_event.fill(library, "cuEventCreate", missing);
  all &= table.destroy_event.fill(library, "cuEventDestroy_v2", missing);
  all &= table.record.fill(library, "cuEventRecord", missing);
  std::vector<std::string> unimportant;
  if (!table.elapsed.fill(library, "cuEventElapsedTime_v2", unimportant))
    all &= table.elapsed.fill(library, "cuEventElapsedTime", missing);
  all &= table.load_module.fill(library, "cuModuleLoadData", missing);
  all &= table.unload_module.fill(library, "cuModuleUnload", missing);
  all &= table.find_kernel.fill(library, "cuModuleGetFunction", missing);
  return all & table.launch.fill(library, "cuLaunchKernel", missing);
}

bool fill_cuda(const Library& library, GpuTable& table, std::vector<std::string>& missing) {
  bool all = fill_cuda_devices(library, table, missing);
  all &= fill_cuda_memory(library, table, missing);
  return all & fill_cuda_streams(library, table, missing);
}

void fill_cuda_constants(const Library& library, GpuTable& table) {
  table.words = words_of_cuda(library);
  table.vendor = "nvidia";
  table.attributes = {16, 13, 36, 37, 38, 75, 76, 40};
  table.pin_flags = 1 | 2;  // portable, mapped
  table.stream_flags = 1;   // not blocking
  table.images.emplace_back([](int) -> Result<std::string> {
    if (kernel_ptx().empty()) return fail(ErrorKind::device, "", "no PTX was built in");
    return std::string(kernel_ptx());
  });
  table.images.emplace_back([](int capability) {
    // The newest toolkits compile for 7.5 at least; the driver takes PTX of older devices than its own.
    return compile_by_nvrtc(fmt::format("compute_{}", capability > 0 && capability < 75 ? capability : 75));
  });
}

std::string version_of_cuda(const Library& library) {
  int (*version)(int*) = nullptr;
  int number = 0;
  if (!library.fill(version, "cuDriverGetVersion") || version(&number) != 0) return {};
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

}  // namespace

std::string_view remedy_for_cuda(int code) {
  const CudaCode* found = find_cuda_code(code);
  return found != nullptr
             ? found->remedy
             : "see the kernel log of the node (dmesg: NVRM, Xid) and the output of nvidia-smi there; drain the "
               "node if it stays";
}

std::string_view name_of_cuda(int code) {
  const CudaCode* found = find_cuda_code(code);
  return found == nullptr ? std::string_view() : found->name;
}

GpuRuntime open_cuda(const CallWatch& watch) {
  return open_runtime({.vendor = "nvidia",
                       // Never libcuda.so: where a toolkit is installed, that is a stub.
                       .files = {"libcuda.so.1"},
                       .init = "cuInit",
                       .reinstall = "install the driver's libraries anew on the node, all of one version",
                       .upgrade = "install a driver of CUDA 11 or later",
                       .remedy = remedy_for_cuda,
                       .set_constants = fill_cuda_constants,
                       .fill = fill_cuda,
                       .version = version_of_cuda},
                      watch);
}

}  // namespace muster
