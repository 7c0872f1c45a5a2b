#include "device/gpu_aware_mpi.hpp"

#include <dlfcn.h>

namespace muster {

// Extensions that only some libraries have: looked for in this process, not linked.
std::optional<bool> is_mpi_gpu_aware(std::string_view vendor) {
  const bool is_amd = vendor == "amd";
  // Open MPI's, one for each vendor.
  const char* name = is_amd ? "MPIX_Query_rocm_support" : "MPIX_Query_cuda_support";
  if (auto* ask = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, name))) return ask() == 1;
  // MPICH's and Cray's, which count CUDA 0, Level Zero 1 and HIP 2.
  if (auto* ask = reinterpret_cast<int (*)(int, int*)>(::dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support"))) {
    int is_supported = 0;
    if (ask(is_amd ? 2 : 0, &is_supported) == 0) return is_supported != 0;
  }
  return std::nullopt;
}

}  // namespace muster
