/// Numbers of 16 bits, for which C++20 has no types: IEEE 754's binary16 and bfloat16. Whole numbers that a type has go
/// in exactly; every bit pattern comes out as the number that it stands for.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace muster::allreduce {

/// 11 bits of precision: all whole numbers up to 2,048.
class Half {
 public:
  static constexpr std::int64_t most_whole = 2048;

  Half() = default;
  explicit Half(std::int64_t whole) {
    const auto wide = std::bit_cast<std::uint32_t>(static_cast<float>(whole));
    if (whole == 0) return;
    const std::uint32_t exponent = ((wide >> 23) & 0xff) - 127 + 15;
    bits_ = static_cast<std::uint16_t>((wide >> 16 & 0x8000) | exponent << 10 | (wide >> 13 & 0x3ff));
  }
  [[nodiscard]] float number() const {
    const int exponent = bits_ >> 10 & 0x1f;
    const auto fraction = static_cast<float>(bits_ & 0x3ff);
    const float size = exponent == 31  ? bits_ % 1024 == 0 ? std::numeric_limits<float>::infinity()
                                                           : std::numeric_limits<float>::quiet_NaN()
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                       : std::ldexp(fraction + 1024, exponent - 25);
    return (bits_ & 0x8000) != 0 ? -size : size;
  }

 private:
  std::uint16_t bits_ = 0;
};

/// 8 bits of precision, the range of a float: all whole numbers up to 256.
class BFloat16 {
 public:
  static constexpr std::int64_t most_whole = 256;

  BFloat16() = default;
  explicit BFloat16(std::int64_t whole)
      : bits_(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(whole)) >> 16)) {}
  [[nodiscard]] float number() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16); }

 private:
  std::uint16_t bits_ = 0;
};

}  // namespace muster::allreduce
