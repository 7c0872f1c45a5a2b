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
    // As a float whose exponent is too small by 112, and then 2^112 times as much: also right where there is no
    // leading 1.
    const std::uint32_t wide = static_cast<std::uint32_t>(bits & 0x7fff) << 13;
    float size = 0;
    std::memcpy(&size, &wide, sizeof size);
    size *= 0x1p112F;
    return (bits & 0x8000) != 0 ? -size : size;
  }
  static std::uint16_t narrow(float number) {
    std::uint32_t wide = 0;
    std::memcpy(&wide, &number, sizeof wide);
    const std::uint32_t sign = wide >> 16 & 0x8000;
    const std::uint32_t size = wide & 0x7fffffff;
    if (size >= 0x38800000)  // 2^-14: the type's steps are 2^13 of the float's
      return static_cast<std::uint16_t>(sign | (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13);
    // Never finer than 2^-24, which are the steps of floats from 0.5 on.
    const float shifted = std::fabs(number) + 0.5F;
    std::memcpy(&wide, &shifted, sizeof wide);
    return static_cast<std::uint16_t>(sign | (wide - 0x3f000000));
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
