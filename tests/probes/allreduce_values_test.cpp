#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

#include "probes/allreduce/float16.hpp"
#include "probes/allreduce/values.hpp"

namespace muster::allreduce {
namespace {

constexpr SumType all_types[] = {SumType::int32,   SumType::int64,   SumType::float32,
                                 SumType::float64, SumType::float16, SumType::bfloat16};
constexpr std::int64_t float_has_all_below = 1 << 24;

/// Adds what `order` says, rank by rank, in the type itself: what an MPI library does, in any order it likes.
template <class T>
ByteVector add_as(const Values& values, const std::vector<int>& order, std::size_t elements, std::size_t first) {
  std::vector<T> sum(elements, T{});
  for (const int rank : order) {
    std::vector<T> mine(elements);
    values.fill(std::as_writable_bytes(std::span(mine)), rank, first);
    for (std::size_t i = 0; i < elements; ++i) sum[i] += mine[i];
  }
  const auto bytes = std::as_bytes(std::span(sum));
  return {bytes.begin(), bytes.end()};
}

/// As above, rounding to the type after every step: what a GPU does that keeps no wider sum.
template <class T>
ByteVector add_narrow(const Values& values, const std::vector<int>& order, std::size_t elements, std::size_t first) {
  std::vector<T> sum(elements);
  for (const int rank : order) {
    std::vector<T> mine(elements);
    values.fill(std::as_writable_bytes(std::span(mine)), rank, first);
    for (std::size_t i = 0; i < elements; ++i)
      sum[i] = T(static_cast<std::int64_t>(sum[i].number() + mine[i].number()));
  }
  const auto bytes = std::as_bytes(std::span(sum));
  return {bytes.begin(), bytes.end()};
}

ByteVector add(SumType type, const Values& values, const std::vector<int>& order, std::size_t elements,
               std::size_t first) {
  if (type == SumType::int32) return add_as<std::int32_t>(values, order, elements, first);
  if (type == SumType::int64) return add_as<std::int64_t>(values, order, elements, first);
  if (type == SumType::float32) return add_as<float>(values, order, elements, first);
  if (type == SumType::float16) return add_narrow<Half>(values, order, elements, first);
  if (type == SumType::bfloat16) return add_narrow<BFloat16>(values, order, elements, first);
  return add_as<double>(values, order, elements, first);
}

std::vector<int> ranks_up_to(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

#ifdef MUSTER_HAVE_RAPIDCHECK
TEST(AllreduceValues, SumsAreExactInAnyOrder) {
  EXPECT_TRUE(rc::check("contributions add up to sum(), whatever the type, the ranks, the order", [] {
    const auto type = *rc::gen::elementOf(std::vector<SumType>(std::begin(all_types), std::end(all_types)));
    const int count = *rc::gen::inRange(1, 65);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto first = *rc::gen::inRange<std::size_t>(0, 1u << 30);
    const Values values(type, seed, count);
    std::vector<int> order = ranks_up_to(count);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
    RC_ASSERT(!values.find_wrong(add(type, values, order, 17, first), first));
    order.pop_back();
    RC_ASSERT(values.find_wrong(add(type, values, order, 64, first), first).has_value());
  }));
}
#endif

class ManyRanks : public testing::TestWithParam<int> {};

/// No partial sum, of any of the ranks in any order, can be larger than the sum of the absolute values.
TEST_P(ManyRanks, NoPartialSumLeavesTheWholeNumbersOfAFloat) {
  const Values values(SumType::float32, 1, GetParam());
  for (const std::size_t index : {0u, 1u, 2u, 3u, 1000u, 4'194'303u}) {
    std::vector<float> contributions;
    std::int64_t absolute = 0;
    for (int rank = 0; rank < GetParam(); ++rank) {
      const std::int64_t value = values.contribution(rank, index);
      absolute += std::abs(value);
      contributions.push_back(static_cast<float>(value));
    }
    EXPECT_LT(absolute, float_has_all_below) << index;
    // The worst order: all that push the same way first.
    std::sort(contributions.begin(), contributions.end());
    float sum = 0;
    for (const float value : contributions) sum += value;
    EXPECT_EQ(static_cast<std::int64_t>(sum), values.sum(index)) << index;
  }
}

TEST_P(ManyRanks, TheLargestContributionTimesTheRanksStaysBelowToo) {
  std::int64_t most_of[5] = {};
  const auto see = [&](int which, std::int64_t value) { most_of[which] = std::max(most_of[which], std::abs(value)); };
  const Values values(SumType::float32, 1, GetParam());
  for (int rank = 0; rank < 4096; ++rank) {
    see(0, values.weights(rank).b);
    see(1, values.weights(rank).d);
  }
  for (std::size_t index = 0; index < 65536; ++index) {
    see(2, values.terms(index).a);
    see(3, values.terms(index).c);
    see(4, values.terms(index).e);
  }
  const std::int64_t most = most_of[2] + most_of[0] * most_of[3] + most_of[1] * most_of[4];
  EXPECT_EQ(most, GetParam() > 21'845 ? 40 : 768);
  EXPECT_LT(most * GetParam(), float_has_all_below);
}

INSTANTIATE_TEST_SUITE_P(AllreduceValues, ManyRanks, testing::Values(2, 20'000, 21'845, 21'846, 400'000));

struct NarrowCase {
  SumType type;
  int ranks;
};

void PrintTo(const NarrowCase& one, std::ostream* out) {
  *out << to_string(one.type) << " on " << one.ranks << " ranks";
}

std::vector<NarrowCase> narrow_cases() {
  std::vector<NarrowCase> cases;
  for (const SumType type : {SumType::float16, SumType::bfloat16})
    for (const int ranks : {1, 2, 16, 21, 22, 170, 171, 3000}) cases.push_back({type, ranks});
  return cases;
}

class Narrow : public testing::TestWithParam<NarrowCase> {};

/// Of any number of ranks: those that bring something to an element are few enough.
TEST_P(Narrow, NoPartialSumLeavesTheWholeNumbersOfTheType) {
  const auto [type, ranks] = GetParam();
  const Values values(type, 1, ranks);
  std::vector<char> has_brought(static_cast<std::size_t>(ranks), 0);
  for (std::size_t index = 0; index < 16 * values.stride() + 64; ++index) {
    std::int64_t absolute = 0;
    std::int64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t value = values.contribution(rank, index);
      EXPECT_LE(std::abs(value), 12);
      absolute += std::abs(value);
      sum += value;
      has_brought[static_cast<std::size_t>(rank)] |= value != 0;
    }
    ASSERT_LE(absolute, type == SumType::float16 ? 2048 : 256) << index;
    ASSERT_EQ(sum, values.sum(index)) << index;
  }
  EXPECT_EQ(std::count(has_brought.begin(), has_brought.end(), 0), 0);
}

INSTANTIATE_TEST_SUITE_P(AllreduceValues, Narrow, testing::ValuesIn(narrow_cases()));

/// Every rank brings something to every element where the ranks are few.
TEST(AllreduceValues, TypesOf16BitsLeaveNobodyOutOnFewRanks) {
  EXPECT_EQ(Values(SumType::bfloat16, 1, 21).stride(), 1u);
  EXPECT_EQ(Values(SumType::bfloat16, 1, 22).stride(), 2u);
  EXPECT_EQ(Values(SumType::float16, 1, 170).stride(), 1u);
  EXPECT_EQ(Values(SumType::float16, 1, 171).stride(), 2u);
  EXPECT_EQ(Values(SumType::float32, 1, 400'000).stride(), 1u);
}

TEST(AllreduceValues, NumbersOf16BitsAreThoseOfTheirStandards) {
  for (std::int64_t whole = -2048; whole <= 2048; ++whole) EXPECT_EQ(Half(whole).number(), whole);
  for (std::int64_t whole = -256; whole <= 256; ++whole) EXPECT_EQ(BFloat16(whole).number(), whole);
  EXPECT_EQ(std::bit_cast<std::uint16_t>(Half(1)), 0x3c00);
  EXPECT_EQ(std::bit_cast<std::uint16_t>(Half(-2)), 0xc000);
  EXPECT_EQ(std::bit_cast<std::uint16_t>(BFloat16(1)), 0x3f80);
  const auto half = [](unsigned bits) { return std::bit_cast<Half>(static_cast<std::uint16_t>(bits)).number(); };
  EXPECT_EQ(half(0x7bff), 65504);
  EXPECT_EQ(half(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(half(0x0400), std::ldexp(1.0f, -14));
  EXPECT_EQ(half(0x3555), std::ldexp(1365.0f, -12));
  EXPECT_TRUE(std::isinf(half(0xfc00)) && half(0xfc00) < 0);
  EXPECT_TRUE(std::isnan(half(0x7c01)));
}

/// One rank's contribution twice in place of another's must not give the same sum.
TEST(AllreduceValues, TwoRanksAreTakenForEachOtherOnlyRarely) {
  for (const int ranks : {64, 30'000}) {
    const Values values(SumType::float32, 1, ranks);
    int alike = 0;
    for (int one = 0; one < 64; ++one)
      for (int other = 0; other < one; ++other) {
        std::size_t same = 0;
        for (std::size_t index = 0; index < 64; ++index)
          same += values.contribution(one, index) == values.contribution(other, index);
        alike += same == 64;
      }
    EXPECT_LE(alike, 2016 / 256 * 3) << ranks;
  }
}

TEST(AllreduceValues, ItMattersForEveryElementWhichRankItCameFrom) {
  for (const int ranks : {64, 30'000}) {
    const Values values(SumType::float32, 1, ranks);
    for (std::size_t index = 0; index < 4096; ++index) {
      const Values::Terms terms = values.terms(index);
      EXPECT_GE(terms.c, 1);
      EXPECT_GE(terms.e, 1);
    }
  }
}

TEST(AllreduceValues, FillDependsOnTheElementNotOnTheBuffer) {
  const Values values(SumType::float64, 9, 3);
  std::vector<double> whole(20);
  std::vector<double> tail(15);
  values.fill(std::as_writable_bytes(std::span(whole)), 2, 100);
  values.fill(std::as_writable_bytes(std::span(tail)), 2, 105);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), whole.begin() + 5));
  EXPECT_EQ(static_cast<std::int64_t>(whole[0]), values.contribution(2, 100));
}

template <class T>
std::vector<T> sums_of(const Values& values, std::size_t elements, std::size_t first) {
  std::vector<T> sums;
  for (std::size_t i = 0; i < elements; ++i) sums.push_back(static_cast<T>(values.sum(first + i)));
  return sums;
}

TEST(AllreduceValues, TheWrongElementIsNamedWithItsBits) {
  const Values values(SumType::float32, 5, 4);
  auto sums = sums_of<float>(values, 50, 1000);
  ASSERT_FALSE(values.find_wrong(std::as_bytes(std::span(sums)), 1000));
  const float right = sums[7];
  sums[7] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(right) ^ (1u << 23));
  sums[31] += 2;
  const auto found = values.find_wrong(std::as_bytes(std::span(sums)), 1000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, 1007u);
  EXPECT_EQ(std::stof(found->expected), right);
  EXPECT_EQ(std::stof(found->got), sums[7]);
  EXPECT_EQ(found->differing, 1u << 23);
  EXPECT_EQ(found->count, 2u);
}

TEST(AllreduceValues, EveryBitOfEveryTypeIsLookedAt) {
  for (const SumType type : all_types) {
    const Values values(type, 3, 5);
    const ByteVector right = add(type, values, ranks_up_to(5), 4, 0);
    for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
      ByteVector flipped = right;
      flipped[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
      const auto found = values.find_wrong(flipped, 0);
      ASSERT_TRUE(found) << to_string(type) << " bit " << bit;
      const std::size_t width = 8 * size_of(type);
      EXPECT_EQ(*found, (WrongElement{bit / width, std::to_string(values.sum(bit / width)), found->got,
                                      std::uint64_t{1} << (bit % width), 1}));
    }
  }
}

TEST(AllreduceValues, ASumThatIsMinusZeroOrNotANumberIsWrong) {
  const Values values(SumType::float64, 1, 2);
  std::size_t zero = 0;
  while (values.sum(zero) != 0) ++zero;
  auto sums = sums_of<double>(values, 1, zero);
  sums[0] = -0.0;
  EXPECT_EQ(values.find_wrong(std::as_bytes(std::span(sums)), zero)->differing, std::uint64_t{1} << 63);
  sums[0] = std::nan("");
  EXPECT_EQ(values.find_wrong(std::as_bytes(std::span(sums)), zero)->got, "nan");
}

TEST(AllreduceValues, ATypeHasOneName) {
  for (const SumType type : all_types) EXPECT_EQ(parse_sum_type(to_string(type)), type);
  EXPECT_EQ(parse_sum_type("float64"), std::nullopt);
}

}  // namespace
}  // namespace muster::allreduce
