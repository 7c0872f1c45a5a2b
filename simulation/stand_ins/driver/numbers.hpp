/// Numbers of the types that matrices are made of. Types are as in NumberType of src/device/gpu_blas.hpp: 0 float64, 1
/// float32, 2 tf32, 3 float16, 4 bfloat16, 5 int8.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fake {

inline std::size_t size_of_number(int type) {
  constexpr std::size_t sizes[] = {8, 4, 4, 2, 2, 1};
  return sizes[type];
}

template <class T>
void put_as(std::byte* memory, std::size_t i, T value) {
  std::memcpy(memory + i * sizeof value, &value, sizeof value);
}
template <class T>
T got_as(const std::byte* memory, std::size_t i) {
  T value;
  std::memcpy(&value, memory + i * sizeof value, sizeof value);
  return value;
}

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Of a small whole number.
inline std::uint16_t half_of(int value) {
  if (value == 0) return 0;
  const std::uint32_t bits = bits_of(static_cast<float>(value));
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff));
}

inline void put_number(std::byte* memory, int type, std::size_t i, int value) {
  if (type == 0) put_as(memory, i, static_cast<double>(value));
  if (type == 1 || type == 2) put_as(memory, i, static_cast<float>(value));
  if (type == 3) put_as(memory, i, half_of(value));
  if (type == 4) put_as(memory, i, static_cast<std::uint16_t>(bits_of(static_cast<float>(value)) >> 16));
  if (type == 5) put_as(memory, i, static_cast<std::int8_t>(value));
}

inline double get_number(const std::byte* memory, int type, std::size_t i) {
  if (type == 0) return got_as<double>(memory, i);
  if (type == 5) return got_as<std::int8_t>(memory, i);
  if (type == 1 || type == 2) return static_cast<double>(got_as<float>(memory, i));
  const auto bits = got_as<std::uint16_t>(memory, i);
  if (type == 4) {
    const std::uint32_t whole = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &whole, sizeof value);
    return static_cast<double>(value);
  }
  const int exponent = bits >> 10 & 0x1f;
  const double size = exponent == 0 ? std::ldexp(bits & 0x3ff, -24) : std::ldexp((bits & 0x3ff) | 0x400, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

}  // namespace fake
