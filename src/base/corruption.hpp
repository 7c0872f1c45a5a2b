/// Errors in data as faulty hardware makes them, for `muster selftest` and the stand-ins of vendors' libraries alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace muster {

enum class CorruptionKind {
  bit,       ///< one bit
  bits,      ///< three bits of one word of four bytes
  warp,      ///< a bit in each of 32 successive words of four bytes
  periodic,  ///< a bit in each 1024 bytes
  small,     ///< the least bit of one word: a relative error of a float of 1e-7
  nan,       ///< two words become NaN, as floats and as a double
};

constexpr std::array<std::string_view, 6> corruption_kinds{"bit", "bits", "warp", "periodic", "small", "nan"};

[[nodiscard]] inline std::optional<CorruptionKind> corruption_kind(std::string_view name) {
  for (std::size_t i = 0; i < corruption_kinds.size(); ++i)
    if (corruption_kinds[i] == name) return static_cast<CorruptionKind>(i);
  return std::nullopt;
}

/// Changes words in the middle of `bytes`, or a bit of what is shorter than a word. `bit`: the one of kind `bit`, in
/// its byte.
inline void corrupt_bytes(CorruptionKind kind, std::span<std::byte> bytes, std::byte bit = std::byte{0x04}) {
  constexpr std::size_t word_bytes = 4;
  constexpr std::uint32_t higher_bit = 1U << 20;
  if (bytes.empty()) return;
  const std::size_t words = bytes.size() / word_bytes;
  const std::size_t middle = words / 2;
  if (kind == CorruptionKind::bit || words == 0) {
    bytes[bytes.size() / 2] ^= bit;
    return;
  }
  const auto change = [&](std::size_t at, std::uint32_t flipped, bool is_nan = false) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at * word_bytes, word_bytes);
    word = is_nan ? 0x7ff80000U : word ^ flipped;
    std::memcpy(bytes.data() + at * word_bytes, &word, word_bytes);
  };
  switch (kind) {
    case CorruptionKind::bits:
      change(middle, 1U << 3 | 1U << 12 | higher_bit);
      return;
    case CorruptionKind::warp:
      for (std::size_t i = 0; i < 32 && middle + i < words; ++i) change(middle + i, higher_bit);
      return;
    case CorruptionKind::periodic:
      for (std::size_t at = 0; at < words; at += 1024 / word_bytes) change(at, higher_bit);
      return;
    case CorruptionKind::small:
      change(middle, 1);
      return;
    case CorruptionKind::nan:
      change(middle / 2 * 2, 0, true);
      if (middle / 2 * 2 + 1 < words) change(middle / 2 * 2 + 1, 0, true);
      return;
    case CorruptionKind::bit:
      return;
  }
}

}  // namespace muster
