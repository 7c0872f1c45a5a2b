/// How the stand-in of NCCL adds up: in the type itself, rank after rank. Types of 16 bits are added as floats and
/// rounded to the nearest after each step, ties to even, as a GPU does that keeps no wider sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace fake {

/// Bytes of one element of NCCL's types (ncclDataType_t); 0: there is none of that number.
inline std::size_t size_of(int type) {
  constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < 10 ? sizes[type] : 0;
}

struct BFloat {
  static float widen(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float number = 0;
    std::memcpy(&number, &wide, sizeof number);
    return number;
  }
  static std::uint16_t narrow(float number) {
    std::uint32_t wide = 0;
    std::memcpy(&wide, &number, sizeof wide);
    return static_cast<std::uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
};

/// Of finite numbers alone, and sums below 65,520.
struct Half {
  static float widen(std::uint16_t bits) {
    const int exponent = bits >> 10 & 0x1f;
    const auto fraction = static_cast<float>((bits & 0x3ff) + (exponent == 0 ? 0 : 0x400));
    const float size = std::ldexp(fraction, std::max(exponent, 1) - 25);
    return (bits & 0x8000) != 0 ? -size : size;
  }
  static std::uint16_t narrow(float number) {
    const int sign = std::signbit(number) ? 0x8000 : 0;
    if (number == 0) return static_cast<std::uint16_t>(sign);
    int exponent = 0;
    std::frexp(number, &exponent);
    // The type's steps in this range: 11 bits, and never finer than 2^-24.
    const int step = std::max(exponent - 11, -24);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(std::fabs(number), -step)));
    return static_cast<std::uint16_t>(sign + ((step + 24) << 10) + steps);
  }
};

using Areas = std::span<const std::byte* const>;

template <class T>
void add_up_as(Areas areas, std::byte* result, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    T sum{};
    for (const std::byte* area : areas) sum += reinterpret_cast<const T*>(area)[i];
    reinterpret_cast<T*>(result)[i] = sum;
  }
}

template <class Type>
void add_up_narrow(Areas areas, std::byte* result, std::size_t first, std::size_t last) {
  using Bits = std::uint16_t;
  for (std::size_t i = first; i < last; ++i) {
    Bits sum = reinterpret_cast<const Bits*>(areas[0])[i];
    for (std::size_t rank = 1; rank < areas.size(); ++rank)
      sum = Type::narrow(Type::widen(sum) + Type::widen(reinterpret_cast<const Bits*>(areas[rank])[i]));
    reinterpret_cast<Bits*>(result)[i] = sum;
  }
}

/// Elements first to last-1 of all areas.
inline void add_up(int type, Areas areas, std::byte* result, std::size_t first, std::size_t last) {
  if (type == 2) add_up_as<std::int32_t>(areas, result, first, last);
  if (type == 4) add_up_as<std::int64_t>(areas, result, first, last);
  if (type == 6) add_up_narrow<Half>(areas, result, first, last);
  if (type == 7) add_up_as<float>(areas, result, first, last);
  if (type == 8) add_up_as<double>(areas, result, first, last);
  if (type == 9) add_up_narrow<BFloat>(areas, result, first, last);
}

}  // namespace fake
