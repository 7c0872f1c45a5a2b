// hipBLAS: its names and numbers. Up to 1.x (ROCm 5) products take hipblasDatatype_t; 2.x (ROCm 6) has both, the newer
// one under the suffix _v2, which its headers hide; from 3.0 on (ROCm 7) the name without a suffix takes hipDataType
// and hipblasComputeType_t (hipBLAS, deprecations by version).
#include "device/gpu_blas_table.hpp"

namespace muster {

namespace {

/// libhipblas.so.3 and later.
bool is_third(const Library& library) {
  const std::string& name = library.name();
  const auto dot = name.rfind('.');
  return dot != std::string::npos && std::atoi(name.c_str() + dot + 1) >= 3;
}

/// hipDataType and hipblasComputeType_t; the latter counts from 0, unlike cuBLAS.
constexpr std::array<BlasTypes, 6> newer{{{1, 1, 7}, {0, 0, 2}, {}, {2, 0, 2}, {14, 0, 2}, {3, 10, 9}}};
/// hipblasDatatype_t throughout.
constexpr std::array<BlasTypes, 6> older{
    {{152, 152, 152}, {151, 151, 151}, {}, {150, 151, 151}, {168, 151, 151}, {160, 162, 162}}};

bool fill_hipblas(const Library& library, GpuBlasTable& table, std::vector<std::string>& missing) {
  table.label = "hipBLAS";
  table.as_is = 111;
  table.transposed = 112;
  table.algorithm = 160;    // HIPBLAS_GEMM_DEFAULT
  table.refusals = {7, 8};  // HIPBLAS_STATUS_NOT_SUPPORTED, HIPBLAS_STATUS_ARCH_MISMATCH
  const char* (*name)(int) = nullptr;
  static_cast<void>(library.fill(name, "hipblasStatusToString"));
  table.words = blas_words(name, nullptr);
  bool all = table.create.fill(library, "hipblasCreate", missing);
  all &= table.destroy.fill(library, "hipblasDestroy", missing);
  all &= table.set_stream.fill(library, "hipblasSetStream", missing);
  std::vector<std::string> unimportant;
  table.set_atomics.fill(library, "hipblasSetAtomicsMode", unimportant);
  const bool has_second = table.multiply.fill(library, "hipblasGemmEx_v2", unimportant);
  table.types = has_second || is_third(library) ? newer : older;
  return has_second ? all : all & table.multiply.fill(library, "hipblasGemmEx", missing);
}

}  // namespace

GpuBlasLibrary open_hipblas(const CallWatch& watch) {
  auto library =
      open_gpu_blas_library({"libhipblas.so.3", "libhipblas.so.2", "libhipblas.so.1", "libhipblas.so.0"}, watch,
                            fill_hipblas);
  // It has no call for its version: the file's name has it.
  if (const auto at = library.report.file.find(".so."); at != std::string::npos)
    library.report.version = library.report.file.substr(at + 4);
  if (library.report.state == LibraryState::broken)
    library.remedy =
        "see which libhipblas that is (LD_LIBRARY_PATH, modules), that librocblas and librocsolver load with it, and "
        "that all are of the same ROCm as libamdhip64";
  return library;
}

}  // namespace muster
