#include "device/gpu_aware_mpi.hpp"

#include <dlfcn.h>

#include "device/gpu_backend.hpp"

namespace muster {

// Extensions that only some libraries have: looked for in this process, not linked.
std::optional<bool> is_mpi_gpu_aware(std::string_view vendor) {
  const GpuBackend* backend = find_gpu_backend(vendor);
  if (backend == nullptr) return std::nullopt;
  if (auto* ask = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, backend->open_mpi_query))) return ask() == 1;
  // MPICH's and Cray's, which count CUDA 0, Level Zero 1 and HIP 2.
  if (auto* ask = reinterpret_cast<int (*)(int, int*)>(::dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support"))) {
    int is_supported = 0;
    if (ask(backend->mpich_kind, &is_supported) == 0) return is_supported != 0;
  }
  return std::nullopt;
}

}  // namespace muster
