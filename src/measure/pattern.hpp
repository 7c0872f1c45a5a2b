/// What buffers are filled with, and how what arrived is compared. A byte depends on a seed and its offset alone, so
/// the receiver knows what was sent without having it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster::p2p {

/// A bijective scrambling of 64 bits. Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014 (the finalizer of SplitMix64).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// The seed of what `rank` sends in a case with `seed`.
[[nodiscard]] constexpr std::uint64_t seed_of(std::uint64_t seed, int rank) {
  return mix(seed ^ (static_cast<std::uint64_t>(rank) << 32));
}

/// Fills all of `memory`: 8-byte word i is mix(seed + i); a rest below 8 bytes gets the first bytes of its word.
void fill(std::span<std::byte> memory, std::uint64_t seed);

/// What is wrong with received bytes.
struct Corruption {
  std::size_t offset = 0;  ///< of the first wrong byte
  std::uint8_t expected = 0;
  std::uint8_t got = 0;
  std::size_t bytes = 0;  ///< wrong bytes in all
  friend bool operator==(const Corruption&, const Corruption&) = default;
};

/// Compares `memory` with what `fill` made of a buffer that it is the first part of.
[[nodiscard]] std::optional<Corruption> find_corruption(std::span<const std::byte> memory, std::uint64_t seed);

/// `bits 3 and 5 of byte 17 differ (0x28 instead of 0x00)`; for the report.
[[nodiscard]] std::string describe(const Corruption& corruption);

/// Of a number of messages.
struct WrongMessages {
  Corruption first;  ///< of the first wrong one, with the wrong bytes of all
  std::uint64_t messages = 0;
  std::uint64_t compared = 0;  ///< messages
  bool is_previous = false;    ///< the first wrong one is the message that was in its place before
  friend bool operator==(const WrongMessages&, const WrongMessages&) = default;
};

/// `bit 5 of byte 17 is flipped (0x08 instead of 0x28), in 1 of 640 messages compared`.
[[nodiscard]] std::string describe(const WrongMessages& wrong);

}  // namespace muster::p2p
