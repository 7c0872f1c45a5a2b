/// What ranks add up, such that the sum is exact in any order and every rank knows it without asking. Small whole
/// numbers: element i of rank r is a(i) + b(r) c(i) + d(r) e(i), so the sum over n ranks is
/// n a(i) + c(i) (b(0) + ... + b(n-1)) + e(i) (d(0) + ... + d(n-1)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "muster/comm.hpp"

namespace muster::allreduce {

/// An element that is not what the sum should be.
struct WrongElement {
  std::size_t index = 0;
  std::string expected;  ///< as a number
  std::string got;
  std::uint64_t differing = 0;  ///< bits that differ, lowest bit first
  std::size_t count = 0;        ///< wrong elements in all
  friend bool operator==(const WrongElement&, const WrongElement&) = default;
};

/// Contributions of one rank and their sums. Exact for up to 400,000 ranks also as float: every partial sum is a whole
/// number below 2^24, where float has them all.
class Values {
 public:
  /// What a rank and what an element bring; two ranks are alike in one of 256 cases.
  struct Weights {
    std::int64_t b = 0;
    std::int64_t d = 0;
  };
  struct Terms {
    std::int64_t a = 0;
    std::int64_t c = 0;
    std::int64_t e = 0;
  };

  Values(SumType type, std::uint64_t seed, int ranks);

  /// Elements first, first + 1, ... of `rank`; as many as fit into `memory`.
  void fill(std::span<std::byte> memory, int rank, std::size_t first) const;
  /// Compares with the sum, bit for bit.
  [[nodiscard]] std::optional<WrongElement> find_wrong(std::span<const std::byte> memory, std::size_t first) const;
  [[nodiscard]] std::int64_t contribution(int rank, std::size_t index) const;
  [[nodiscard]] std::int64_t sum(std::size_t index) const;
  [[nodiscard]] Weights weights(int rank) const;
  [[nodiscard]] Terms terms(std::size_t index) const;
  [[nodiscard]] static std::int64_t value(const Weights& of_rank, const Terms& of_element) {
    return of_element.a + of_rank.b * of_element.c + of_rank.d * of_element.e;
  }

 private:
  SumType type_;
  std::uint64_t seed_;
  int ranks_;
  bool is_small_;  ///< narrower numbers, for many ranks
  std::int64_t sum_b_ = 0;
  std::int64_t sum_d_ = 0;
};

[[nodiscard]] std::string_view to_string(SumType type);
[[nodiscard]] std::optional<SumType> parse_sum_type(std::string_view name);

}  // namespace muster::allreduce
