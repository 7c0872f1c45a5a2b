// Stands in for libcublas.so.12 and, with FAKE_HIPBLAS, for libhipblas.so.2: products on the host, down columns as the
// real ones have it, done while a thread waits for the stream of the runtime's stand-in, which has to be loaded.
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "products.hpp"
#include "sheet.hpp"

#ifdef FAKE_HIPBLAS
#define NAME(nvidia, amd) amd
#else
#define NAME(nvidia, amd) nvidia
#endif
#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALL(nvidia, amd, ...) EXPORTED int NAME(nvidia, amd)(__VA_ARGS__)

namespace {

constexpr int not_initialized = 1;
constexpr int invalid_value = NAME(7, 3);
constexpr int not_supported = NAME(15, 7);
constexpr int transposed = NAME(1, 112);

void* runtime_symbol(const char* name) {
  const char* folder = std::getenv("MUSTER_DRIVERS");
  const std::string path =
      std::string(folder == nullptr ? "." : folder) + "/" + NAME("libcuda.so.1", "libamdhip64.so.6");
  static void* const runtime = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : ::dlsym(runtime, name);
}

int current() {
  static auto* const ask = reinterpret_cast<int (*)()>(runtime_symbol("stand_in_current"));
  return ask == nullptr ? -1 : ask();
}

/// cudaDataType and hipDataType -> types of numbers.hpp; -1: none of ours.
int type_of(int vendors) {
  switch (vendors) {
    case 1:
      return 0;
    case 0:
      return 1;
    case 2:
      return 3;
    case 14:
      return 4;
    case 3:
      return 5;
    default:
      return -1;
  }
}

constexpr int rows_at_once = 4;
constexpr int columns_at_once = 8;
using Lanes = double __attribute__((vector_size(4 * sizeof(double)), aligned(alignof(double))));

#if defined(__x86_64__) && !defined(__clang__)
#define FOR_ANY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_ANY_PROCESSOR
#endif

/// sums[r][c] = the sum over i of left[r * k + i] * right[i * n + c], in the order of i whatever the processor.
FOR_ANY_PROCESSOR void add_block(double (&sums)[rows_at_once][columns_at_once], const double* left, const double* right,
                                 int k, int n) {
  Lanes low[rows_at_once] = {};
  Lanes high[rows_at_once] = {};
  for (int i = 0; i < k; ++i) {
    const auto* of = reinterpret_cast<const Lanes*>(right + static_cast<std::ptrdiff_t>(i) * n);
    const Lanes first = of[0];
    const Lanes second = of[1];
    for (int row = 0; row < rows_at_once; ++row) {
      const double factor = left[static_cast<std::ptrdiff_t>(row) * k + i];
      low[row] += factor * first;
      high[row] += factor * second;
    }
  }
  for (int row = 0; row < rows_at_once; ++row)
    for (int lane = 0; lane < 4; ++lane) {
      sums[row][lane] = low[row][lane];
      sums[row][4 + lane] = high[row][lane];
    }
}

int whole(int count, int block) {
  return (count + block - 1) / block * block;
}

struct Matrix {
  const void* memory;
  int lead;
  bool is_transposed;
};

struct Product {
  int device;
  void* stream;
  int m, n, k;
  int type, result;  ///< of the result: 0 float64, 1 float32, 10 int32
  Matrix a, b;
  void* c;
  int c_lead;

  /// Row after row, whatever it was; zeros where `padded` has more of either.
  [[nodiscard]] std::vector<double> read(const Matrix& matrix, int rows, int columns, int padded_rows,
                                         int padded_columns) const {
    std::vector<double> values(static_cast<std::size_t>(padded_rows) * static_cast<std::size_t>(padded_columns));
    const auto* floats = static_cast<const float*>(matrix.memory);
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const auto at =
            static_cast<std::size_t>(matrix.is_transposed ? row * matrix.lead + column : column * matrix.lead + row);
        values[static_cast<std::size_t>(row * padded_columns + column)] =
            type == 1 ? static_cast<double>(floats[at])
                      : fake::get_number(static_cast<const std::byte*>(matrix.memory), type, at);
      }
    return values;
  }

  void put(int row, int column, double sum) const {
    const auto at = static_cast<std::size_t>(column * c_lead + row);
    auto* to = static_cast<std::byte*>(c);
    if (result == 10)
      fake::put_as(to, at, static_cast<std::int32_t>(sum));
    else if (result == 1)
      fake::put_as(to, at, sum);
    else
      fake::put_as(to, at, static_cast<float>(sum));
  }

