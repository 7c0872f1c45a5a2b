#include "measure/gpu_remedies.hpp"

#include <fmt/format.h>

#include "model/gpu_vendor.hpp"

namespace muster {

std::string remedy_for_failed_gpu(std::string_view host) {
  return fmt::format(
      "see the kernel log of {} ({}) for this address; drain the node, reset the GPU or power-cycle the node, and run "
      "again",
      host, of_all_vendors(&GpuVendor::error_mark));
}

std::string remedy_without_kernels() {
  return fmt::format("have {} (part of {}) on the node, or build muster where there is nvcc",
                     of_all_vendors(&GpuVendor::compiler, " or "), of_all_vendors(&GpuVendor::toolkit, " and of "));
}

std::string remedy_without_runtime() {
  return fmt::format("run it where GPUs are, with the driver's libraries ({}) on the node; see device_visibility",
                     of_all_vendors(&GpuVendor::runtime_library));
}

std::string remedy_without_compiler(std::string_view vendor) {
  return fmt::format("install the run-time compiler that belongs to the driver ({})", terms_of_vendor(vendor).compiler);
}

std::string state_commands() {
  return of_all_vendors(&GpuVendor::state_command);
}

std::string memory_commands() {
  return of_all_vendors(&GpuVendor::memory_command);
}

std::string links_commands() {
  return of_all_vendors(&GpuVendor::links_command);
}

}  // namespace muster
