/// What ranks add up, such that the sum is exact in any order and every rank knows it without asking. Small whole
/// numbers: element i of rank r is a(i) + b(r) c(i) + d(r) e(i), so the sum over n ranks is
/// n a(i) + c(i) (b(0) + ... + b(n-1)) + e(i) (d(0) + ... + d(n-1)).
/// Types of 16 bits have room for few: there every s-th rank alone brings something to an element, r + i = 0 (mod s),
/// and the others bring 0; n, b and d above are then those of these ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
/// number below 2^24, where float has them all; as half none is above 2,048, as bfloat16 none above 256, for any number
/// of ranks.
class Values {
 public:
  /// What a rank and what an element bring; two ranks are alike in one of 256 cases, of 16 with types of 16 bits.
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
  /// How many ranks lie between two that bring something to an element; 1: all do.
  [[nodiscard]] std::size_t stride() const { return groups_.size(); }

 private:
  /// Masks of random bits: a is half below 0, c and e are one more.
  struct Range {
    std::uint64_t a = 511, weight = 15, c = 31;
  };
  /// Ranks that bring something to the same elements.
  struct Group {
    std::int64_t ranks = 0, sum_b = 0, sum_d = 0;
  };
  [[nodiscard]] static std::int64_t value(const Weights& of_rank, const Terms& of_element) {
    return of_element.a + of_rank.b * of_element.c + of_rank.d * of_element.e;
  }
  [[nodiscard]] std::size_t group_of(std::size_t index) const { return stride() - 1 - index % stride(); }
  template <class T>
  void fill_as(std::span<std::byte> memory, int rank, std::size_t first) const;

  SumType type_;
  std::uint64_t seed_;
  Range range_;
  std::vector<Group> groups_;  ///< rank r is in group r % stride
};

[[nodiscard]] std::string_view to_string(SumType type);
[[nodiscard]] std::optional<SumType> parse_sum_type(std::string_view name);

}  // namespace muster::allreduce
