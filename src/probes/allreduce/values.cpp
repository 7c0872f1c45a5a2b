#include "probes/allreduce/values.hpp"

#include <cstring>
#include <fmt/format.h>

#include "probes/p2p/pattern.hpp"

namespace muster::allreduce {

namespace {

/// |element| <= 768 up to here, so that 21,845 of them stay below 2^24.
constexpr int most_ranks_of_wide = 21'845;

template <class T>
void fill_as(std::span<std::byte> memory, std::size_t first, const Values& values, int rank) {
  const Values::Weights weights = values.weights(rank);
  for (std::size_t i = 0; (i + 1) * sizeof(T) <= memory.size(); ++i) {
    const T value = static_cast<T>(Values::value(weights, values.terms(first + i)));
    std::memcpy(memory.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T, class Bits>
std::optional<WrongElement> find_as(std::span<const std::byte> memory, std::size_t first, const Values& values) {
  std::optional<WrongElement> found;
  for (std::size_t i = 0; (i + 1) * sizeof(T) <= memory.size(); ++i) {
    const T expected = static_cast<T>(values.sum(first + i));
    Bits expected_bits{};
    Bits got_bits{};
    std::memcpy(&expected_bits, &expected, sizeof(T));
    std::memcpy(&got_bits, memory.data() + i * sizeof(T), sizeof(T));
    if (expected_bits == got_bits) continue;
    if (!found) {
      T got{};
      std::memcpy(&got, &got_bits, sizeof(T));
      found = WrongElement{first + i, fmt::format("{}", expected), fmt::format("{}", got), expected_bits ^ got_bits, 0};
    }
    ++found->count;
  }
  return found;
}

}  // namespace

Values::Values(SumType type, std::uint64_t seed, int ranks)
    : type_(type), seed_(p2p::mix(seed)), ranks_(ranks), is_small_(ranks > most_ranks_of_wide) {
  for (int rank = 0; rank < ranks; ++rank) {
    sum_b_ += weights(rank).b;
    sum_d_ += weights(rank).d;
  }
}

Values::Weights Values::weights(int rank) const {
  const std::uint64_t random = p2p::mix(seed_ ^ (static_cast<std::uint64_t>(rank) << 20));
  return {static_cast<std::int64_t>(random & 15) - 8, static_cast<std::int64_t>((random >> 4) & 15) - 8};
}

Values::Terms Values::terms(std::size_t index) const {
  const std::uint64_t random = p2p::mix(seed_ + index);
  const std::uint64_t most_a = is_small_ ? 15 : 511;
  const std::uint64_t most_c = is_small_ ? 1 : 31;
  // c and e are never 0: then it would not matter which rank an element came from.
  return {static_cast<std::int64_t>(random & most_a) - static_cast<std::int64_t>(most_a / 2 + 1),
          1 + static_cast<std::int64_t>((random >> 32) & most_c),
          1 + static_cast<std::int64_t>((random >> 48) & most_c)};
}

std::int64_t Values::contribution(int rank, std::size_t index) const {
  return value(weights(rank), terms(index));
}

std::int64_t Values::sum(std::size_t index) const {
  const Terms of = terms(index);
  return ranks_ * of.a + sum_b_ * of.c + sum_d_ * of.e;
}

void Values::fill(std::span<std::byte> memory, int rank, std::size_t first) const {
  if (type_ == SumType::int32) fill_as<std::int32_t>(memory, first, *this, rank);
  if (type_ == SumType::int64) fill_as<std::int64_t>(memory, first, *this, rank);
  if (type_ == SumType::float32) fill_as<float>(memory, first, *this, rank);
  if (type_ == SumType::float64) fill_as<double>(memory, first, *this, rank);
}

std::optional<WrongElement> Values::find_wrong(std::span<const std::byte> memory, std::size_t first) const {
  if (type_ == SumType::int32) return find_as<std::int32_t, std::uint32_t>(memory, first, *this);
  if (type_ == SumType::int64) return find_as<std::int64_t, std::uint64_t>(memory, first, *this);
  if (type_ == SumType::float32) return find_as<float, std::uint32_t>(memory, first, *this);
  return find_as<double, std::uint64_t>(memory, first, *this);
}

std::string_view to_string(SumType type) {
  switch (type) {
    case SumType::int32:
      return "int32";
    case SumType::int64:
      return "int64";
    case SumType::float32:
      return "float";
    case SumType::float64:
      return "double";
  }
  return "double";
}

std::optional<SumType> parse_sum_type(std::string_view name) {
  for (const SumType type : {SumType::int32, SumType::int64, SumType::float32, SumType::float64})
    if (to_string(type) == name) return type;
  return std::nullopt;
}

}  // namespace muster::allreduce
