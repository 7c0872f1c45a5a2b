// Stands in for libcuda.so.1. See driver/executing.hpp.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "executing.hpp"
#include "sheet.hpp"

// The first line of each: a line of the sheet may fail it, hang it, or end the process in it.
#define CALL(name, ...) extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__)
#define ENTER(name, device) \
  if (const int code = fake::entered(name, device); code != 0) return code
#define HERE(name) ENTER(name, fake::current())

namespace {

constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int no_device = 100;
constexpr int invalid_device = 101;
constexpr int not_found = 500;
constexpr int not_ready = 600;

const std::vector<fake::Seen>& devices() {
  return fake::visible("nvidia");
}
bool is_device(int handle) {
  return handle >= 0 && static_cast<std::size_t>(handle) < devices().size();
}
int sheet_number(int handle) {
  return devices()[static_cast<std::size_t>(handle)].device;
}
const fake::SheetDevice& sheet_of(int handle) {
  return fake::Sheet::here().devices[static_cast<std::size_t>(sheet_number(handle))];
}
void* context_of(int handle) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(handle) + 1);
}
int device_of(void* context) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
}
fake::Stream* as_stream(void* stream) {
  return static_cast<fake::Stream*>(stream);
}

struct Words {
  int code;
  const char* name;
  const char* text;
};
constexpr Words words[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"}};

int announce(int code, const char** text, const char* Words::*part) {
  for (const Words& one : words)
    if (one.code == code) {
      *text = one.*part;
      return 0;
    }
  *text = nullptr;
  return invalid_value;
}

}  // namespace

