// Orders of `muster selftest`, and the kinds of errors in data.
#include "base/fault_injection.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace muster {
namespace {

std::size_t wrong_bits(std::span<const std::byte> bytes) {
  std::size_t bits = 0;
  for (const std::byte byte : bytes)
    bits += static_cast<std::size_t>(__builtin_popcount(std::to_integer<unsigned>(byte)));
  return bits;
}

TEST(FaultOrders, OfErrorsInData) {
  const auto orders =
      parse_faults("flip 1 sum; flip 2 received warp; flip 3 memory every 7; flip 4 gathered nan every 100");
  ASSERT_TRUE(orders) << to_string(orders.error());
  EXPECT_EQ(orders->flipped.at(1), (InjectedCorruption{"sum", CorruptionKind::bit, 1}));
  EXPECT_EQ(orders->flipped.at(2), (InjectedCorruption{"received", CorruptionKind::warp, 1}));
  EXPECT_EQ(orders->flipped.at(3), (InjectedCorruption{"memory", CorruptionKind::bit, 7}));
  EXPECT_EQ(orders->flipped.at(4), (InjectedCorruption{"gathered", CorruptionKind::nan, 100}));
}

TEST(FaultOrders, WhatIsNotOneIsRefused) {
  for (const char* order : {"flip", "flip 1", "flip 1 disk", "flip 1 sum all", "flip 1 sum every", "flip 1 sum every 0",
                            "flip 1 sum every x", "flip 1 sum bit every 7 8", "flip 1 sum bit bits", "flip -1 sum",
                            "slow 1 2 3", "ahead 1"}) {
    const auto orders = parse_faults(order);
    ASSERT_FALSE(orders) << order;
    EXPECT_NE(orders.error().what.find("\"flip 1 sum warp every 100\" (bit, bits, warp, periodic, small, nan)"),
              std::string::npos);
  }
}

TEST(CorruptionKinds, EachChangesWhatItsNameSays) {
  const std::map<CorruptionKind, std::size_t> bits{{CorruptionKind::bit, 1},
                                                   {CorruptionKind::bits, 3},
                                                   {CorruptionKind::warp, 32},
                                                   {CorruptionKind::periodic, 4},
                                                   {CorruptionKind::small, 1}};
  for (const auto& [kind, count] : bits) {
    std::vector<std::byte> data(4096);
    corrupt_bytes(kind, data);
    EXPECT_EQ(wrong_bits(data), count) << corruption_kinds[static_cast<std::size_t>(kind)];
  }
  for (const std::string_view name : corruption_kinds) EXPECT_TRUE(corruption_kind(name)) << name;
  EXPECT_FALSE(corruption_kind("other"));
}

TEST(CorruptionKinds, SmallIsAnErrorInTheSeventhDigit) {
  std::vector<float> values(100, 1.5F);
  corrupt_bytes(CorruptionKind::small, std::as_writable_bytes(std::span(values)));
  EXPECT_NE(values[50], 1.5F);
  EXPECT_NEAR(values[50], 1.5F, 2e-7);
}

TEST(CorruptionKinds, NanIsOneAsFloatAndAsDouble) {
  std::vector<float> floats(101, 1);
  corrupt_bytes(CorruptionKind::nan, std::as_writable_bytes(std::span(floats)));
  EXPECT_TRUE(std::isnan(floats[50]) && std::isnan(floats[51]));
  std::vector<double> doubles(101, 1);
  corrupt_bytes(CorruptionKind::nan, std::as_writable_bytes(std::span(doubles)));
  EXPECT_EQ(std::count_if(doubles.begin(), doubles.end(), [](double value) { return std::isnan(value); }), 1);
}

TEST(CorruptionKinds, WhatIsShorterThanAWordLosesABit) {
  for (std::size_t size = 0; size < 9; ++size)
    for (std::size_t kind = 0; kind < corruption_kinds.size(); ++kind) {
      std::vector<std::byte> data(size);
      corrupt_bytes(static_cast<CorruptionKind>(kind), data);
      EXPECT_EQ(wrong_bits(data) > 0, size > 0) << size << ' ' << corruption_kinds[kind];
    }
}

}  // namespace
}  // namespace muster