  void compute() const {
    const int columns = whole(n, columns_at_once);
    const auto left = read(a, m, k, whole(m, rows_at_once), k);
    const auto right = read(b, k, n, k, columns);
    double sums[rows_at_once][columns_at_once];
    for (int row = 0; row < m; row += rows_at_once)
      for (int column = 0; column < n; column += columns_at_once) {
        add_block(sums, left.data() + static_cast<std::ptrdiff_t>(row) * k, right.data() + column, k, columns);
        for (int r = 0; r < std::min(rows_at_once, m - row); ++r)
          for (int c_of = 0; c_of < std::min(columns_at_once, n - column); ++c_of)
            put(row + r, column + c_of, sums[r][c_of]);
      }
    const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(c_lead) * (result == 1 ? 8 : 4);
    fake::after_product(device, c, bytes);
    static auto* const took = reinterpret_cast<void (*)(void*, double)>(runtime_symbol("stand_in_took"));
    // 100 TFLOP/s of single precision, as much more as numbers are smaller.
    if (took != nullptr) took(stream, 2.0 * m * n * k * static_cast<double>(fake::size_of_number(type)) / 400e12);
  }
};

bool go_on(void* state) {
  auto* product = static_cast<Product*>(state);
  product->compute();
  delete product;
  return true;
}

struct Handle {
  void* stream = nullptr;
};

}  // namespace

CALL(cublasCreate_v2, hipblasCreate, void** handle) {
  if (const int code = fake::entered(NAME("cublasCreate_v2", "hipblasCreate"), current()); code != 0) return code;
  if (current() < 0) return not_initialized;
  *handle = new Handle;
  return 0;
}
CALL(cublasDestroy_v2, hipblasDestroy, void* handle) {
  delete static_cast<Handle*>(handle);
  return fake::entered(NAME("cublasDestroy_v2", "hipblasDestroy"), current());
}
CALL(cublasSetStream_v2, hipblasSetStream, void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return fake::entered(NAME("cublasSetStream_v2", "hipblasSetStream"), current());
}
CALL(cublasSetAtomicsMode, hipblasSetAtomicsMode, void*, int) {
  return fake::entered(NAME("cublasSetAtomicsMode", "hipblasSetAtomicsMode"), current());
}
#ifdef FAKE_HIPBLAS
EXPORTED const char* hipblasStatusToString(int code) {
  switch (code) {
    case 1:
      return "HIPBLAS_STATUS_NOT_INITIALIZED";
    case 2:
      return "HIPBLAS_STATUS_ALLOC_FAILED";
    case 5:
      return "HIPBLAS_STATUS_EXECUTION_FAILED";
    case 7:
      return "HIPBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "HIPBLAS_STATUS_UNKNOWN";
  }
}
#else
EXPORTED const char* cublasGetStatusName(int code) {
  switch (code) {
    case 1:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case 13:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 15:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_UNKNOWN";
  }
}
EXPORTED const char* cublasGetStatusString(int code) {
  return code == 1 ? "the library was not initialized" : code == 13 ? "the GPU program failed to execute" : "it failed";
}
CALL(cublasGetProperty, , int which, int* value) {
  constexpr int version[] = {12, 8, 4};
  *value = version[which];
  return 0;
}
CALL(cublasSetWorkspace_v2, , void*, void*, std::size_t) {
  return fake::entered("cublasSetWorkspace_v2", current());
}
CALL(cublasSetMathMode, , void*, int) {
  return fake::entered("cublasSetMathMode", current());
}
#endif
CALL(cublasGemmEx, hipblasGemmEx_v2, void* handle, int ta, int tb, int m, int n, int k, const void*, const void* a,
     int a_type, int a_lead, const void* b, int b_type, int b_lead, const void*, void* c, int c_type, int c_lead, int,
     int) {
  if (const int code = fake::entered(NAME("cublasGemmEx", "hipblasGemmEx_v2"), current()); code != 0) return code;
  const int type = type_of(a_type);
  if (type < 0 || a_type != b_type) return not_supported;
  if (m <= 0 || n <= 0 || k <= 0) return invalid_value;
  static auto* const hold = reinterpret_cast<void (*)(void*, bool (*)(void*), void*)>(runtime_symbol("stand_in_hold"));
  if (hold == nullptr) return not_initialized;
  void* stream = static_cast<Handle*>(handle)->stream;
  hold(stream, go_on,
       new Product{current(),
                   stream,
                   m,
                   n,
                   k,
                   type,
                   c_type,
                   {a, a_lead, ta == transposed},
                   {b, b_lead, tb == transposed},
                   c,
                   c_lead});
  return 0;
}