CALL(cuInit, unsigned) {
  ENTER("cuInit", -1);
  return devices().empty() ? no_device : 0;
}
CALL(cuDriverGetVersion, int* version) {
  *version = 12080;
  return 0;
}
CALL(cuGetErrorName, int code, const char** text) {
  return announce(code, text, &Words::name);
}
CALL(cuGetErrorString, int code, const char** text) {
  return announce(code, text, &Words::text);
}
CALL(cuDeviceGetCount, int* count) {
  ENTER("cuDeviceGetCount", -1);
  *count = static_cast<int>(devices().size());
  return 0;
}
CALL(cuDeviceGet, int* handle, int ordinal) {
  if (!is_device(ordinal)) return invalid_device;
  ENTER("cuDeviceGet", sheet_number(ordinal));
  *handle = ordinal;
  return 0;
}
CALL(cuDeviceGetName, char* text, int size, int handle) {
  ENTER("cuDeviceGetName", sheet_number(handle));
  std::snprintf(text, static_cast<std::size_t>(size), "%s", fake::Sheet::here().model.c_str());
  return 0;
}
CALL(cuDeviceGetUuid_v2, unsigned char* bytes, int handle) {
  ENTER("cuDeviceGetUuid_v2", sheet_number(handle));
  std::string hex;
  for (const char digit : sheet_of(handle).uuid.substr(4))
    if (digit != '-') hex += digit;
  for (std::size_t i = 0; i < 16; ++i)
    bytes[i] = static_cast<unsigned char>(std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16));
  return 0;
}
CALL(cuDeviceGetPCIBusId, char* text, int size, int handle) {
  ENTER("cuDeviceGetPCIBusId", sheet_number(handle));
  std::snprintf(text, static_cast<std::size_t>(size), "%s", sheet_of(handle).address.c_str());
  return 0;
}
CALL(cuDeviceGetAttribute, int* value, int which, int handle) {
  ENTER("cuDeviceGetAttribute", sheet_number(handle));
  switch (which) {
    case 16:
      *value = 132;
      return 0;
    case 13:
      *value = 1980000;
      return 0;
    case 36:
      *value = 2619000;
      return 0;
    case 37:
      *value = 5120;
      return 0;
    case 38:
      *value = 52428800;
      return 0;
    case 75:
      *value = 9;
      return 0;
    case 76:
      *value = 0;
      return 0;
    case 40:
      *value = 3;
      return 0;
    default:
      return invalid_value;
  }
}
CALL(cuDeviceTotalMem_v2, std::size_t* bytes, int handle) {
  ENTER("cuDeviceTotalMem_v2", sheet_number(handle));
  *bytes = fake::Sheet::here().memory;
  return 0;
}
CALL(cuDevicePrimaryCtxRetain, void** context, int handle) {
  if (!is_device(handle)) return invalid_device;
  ENTER("cuDevicePrimaryCtxRetain", sheet_number(handle));
  *context = context_of(handle);
  return 0;
}
CALL(cuDevicePrimaryCtxRelease_v2, int handle) {
  return is_device(handle) ? 0 : invalid_device;
}
CALL(cuCtxSetCurrent, void* context) {
  if (!is_device(device_of(context))) return invalid_value;
  ENTER("cuCtxSetCurrent", sheet_number(device_of(context)));
  fake::set_current(sheet_number(device_of(context)));
  return 0;
}
CALL(cuDeviceCanAccessPeer, int* can, int handle, int peer) {
  ENTER("cuDeviceCanAccessPeer", sheet_number(handle));
  *can = fake::can_reach(sheet_number(handle), sheet_number(peer)) ? 1 : 0;
  return 0;
}
CALL(cuCtxEnablePeerAccess, void* context, unsigned) {
  HERE("cuCtxEnablePeerAccess");
  return is_device(device_of(context)) ? 0 : invalid_value;
}
CALL(cuMemAlloc_v2, void** memory, std::size_t bytes) {
  HERE("cuMemAlloc_v2");
  *memory = fake::allocate(fake::current(), bytes);
  return *memory == nullptr ? out_of_memory : 0;
}
CALL(cuMemFree_v2, void* memory) {
  HERE("cuMemFree_v2");
  return fake::release(memory) ? 0 : invalid_value;
}
CALL(cuMemHostAlloc, void** memory, std::size_t bytes, unsigned) {
  HERE("cuMemHostAlloc");
  *memory = fake::pin(bytes);
  return *memory == nullptr ? out_of_memory : 0;
}
CALL(cuMemFreeHost, void* memory) {
  HERE("cuMemFreeHost");
  fake::unpin(memory);
  return 0;
}
CALL(cuMemHostGetDevicePointer_v2, void** address, void* memory, unsigned) {
  HERE("cuMemHostGetDevicePointer_v2");
  *address = memory;
  return 0;
}
CALL(cuMemGetInfo_v2, std::size_t* free, std::size_t* total) {
  HERE("cuMemGetInfo_v2");
  *free = fake::free_memory(fake::current());
  *total = fake::Sheet::here().memory;
  return 0;
}
CALL(cuMemcpyAsync, void* to, const void* from, std::size_t bytes, void* stream) {
  HERE("cuMemcpyAsync");
  fake::copy(to, from, bytes, as_stream(stream));
  return 0;
}
CALL(cuMemcpyPeerAsync, void* to, void*, const void* from, void*, std::size_t bytes, void* stream) {
  HERE("cuMemcpyPeerAsync");
  fake::copy(to, from, bytes, as_stream(stream));
  return 0;
}
CALL(cuMemsetD32Async, void* memory, unsigned value, std::size_t count, void* stream) {
  HERE("cuMemsetD32Async");
  fake::set32(memory, value, count, as_stream(stream));
  return 0;
}
CALL(cuStreamCreate, void** stream, unsigned) {
  HERE("cuStreamCreate");
  *stream = fake::new_stream(fake::current());
  return 0;
}
CALL(cuStreamDestroy_v2, void* stream) {
  HERE("cuStreamDestroy_v2");
  fake::delete_stream(as_stream(stream));
  return 0;
}
CALL(cuStreamSynchronize, void* stream) {
  HERE("cuStreamSynchronize");
  fake::finish(as_stream(stream));
  return 0;
}
CALL(cuStreamQuery, void* stream) {
  return fake::is_idle(as_stream(stream)) ? 0 : not_ready;
}
CALL(cuStreamWaitEvent, void* stream, void* event, unsigned) {
  HERE("cuStreamWaitEvent");
  fake::wait(as_stream(stream), static_cast<fake::Event*>(event));
  return 0;
}
CALL(cuEventCreate, void** event, unsigned) {
  HERE("cuEventCreate");
  *event = fake::new_event();
  return 0;
}
CALL(cuEventDestroy_v2, void* event) {
  HERE("cuEventDestroy_v2");
  fake::delete_event(static_cast<fake::Event*>(event));
  return 0;
}
CALL(cuEventRecord, void* event, void* stream) {
  HERE("cuEventRecord");
  fake::record(static_cast<fake::Event*>(event), as_stream(stream));
  return 0;
}
CALL(cuEventElapsedTime_v2, float* milliseconds, void* start, void* stop) {
  HERE("cuEventElapsedTime_v2");
  *milliseconds = fake::between(static_cast<fake::Event*>(start), static_cast<fake::Event*>(stop));
  return *milliseconds < 0 ? not_ready : 0;
}
CALL(cuModuleLoadData, void** module, const void* image) {
  HERE("cuModuleLoadData");
  // PTX names what it holds; what holds other kernels is none of ours.
  if (std::strstr(static_cast<const char*>(image), "muster_copy") == nullptr) return invalid_value;
  *module = module;
  return 0;
}
CALL(cuModuleUnload, void*) {
  return 0;
}
CALL(cuModuleGetFunction, void** function, void*, const char* name) {
  HERE("cuModuleGetFunction");
  *function = fake::find_kernel(name);
  return *function == nullptr ? not_found : 0;
}
CALL(cuLaunchKernel, void* function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
     void* stream, void** arguments, void**) {
  HERE("cuLaunchKernel");
  return fake::launch(static_cast<fake::Kernel*>(function), blocks, arguments, as_stream(stream)) ? 0 : invalid_value;
}
