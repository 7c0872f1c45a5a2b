// What buffers hold, and what a changed bit looks like.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "measure/pattern.hpp"
#include "measure/verified_share.hpp"

namespace muster::p2p {
namespace {

std::vector<std::byte> filled(std::size_t size, std::uint64_t seed = 7) {
  std::vector<std::byte> memory(size);
  fill(memory, seed);
  return memory;
}

TEST(Pattern, AWordDependsOnSeedAndPlaceAlone) {
  const auto memory = filled(24);
  std::uint64_t word = 0;
  std::memcpy(&word, memory.data() + 16, 8);
  EXPECT_EQ(word, mix(7 + 2));
}

/// The numbers of the published generator, seeded with 0: mix(k g) with its increment g inside.
TEST(Pattern, MixIsSplitMix64) {
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix(0x9e3779b97f4a7c15U), 0x6e789e6aa1b965f4U);
}

TEST(Pattern, EverySizeIsFilledAndRecognised) {
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 15u, 16u, 17u, 4096u, 4099u})
    EXPECT_EQ(find_corruption(filled(size), 7), std::nullopt) << size;
}

TEST(Pattern, ASmallerMessageIsTheFirstPartOfALargerOne) {
  const auto whole = filled(64);
  for (std::size_t size = 0; size <= 64; ++size)
    EXPECT_EQ(find_corruption(std::span(whole).first(size), 7), std::nullopt) << size;
}

TEST(Pattern, NothingThatWasNeverSentIsRecognised) {
  for (const std::size_t size : {1u, 8u, 100u}) {
    EXPECT_TRUE(find_corruption(filled(size, 8), 7)) << "another seed";
    EXPECT_TRUE(find_corruption(std::vector(size, std::byte{0xa5}), 7)) << "poison";
  }
  EXPECT_NE(seed_of(1, 2), seed_of(1, 3));
  EXPECT_NE(seed_of(1, 2), seed_of(2, 2));
}

TEST(Pattern, EveryFlippedBitIsFound) {
  for (const std::size_t size : {1u, 8u, 13u, 27u}) {
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      auto memory = filled(size);
      const auto before = static_cast<std::uint8_t>(memory[bit / 8]);
      memory[bit / 8] ^= std::byte{static_cast<std::uint8_t>(1U << (bit % 8))};
      const auto after = static_cast<std::uint8_t>(memory[bit / 8]);
      EXPECT_EQ(find_corruption(memory, 7), (Corruption{bit / 8, before, after, 1})) << "bit " << bit << " of " << size;
    }
  }
}

TEST(Pattern, TheFirstWrongByteIsToldAndAllAreCounted) {
  auto memory = filled(100);
  const auto expected = static_cast<std::uint8_t>(memory[21]);
  for (const std::size_t at : {21u, 22u, 64u, 99u}) memory[at] ^= std::byte{0x81};
  const auto found = find_corruption(memory, 7);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (Corruption{21, expected, static_cast<std::uint8_t>(expected ^ 0x81), 4}));
}

TEST(Pattern, IsDescribedWithOffsetAndBits) {
  EXPECT_EQ(describe(Corruption{17, 0x00, 0x08, 1}), "bit 3 of byte 17 is flipped (0x08 instead of 0x00)");
  EXPECT_EQ(describe(Corruption{0, 0x0f, 0x8e, 3}),
            "bits 0 and 7 of byte 0 differ (0x8e instead of 0x0f), 3 bytes are wrong in all");
}

TEST(Pattern, WrongMessagesAreCounted) {
  EXPECT_EQ(describe(WrongMessages{{17, 0x00, 0x08, 1}, 1, 640, false}),
            "bit 3 of byte 17 is flipped (0x08 instead of 0x00), in 1 of 640 messages compared");
  EXPECT_EQ(describe(WrongMessages{{0, 0x0f, 0x8e, 8192}, 2, 640, true}),
            "the message before it is still in its place, in 2 of 640 messages compared");
}

TEST(FoundOneIn, IsTheRarestFaultThatAMissIsLikelyForInOnePercent) {
  for (const std::uint64_t compared : {5U, 640U, 46'052U}) {
    const auto in = static_cast<double>(found_one_in(compared));
    EXPECT_LE(std::pow(1 - 1 / in, static_cast<double>(compared)), 0.01) << compared;
    EXPECT_GT(std::pow(1 - 1 / (in + 2), static_cast<double>(compared)), 0.01) << compared;
  }
  EXPECT_EQ(found_one_in(46'052), 10'000U);
  EXPECT_EQ(found_one_in(4), 0U);
}

}  // namespace
}  // namespace muster::p2p
