#include "comm/mpi/gpu_support.hpp"

#include <cstdlib>
#include <cstring>
#include <link.h>

namespace muster {

namespace {

constexpr const char* variable = "MPICH_GPU_SUPPORT_ENABLED";

bool is_gpu_transport_loaded() {
  const auto look = [](dl_phdr_info* object, std::size_t, void*) -> int {
    return object->dlpi_name != nullptr && std::strstr(object->dlpi_name, "libmpi_gtl_") != nullptr ? 1 : 0;
  };
  return ::dl_iterate_phdr(look, nullptr) != 0;
}

}  // namespace

HiddenGpuSupport::HiddenGpuSupport(std::string_view library) {
  const char* value = std::getenv(variable);
  if (value == nullptr || std::atoi(value) == 0) return;
  if (library.find("CRAY MPICH") == std::string_view::npos || is_gpu_transport_loaded()) return;
  hidden_ = value;
  ::unsetenv(variable);
}

HiddenGpuSupport::~HiddenGpuSupport() {
  if (!hidden_.empty()) ::setenv(variable, hidden_.c_str(), 1);
}

std::string HiddenGpuSupport::reported() const {
  if (hidden_.empty()) return {};
  return std::string(variable) + "=" + hidden_ +
         " was hidden from MPI: muster-rank is built without Cray's GPU transport library (libmpi_gtl_*), and MPI_Init "
         "would end it; messages from GPU memory are not tested. Load the accelerator module (craype-accel-*) and "
         "build muster again for them";
}

}  // namespace muster
