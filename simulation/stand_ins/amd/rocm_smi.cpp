// Stands in for ROCm SMI, release 5.
#include "smi.hpp"

using fake::entered;

namespace {

constexpr int invalid = 1;

int number_of(std::uint32_t index) {
  const auto list = fake::listed();
  return index < list.size() ? list[index] : -1;
}

/// Of a number that `begin` took.
const fake::SheetDevice& at(std::uint32_t index) {
  return fake::Sheet::here().devices.at(static_cast<std::size_t>(number_of(index)));
}

/// The code of a line about this call, else 1 where there is no such device.
int begin(const char* call, std::uint32_t index) {
  const int code = entered(call, number_of(index));
  return code != 0 || number_of(index) >= 0 ? code : invalid;
}

}  // namespace

STAND_IN int rsmi_init(std::uint64_t) {
  return entered("rsmi_init");
}
STAND_IN int rsmi_shut_down() {
  return entered("rsmi_shut_down");
}
STAND_IN int rsmi_status_string(int status, const char** text) {
  *text = status == 8   ? "An error occurred during initialization, during monitor discovery"
          : status == 6 ? "An internal exception was caught"
                        : "An error of the stand-in";
  return entered("rsmi_status_string");
}
STAND_IN int rsmi_version_get(std::uint32_t* version) {
  version[0] = 5;
  version[1] = 7;
  version[2] = 0;
  return entered("rsmi_version_get");
}
STAND_IN int rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(fake::listed().size());
  return entered("rsmi_num_monitor_devices");
}
STAND_IN int rsmi_dev_pci_id_get(std::uint32_t index, std::uint64_t* id) {
  const int code = begin("rsmi_dev_pci_id_get", index);
  if (code != 0) return code;
  const fake::Address address = fake::address_of(at(index));
  *id = std::uint64_t{address.domain} << 32 | address.bus << 8 | address.device << 3 | address.function;
  return 0;
}
STAND_IN int rsmi_dev_unique_id_get(std::uint32_t index, std::uint64_t* id) {
  const int code = begin("rsmi_dev_unique_id_get", index);
  if (code == 0) *id = fake::unique_id_of(at(index));
  return code;
}
STAND_IN int rsmi_topo_get_numa_node_number(std::uint32_t index, std::uint32_t* node) {
  const int code = begin("rsmi_topo_get_numa_node_number", index);
  if (code == 0) *node = static_cast<std::uint32_t>(at(index).number("numa", at(index).domain));
  return code;
}
STAND_IN int rsmi_dev_temp_metric_get(std::uint32_t index, std::uint32_t sensor, std::uint32_t, std::int64_t* degrees) {
  const int code = begin("rsmi_dev_temp_metric_get", index);
  if (code == 0) *degrees = static_cast<std::int64_t>(1000 * (at(index).number("temperature", 40) + 2 * sensor));
  return code;
}
STAND_IN int rsmi_dev_power_ave_get(std::uint32_t index, std::uint32_t, std::uint64_t* power) {
  const int code = begin("rsmi_dev_power_ave_get", index);
  if (code == 0) *power = static_cast<std::uint64_t>(1e6 * at(index).number("power", 90));
  return code;
}
STAND_IN int rsmi_dev_memory_total_get(std::uint32_t index, std::uint32_t, std::uint64_t* bytes) {
  const int code = begin("rsmi_dev_memory_total_get", index);
  if (code == 0) *bytes = fake::Sheet::here().memory;
  return code;
}
STAND_IN int rsmi_dev_memory_usage_get(std::uint32_t index, std::uint32_t, std::uint64_t* bytes) {
  const int code = begin("rsmi_dev_memory_usage_get", index);
  if (code == 0) *bytes = static_cast<std::uint64_t>(at(index).number("memory_used", 11000000));
  return code;
}
/// Memory is the one block that counts here.
STAND_IN int rsmi_dev_ecc_count_get(std::uint32_t index, std::uint64_t block, std::uint64_t* counts) {
  const int code = begin("rsmi_dev_ecc_count_get", index);
  if (code != 0) return code;
  if (block != 1) return 2;
  counts[0] = 0;
  counts[1] = static_cast<std::uint64_t>(at(index).number("uncorrected", 0));
  return 0;
}
STAND_IN int rsmi_topo_get_link_type(std::uint32_t from, std::uint32_t to, std::uint64_t* hops, std::uint32_t* type) {
  const int code = begin("rsmi_topo_get_link_type", from);
  if (code != 0) return code;
  *type = fake::is_linked(number_of(from), number_of(to)) ? 2 : 1;
  *hops = *type == 2 ? 1 : 2;
  return 0;
}
