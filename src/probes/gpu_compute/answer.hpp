/// The known answer: what a product of matrices of small whole numbers has to be, without multiplying them on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/gpu_blas.hpp"

namespace muster::gpu_compute {

/// Number `i` of a matrix of `seed`, -8 to 7: as muster_numbers in src/device/kernels makes it.
[[nodiscard]] int number_at(std::uint64_t seed, std::uint64_t i);

/// Seeds of A and B of a case with `seed`.
[[nodiscard]] constexpr std::uint64_t seed_of_a(std::uint64_t seed) {
  return 2 * seed;
}
[[nodiscard]] constexpr std::uint64_t seed_of_b(std::uint64_t seed) {
  return (2 * seed + 1) << 40;
}

/// For C = A B of n x n: C r = A (B r) for a vector r of random whole numbers of 16 bits, in exact arithmetic. A row of
/// C that is wrong passes once in 65536 times (Freivalds, Probabilistic machines can use less running time, IFIP 1977).
class Answer {
 public:
  /// Makes A and B on the way: 2 n^2 numbers, a second for n = 8192. n is at most 65536.
  Answer(std::uint64_t seed, int n);

  [[nodiscard]] int size() const { return n_; }
  /// The first wrong one of `count` rows of C from row `first` on; nullopt: none is.
  [[nodiscard]] std::optional<int> wrong_row(const std::byte* rows, int first, int count, NumberType type) const;

 private:
  int n_;
  std::vector<std::int64_t> random_;    ///< r
  std::vector<std::int64_t> expected_;  ///< A (B r)
};

}  // namespace muster::gpu_compute
