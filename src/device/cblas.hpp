/// A BLAS with C's calling convention, opened at run time: an agent that does not multiply matrices does not start a
/// library's threads, and one that was built with a BLAS runs where there is none.
#pragma once

#include <string>

#include "device/execution.hpp"

namespace muster {

class Cblas {
 public:
  /// The library of this process: opened once. nullptr: there is none, or it gives wrong products.
  [[nodiscard]] static const Cblas* find();

  void multiply(const Product& product) const;
  /// False when the library has no such call.
  bool set_threads(int threads) const;
  /// `OpenBLAS 0.3.21`, or the file's name.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  using Multiply = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a,
                            int lda, const float* b, int ldb, float beta, float* c, int ldc);
  using SetThreads = void (*)(int threads);

  [[nodiscard]] static const Cblas* open(const char* library);
  [[nodiscard]] bool is_right() const;

  Multiply multiply_ = nullptr;
  SetThreads set_threads_ = nullptr;
  std::string name_;
};

}  // namespace muster
