/// Products of matrices on a GPU by its vendor's BLAS: cuBLAS, or hipBLAS over rocBLAS. Opened at run time, like
/// everything of a vendor's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device/gpu.hpp"

namespace muster {

/// What the numbers of a product are. The sum is kept in the type of the result, or a wider one.
enum class NumberType : std::uint8_t {
  float64,   ///< double, double
  float32,   ///< float, float; every bit of them is used
  tf32,      ///< float of which the lowest 13 bits may be left out; float
  float16,   ///< IEEE half; float
  bfloat16,  ///< the upper half of a float; float
  int8,      ///< signed; 32-bit integer
};

/// `float64`, `tf32`, ...
[[nodiscard]] std::string_view to_string(NumberType type);
/// Bytes of a number of A and B, and of C.
[[nodiscard]] std::size_t bytes_of_input(NumberType type);
[[nodiscard]] std::size_t bytes_of_result(NumberType type);

/// C = op(A) op(B), overwritten; row after row without gaps. op(A) has `rows` x `inner`, op(B) `inner` x `columns`, C
/// `rows` x `columns`. All in memory of the device.
struct GpuProduct {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  int rows = 0;
  int columns = 0;
  int inner = 0;
  bool is_a_transposed = false;  ///< A lies in memory as `inner` x `rows`
  bool is_b_transposed = false;  ///< B lies in memory as `columns` x `inner`
  NumberType type = NumberType::float32;
};

struct GpuBlasTable;

/// A vendor's BLAS on this node.
struct GpuBlasLibrary {
  LibraryReport report;
  std::string remedy;                         ///< a sentence where the library is broken
  std::string setting;                        ///< `NAME=value` by which it can't start on a device; empty: none
  std::shared_ptr<const GpuBlasTable> table;  ///< nullptr unless the library works
};

/// That of the vendor (GpuVendor::name): absent, broken or loaded whole. It asks for no device: what it makes of one
/// is seen by `GpuBlas::make`.
[[nodiscard]] GpuBlasLibrary open_gpu_blas(std::string_view vendor, const CallWatch& watch);

/// The library's handle for one device. The same product gives the same bits again: atomics are off, and the library's
/// scratch memory is ours. To be used by one thread; `gpus` and `library.table` outlive it.
class GpuBlas {
 public:
  /// Fails with kind `device` and the library's own words.
  [[nodiscard]] static Result<std::unique_ptr<GpuBlas>> make(const GpuBlasLibrary& library, const Gpus& gpus,
                                                             int device, CallWatch watch);
  GpuBlas(const GpuBlas&) = delete;
  GpuBlas& operator=(const GpuBlas&) = delete;
  ~GpuBlas();

  /// Whether the library knows the type at all; the device may still refuse it.
  [[nodiscard]] bool has(NumberType type) const;
  /// `NAME=value`: the setting by which the library multiplies another type instead; empty: none.
  [[nodiscard]] std::string withheld(NumberType type) const;
  /// Enqueues the product. Fails with kind `device`.
  [[nodiscard]] Result<void> multiply(const GpuProduct& product, void* stream);
  /// The last failure of `multiply` was that library or device have no such product (they return `not supported` or
  /// `architecture mismatch`), which is not a fault.
  [[nodiscard]] bool was_refused() const { return was_refused_; }
  /// `cuBLAS 13.0.2`.
  [[nodiscard]] const std::string& name() const;

 private:
  GpuBlas(std::shared_ptr<const GpuBlasTable> table, const Gpus& gpus, int device, CallWatch watch);
  template <class Call, class... Args>
  [[nodiscard]] Result<void> ask(const Call& call, Args... args) const;
  [[nodiscard]] Result<void> set_up();
  [[nodiscard]] Result<void> bind(void* stream);

  std::shared_ptr<const GpuBlasTable> table_;
  const Gpus& gpus_;
  int device_;
  CallWatch watch_;
  void* handle_ = nullptr;
  GpuHandle scratch_;
  std::optional<void*> stream_;
  mutable int code_ = 0;
  bool was_refused_ = false;
};

}  // namespace muster
