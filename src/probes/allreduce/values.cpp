#include "probes/allreduce/values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <type_traits>

#include "base/names.hpp"
#include "measure/pattern.hpp"
#include "probes/allreduce/float16.hpp"

namespace muster::allreduce {

namespace {

/// |element| <= 768 up to here, so that 21,845 of them stay below 2^24.
constexpr int most_ranks_of_wide = 21'845;
/// Of elements of types of 16 bits: 4 + 2 x 2 + 2 x 2.
constexpr std::int64_t most_of_narrow = 12;

bool is_narrow(SumType type) {
  return type == SumType::float16 || type == SumType::bfloat16;
}

std::size_t stride_of(SumType type, int ranks) {
  if (!is_narrow(type)) return 1;
  const std::int64_t room = (type == SumType::float16 ? Half::most_whole : BFloat16::most_whole) / most_of_narrow;
  return static_cast<std::size_t>(std::max<std::int64_t>(1, (ranks + room - 1) / room));
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", value);
  else
    return fmt::format("{}", value.number());
}

template <class T, class Bits>
std::optional<WrongElement> find_as(std::span<const std::byte> memory, std::size_t first, const Values& values) {
  std::optional<WrongElement> found;
  for (std::size_t i = 0; (i + 1) * sizeof(T) <= memory.size(); ++i) {
    const T expected = static_cast<T>(values.sum(first + i));
    const auto expected_bits = std::bit_cast<Bits>(expected);
    Bits got_bits{};
    std::memcpy(&got_bits, memory.data() + i * sizeof(T), sizeof(T));
    if (expected_bits == got_bits) continue;
    if (!found) {
      found = WrongElement{first + i, text_of(expected), text_of(std::bit_cast<T>(got_bits)),
                           static_cast<std::uint64_t>(expected_bits ^ got_bits), 0};
    }
    ++found->count;
  }
  return found;
}

}  // namespace

Values::Values(SumType type, std::uint64_t seed, int ranks)
    : type_(type), seed_(p2p::mix(seed)), groups_(stride_of(type, ranks)) {
  if (is_narrow(type))
    range_ = {7, 3, 1};
  else if (ranks > most_ranks_of_wide)
    range_ = {15, 15, 1};
  for (int rank = 0; rank < ranks; ++rank) {
    Group& group = groups_[static_cast<std::size_t>(rank) % stride()];
    ++group.ranks;
    group.sum_b += weights(rank).b;
    group.sum_d += weights(rank).d;
  }
}

Values::Weights Values::weights(int rank) const {
  const std::uint64_t random = p2p::mix(seed_ ^ (static_cast<std::uint64_t>(rank) << 20));
  const auto half = static_cast<std::int64_t>(range_.weight / 2 + 1);
  return {static_cast<std::int64_t>(random & range_.weight) - half,
          static_cast<std::int64_t>((random >> 4) & range_.weight) - half};
}

Values::Terms Values::terms(std::size_t index) const {
  const std::uint64_t random = p2p::mix(seed_ + index);
  // c and e are never 0: then it would not matter which rank an element came from.
  return {static_cast<std::int64_t>(random & range_.a) - static_cast<std::int64_t>(range_.a / 2 + 1),
          1 + static_cast<std::int64_t>((random >> 32) & range_.c),
          1 + static_cast<std::int64_t>((random >> 48) & range_.c)};
}

std::int64_t Values::contribution(int rank, std::size_t index) const {
  if (static_cast<std::size_t>(rank) % stride() != group_of(index)) return 0;
  return value(weights(rank), terms(index));
}

std::int64_t Values::sum(std::size_t index) const {
  const Terms of = terms(index);
  const Group& group = groups_[group_of(index)];
  return group.ranks * of.a + group.sum_b * of.c + group.sum_d * of.e;
}

template <class T>
void Values::fill_as(std::span<std::byte> memory, int rank, std::size_t first) const {
  const Weights own = weights(rank);
  const std::size_t own_group = static_cast<std::size_t>(rank) % stride();
  for (std::size_t i = 0; (i + 1) * sizeof(T) <= memory.size(); ++i) {
    const bool is_mine = stride() == 1 || group_of(first + i) == own_group;
    const T element = static_cast<T>(is_mine ? value(own, terms(first + i)) : std::int64_t{0});
    std::memcpy(memory.data() + i * sizeof(T), &element, sizeof(T));
  }
}

void Values::fill(std::span<std::byte> memory, int rank, std::size_t first) const {
  if (type_ == SumType::int32) fill_as<std::int32_t>(memory, rank, first);
  if (type_ == SumType::int64) fill_as<std::int64_t>(memory, rank, first);
  if (type_ == SumType::float32) fill_as<float>(memory, rank, first);
  if (type_ == SumType::float64) fill_as<double>(memory, rank, first);
  if (type_ == SumType::float16) fill_as<Half>(memory, rank, first);
  if (type_ == SumType::bfloat16) fill_as<BFloat16>(memory, rank, first);
}

std::optional<WrongElement> Values::find_wrong(std::span<const std::byte> memory, std::size_t first) const {
  if (type_ == SumType::int32) return find_as<std::int32_t, std::uint32_t>(memory, first, *this);
  if (type_ == SumType::int64) return find_as<std::int64_t, std::uint64_t>(memory, first, *this);
  if (type_ == SumType::float32) return find_as<float, std::uint32_t>(memory, first, *this);
  if (type_ == SumType::float16) return find_as<Half, std::uint16_t>(memory, first, *this);
  if (type_ == SumType::bfloat16) return find_as<BFloat16, std::uint16_t>(memory, first, *this);
  return find_as<double, std::uint64_t>(memory, first, *this);
}

constexpr std::string_view sum_type_names[] = {"int32", "int64", "float", "double", "half", "bfloat16"};

std::string_view to_string(SumType type) {
  return enum_name(sum_type_names, type);
}

std::optional<SumType> parse_sum_type(std::string_view name) {
  return enum_named<SumType>(sum_type_names, name);
}

}  // namespace muster::allreduce
