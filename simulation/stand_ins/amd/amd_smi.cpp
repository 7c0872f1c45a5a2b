// Stands in for AMD SMI: one socket for each GPU.
#include "smi.hpp"

using fake::entered;

namespace {

/// Handles are numbers on the sheet, from 1.
using Handle = void*;

Handle handle_of(int number) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(number) + 1);
}
int number_of(Handle handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle)) - 1;
}
const fake::SheetDevice& at(Handle handle) {
  return fake::Sheet::here().devices.at(static_cast<std::size_t>(number_of(handle)));
}
int begin(const char* call, Handle handle) {
  return entered(call, number_of(handle));
}

}  // namespace

STAND_IN int amdsmi_init(std::uint64_t) {
  return entered("amdsmi_init");
}
STAND_IN int amdsmi_shut_down() {
  return entered("amdsmi_shut_down");
}
STAND_IN int amdsmi_status_code_to_string(int status, const char** text) {
  *text = status == 34   ? "Processor driver not loaded"
          : status == 18 ? "An error occurred when initializing internal data structures"
                         : "An error of the stand-in";
  return entered("amdsmi_status_code_to_string");
}
STAND_IN int amdsmi_get_lib_version(std::uint32_t* version) {
  version[0] = 24;
  version[1] = 7;
  version[2] = 1;
  version[3] = 0;
  return entered("amdsmi_get_lib_version");
}
STAND_IN int amdsmi_get_socket_handles(std::uint32_t* count, Handle* handles) {
  const auto list = fake::listed();
  for (std::size_t i = 0; handles != nullptr && i < list.size() && i < *count; ++i) handles[i] = handle_of(list[i]);
  *count = static_cast<std::uint32_t>(list.size());
  return entered("amdsmi_get_socket_handles");
}
STAND_IN int amdsmi_get_processor_handles(Handle socket, std::uint32_t* count, Handle* handles) {
  if (handles != nullptr) handles[0] = socket;
  *count = 1;
  return begin("amdsmi_get_processor_handles", socket);
}
STAND_IN int amdsmi_get_processor_type(Handle handle, std::uint32_t* type) {
  *type = 1;
  return begin("amdsmi_get_processor_type", handle);
}
STAND_IN int amdsmi_get_gpu_device_bdf(Handle handle, std::uint64_t* id) {
  const fake::Address address = fake::address_of(at(handle));
  *id = std::uint64_t{address.domain} << 16 | address.bus << 8 | address.device << 3 | address.function;
  return begin("amdsmi_get_gpu_device_bdf", handle);
}
STAND_IN int amdsmi_topo_get_numa_node_number(Handle handle, std::uint32_t* node) {
  *node = static_cast<std::uint32_t>(at(handle).number("numa", at(handle).domain));
  return begin("amdsmi_topo_get_numa_node_number", handle);
}
STAND_IN int amdsmi_get_temp_metric(Handle handle, std::uint32_t sensor, std::uint32_t, std::int64_t* degrees) {
  *degrees = static_cast<std::int64_t>(at(handle).number("temperature", 40)) + 2 * sensor;
  return begin("amdsmi_get_temp_metric", handle);
}
STAND_IN int amdsmi_get_gpu_memory_total(Handle handle, std::uint32_t, std::uint64_t* bytes) {
  *bytes = fake::Sheet::here().memory;
  return begin("amdsmi_get_gpu_memory_total", handle);
}
STAND_IN int amdsmi_get_gpu_memory_usage(Handle handle, std::uint32_t, std::uint64_t* bytes) {
  *bytes = static_cast<std::uint64_t>(at(handle).number("memory_used", 11000000));
  return begin("amdsmi_get_gpu_memory_usage", handle);
}
STAND_IN int amdsmi_get_gpu_total_ecc_count(Handle handle, std::uint64_t* counts) {
  counts[0] = 0;
  counts[1] = static_cast<std::uint64_t>(at(handle).number("uncorrected", 0));
  return begin("amdsmi_get_gpu_total_ecc_count", handle);
}
STAND_IN int amdsmi_topo_get_link_type(Handle from, Handle to, std::uint64_t* hops, std::uint32_t* type) {
  *type = fake::is_linked(number_of(from), number_of(to)) ? 2 : 1;
  *hops = *type == 2 ? 1 : 2;
  return begin("amdsmi_topo_get_link_type", from);
}
