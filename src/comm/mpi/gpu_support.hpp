/// Cray MPICH and messages from GPU memory.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// While it lives MPICH_GPU_SUPPORT_ENABLED is hidden from a Cray MPICH that could not do what it asks for: without its
/// GPU transport library (libmpi_gtl_cuda, libmpi_gtl_hsa) in the process MPI_Init ends the program. To be held around
/// MPI_Init, which is the only one to read it; later readers (probes, programs of checks) find it as the user set it.
class HiddenGpuSupport {
 public:
  /// `library`: MPI's own version string. Any other MPI than Cray's is left alone.
  explicit HiddenGpuSupport(std::string_view library);
  ~HiddenGpuSupport();
  HiddenGpuSupport(const HiddenGpuSupport&) = delete;
  HiddenGpuSupport& operator=(const HiddenGpuSupport&) = delete;

  /// The note for the report; empty: nothing was hidden.
  [[nodiscard]] std::string reported() const;

 private:
  std::string hidden_;  ///< the value
};

}  // namespace muster
