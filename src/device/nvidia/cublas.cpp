// cuBLAS: its names and numbers, as in cublas_api.h and library_types.h of CUDA 11 to 13.
#include <fmt/format.h>

#include "base/environment.hpp"
#include "device/gpu_blas_table.hpp"

namespace muster {

namespace {

// cudaDataType
constexpr int r_32f = 0;
constexpr int r_64f = 1;
constexpr int r_16f = 2;
constexpr int r_8i = 3;
constexpr int r_32i = 10;
constexpr int r_16bf = 14;
// cublasComputeType_t. `pedantic` takes no tensor core for single precision, independent of NVIDIA_TF32_OVERRIDE.
constexpr int compute_32f = 68;
constexpr int compute_32f_pedantic = 69;
constexpr int compute_64f = 70;
constexpr int compute_32i = 72;
constexpr int compute_32f_tf32 = 77;

bool fill_cublas(const Library& library, GpuBlasTable& table, std::vector<std::string>& missing) {
  table.label = "cuBLAS";
  table.types = {{{r_64f, r_64f, compute_64f},
                  {r_32f, r_32f, compute_32f_pedantic},
                  {r_32f, r_32f, compute_32f_tf32},
                  {r_16f, r_32f, compute_32f},
                  {r_16bf, r_32f, compute_32f},
                  {r_8i, r_32i, compute_32i}}};
  if (environment_text("NVIDIA_TF32_OVERRIDE") == "0") table.withheld[NumberType::tf32] = "NVIDIA_TF32_OVERRIDE=0";
  table.refusals = {15, 8};  // CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_ARCH_MISMATCH
  // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: partial sums of a split product are kept in full.
  table.math_mode = 16;
  const char* (*name)(int) = nullptr;
  const char* (*text)(int) = nullptr;
  static_cast<void>(library.fill(name, "cublasGetStatusName") && library.fill(text, "cublasGetStatusString"));
  table.words = blas_words(name, text);
  bool all = table.create.fill(library, "cublasCreate_v2", missing);
  all &= table.destroy.fill(library, "cublasDestroy_v2", missing);
  all &= table.set_stream.fill(library, "cublasSetStream_v2", missing);
  all &= table.multiply.fill(library, "cublasGemmEx", missing);
  std::vector<std::string> unimportant;
  table.set_workspace.fill(library, "cublasSetWorkspace_v2", unimportant);
  table.set_math_mode.fill(library, "cublasSetMathMode", unimportant);
  table.set_atomics.fill(library, "cublasSetAtomicsMode", unimportant);
  return all;
}

/// Without a handle, which asks for a device: major, minor and patch.
std::string cublas_version(const Library& library) {
  int (*property)(int, int*) = nullptr;
  int parts[3] = {};
  if (!library.fill(property, "cublasGetProperty")) return {};
  for (int i = 0; i < 3; ++i)
    if (property(i, &parts[i]) != 0) return {};
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

}  // namespace

GpuBlasLibrary open_cublas(const CallWatch& watch) {
  std::string version;
  // The toolkit's folder is seldom where the loader looks.
  auto library = open_gpu_blas_library(
      {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "/usr/local/cuda/lib64/libcublas.so.13",
       "/usr/local/cuda/lib64/libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.11"},
      watch, [&](const Library& opened, GpuBlasTable& table, std::vector<std::string>& missing) {
        version = cublas_version(opened);
        if (!fill_cublas(opened, table, missing)) return false;
        if (!version.empty()) table.label += " " + version;
        return true;
      });
  library.report.version = version;
  // Its kernels are machine code without PTX.
  if (environment_text("CUDA_FORCE_PTX_JIT") == "1") library.setting = "CUDA_FORCE_PTX_JIT=1";
  if (library.report.state == LibraryState::broken)
    library.remedy =
        "see which libcublas that is (LD_LIBRARY_PATH, modules), that libcublasLt lies beside it, and that both are of "
        "a CUDA from 11 on that the node's driver can run";
  return library;
}

}  // namespace muster
