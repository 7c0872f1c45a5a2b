// Stands in for libamdhip64.so.6. See driver/executing.hpp.
#include <algorithm>
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
  return fake::visible("amd");
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
/// Of a partition, its share of the GPU's.
std::size_t memory_of(int sheet_device) {
  const auto& device = fake::Sheet::here().devices[static_cast<std::size_t>(sheet_device)];
  return fake::Sheet::here().memory / static_cast<std::size_t>(std::max(1, device.partitions));
}
fake::Stream* as_stream(void* stream) {
  return static_cast<fake::Stream*>(stream);
}

struct Words {
  int code;
  const char* name;
  const char* text;
};
constexpr Words words[] = {{1, "hipErrorInvalidValue", "invalid argument"},
                           {2, "hipErrorOutOfMemory", "out of memory"},
                           {3, "hipErrorNotInitialized", "initialization error"},
                           {35, "hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
                           {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
                           {101, "hipErrorInvalidDevice", "invalid device ordinal"},
                           {719, "hipErrorLaunchFailure", "unspecified launch failure"},
                           {999, "hipErrorUnknown", "unknown error"}};

const char* announce(int code, const char* Words::*part) {
  for (const Words& one : words)
    if (one.code == code) return one.*part;
  return "unrecognized error code";
}

}  // namespace

CALL(hipInit, unsigned) {
  ENTER("hipInit", -1);
  return devices().empty() ? no_device : 0;
}
CALL(hipRuntimeGetVersion, int* version) {
  *version = 60342131;
  return 0;
}
extern "C" __attribute__((visibility("default"))) const char* hipGetErrorName(int code) {
  return announce(code, &Words::name);
}
extern "C" __attribute__((visibility("default"))) const char* hipGetErrorString(int code) {
  return announce(code, &Words::text);
}
CALL(hipGetDeviceCount, int* count) {
  ENTER("hipGetDeviceCount", -1);
  *count = static_cast<int>(devices().size());
  return 0;
}
CALL(hipDeviceGet, int* handle, int ordinal) {
  if (!is_device(ordinal)) return invalid_device;
  ENTER("hipDeviceGet", sheet_number(ordinal));
  *handle = ordinal;
  return 0;
}
CALL(hipDeviceGetName, char* text, int size, int handle) {
  ENTER("hipDeviceGetName", sheet_number(handle));
  std::snprintf(text, static_cast<std::size_t>(size), "%s", fake::Sheet::here().model.c_str());
  return 0;
}
CALL(hipDeviceGetUuid, char* bytes, int handle) {
  ENTER("hipDeviceGetUuid", sheet_number(handle));
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", std::strtoull(sheet_of(handle).uuid.c_str(), nullptr, 10));
  std::memcpy(bytes, hex, 16);
  return 0;
}
CALL(hipDeviceGetPCIBusId, char* text, int size, int handle) {
  ENTER("hipDeviceGetPCIBusId", sheet_number(handle));
  std::string address = sheet_of(handle).address;
  const int part = devices()[static_cast<std::size_t>(handle)].part;
  if (sheet_of(handle).partitions_are_functions) address.back() = static_cast<char>('0' + part);
  std::snprintf(text, static_cast<std::size_t>(size), "%s", address.c_str());
  return 0;
}
CALL(hipDeviceGetAttribute, int* value, int which, int handle) {
  ENTER("hipDeviceGetAttribute", sheet_number(handle));
  switch (which) {
    case 63:
      *value = 110;
      return 0;
    case 5:
      *value = 1700000;
      return 0;
    case 60:
      *value = 1600000;
      return 0;
    case 59:
      *value = 4096;
      return 0;
    case 19:
      *value = 8388608;
      return 0;
    case 23:
      *value = 9;
      return 0;
    case 61:
      *value = 0;
      return 0;
    case 2:
      *value = 2;
      return 0;
    default:
      return invalid_value;
  }
}
CALL(hipDeviceTotalMem, std::size_t* bytes, int handle) {
  ENTER("hipDeviceTotalMem", sheet_number(handle));
  *bytes = memory_of(sheet_number(handle));
  return 0;
}
CALL(hipSetDevice, int handle) {
  if (!is_device(handle)) return invalid_device;
  ENTER("hipSetDevice", sheet_number(handle));
  fake::set_current(sheet_number(handle));
  return 0;
}
CALL(hipDeviceCanAccessPeer, int* can, int handle, int peer) {
  ENTER("hipDeviceCanAccessPeer", sheet_number(handle));
  *can = fake::can_reach(sheet_number(handle), sheet_number(peer)) ? 1 : 0;
  return 0;
}
CALL(hipDeviceEnablePeerAccess, int peer, unsigned) {
  HERE("hipDeviceEnablePeerAccess");
  return is_device(peer) ? 0 : invalid_device;
}
CALL(hipMalloc, void** memory, std::size_t bytes) {
  HERE("hipMalloc");
  *memory = fake::allocate(fake::current(), bytes);
  return *memory == nullptr ? out_of_memory : 0;
}
CALL(hipFree, void* memory) {
  HERE("hipFree");
  return fake::release(memory) ? 0 : invalid_value;
}
CALL(hipHostMalloc, void** memory, std::size_t bytes, unsigned) {
  HERE("hipHostMalloc");
  *memory = fake::pin(bytes);
  return *memory == nullptr ? out_of_memory : 0;
}
CALL(hipHostFree, void* memory) {
  HERE("hipHostFree");
  fake::unpin(memory);
  return 0;
}
CALL(hipHostGetDevicePointer, void** address, void* memory, unsigned) {
  HERE("hipHostGetDevicePointer");
  *address = memory;
  return 0;
}
CALL(hipMemGetInfo, std::size_t* free, std::size_t* total) {
  HERE("hipMemGetInfo");
  *free = fake::free_memory(fake::current());
  *total = memory_of(fake::current());
  return 0;
}
CALL(hipMemcpyAsync, void* to, const void* from, std::size_t bytes, int, void* stream) {
  HERE("hipMemcpyAsync");
  fake::copy(to, from, bytes, as_stream(stream));
  return 0;
}
CALL(hipMemcpyPeerAsync, void* to, int, const void* from, int, std::size_t bytes, void* stream) {
  HERE("hipMemcpyPeerAsync");
  fake::copy(to, from, bytes, as_stream(stream));
  return 0;
}
CALL(hipMemsetD32Async, void* memory, unsigned value, std::size_t count, void* stream) {
  HERE("hipMemsetD32Async");
  fake::set32(memory, value, count, as_stream(stream));
  return 0;
}
CALL(hipStreamCreateWithFlags, void** stream, unsigned) {
  HERE("hipStreamCreateWithFlags");
  *stream = fake::new_stream(fake::current());
  return 0;
}
CALL(hipStreamDestroy, void* stream) {
  HERE("hipStreamDestroy");
  fake::delete_stream(as_stream(stream));
  return 0;
}
CALL(hipStreamSynchronize, void* stream) {
  HERE("hipStreamSynchronize");
  fake::finish(as_stream(stream));
  return 0;
}
CALL(hipStreamQuery, void* stream) {
  return fake::is_idle(as_stream(stream)) ? 0 : not_ready;
}
CALL(hipStreamWaitEvent, void* stream, void* event, unsigned) {
  HERE("hipStreamWaitEvent");
  fake::wait(as_stream(stream), static_cast<fake::Event*>(event));
  return 0;
}
CALL(hipEventCreateWithFlags, void** event, unsigned) {
  HERE("hipEventCreateWithFlags");
  *event = fake::new_event();
  return 0;
}
CALL(hipEventDestroy, void* event) {
  HERE("hipEventDestroy");
  fake::delete_event(static_cast<fake::Event*>(event));
  return 0;
}
CALL(hipEventRecord, void* event, void* stream) {
  HERE("hipEventRecord");
  fake::record(static_cast<fake::Event*>(event), as_stream(stream));
  return 0;
}
CALL(hipEventElapsedTime, float* milliseconds, void* start, void* stop) {
  HERE("hipEventElapsedTime");
  *milliseconds = fake::between(static_cast<fake::Event*>(start), static_cast<fake::Event*>(stop));
  return *milliseconds < 0 ? not_ready : 0;
}
CALL(hipModuleLoadData, void** module, const void* image) {
  HERE("hipModuleLoadData");
  // PTX names what it holds; what holds other kernels is none of ours.
  if (std::strstr(static_cast<const char*>(image), "muster_copy") == nullptr) return invalid_value;
  *module = module;
  return 0;
}
CALL(hipModuleUnload, void*) {
  return 0;
}
CALL(hipModuleGetFunction, void** function, void*, const char* name) {
  HERE("hipModuleGetFunction");
  *function = fake::find_kernel(name);
  return *function == nullptr ? not_found : 0;
}
CALL(hipModuleLaunchKernel, void* function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
     void* stream, void** arguments, void**) {
  HERE("hipModuleLaunchKernel");
  return fake::launch(static_cast<fake::Kernel*>(function), blocks, arguments, as_stream(stream)) ? 0 : invalid_value;
}
