/// What cuBLAS and hipBLAS share, and each one's numbers for it. Filled in folders of vendors;
/// used by gpu_blas.cpp alone.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>

#include "device/gpu_blas.hpp"
#include "device/gpu_table.hpp"

namespace muster {

/// The vendor's numbers for one NumberType. A negative input: the vendor has no such product.
struct BlasTypes {
  int input = -1, result = 0, compute = 0;
};

struct GpuBlasTable {
  std::string label;  ///< `cuBLAS`; with its version once that is known
  int as_is = 0, transposed = 1;
  int algorithm = -1;
  std::array<BlasTypes, 6> types;              ///< by NumberType
  std::map<NumberType, std::string> withheld;  ///< `NAME=value`, by which the library multiplies another type
  std::array<int, 2> refusals{};               ///< codes that mean: no such product here
  int math_mode = 0;
  std::function<std::string(int code)> words;

  VendorCall<void**> create;
  VendorCall<void*> destroy;
  VendorCall<void*, void*> set_stream;
  VendorCall<void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
             void*, int, int, int, int>
      multiply;
  // Left alone where the library lacks them.
  VendorCall<void*, void*, std::size_t> set_workspace;
  VendorCall<void*, int> set_math_mode, set_atomics;
};

/// Opens the first of `names`; `fill` is given the library once it is open, and returns false when it lacks something.
[[nodiscard]] GpuBlasLibrary open_gpu_blas_library(
    std::initializer_list<const char*> names, const CallWatch& watch,
    const std::function<bool(const Library&, GpuBlasTable&, std::vector<std::string>& missing)>& fill);

/// A library's own words for its codes: `CUBLAS_STATUS_NOT_INITIALIZED, the library was not initialized`. Either
/// function may be nullptr.
[[nodiscard]] std::function<std::string(int)> blas_words(const char* (*name)(int), const char* (*text)(int));

[[nodiscard]] GpuBlasLibrary open_cublas(const CallWatch& watch);
[[nodiscard]] GpuBlasLibrary open_hipblas(const CallWatch& watch);

}  // namespace muster
