#include "probes/gpu_compute/answer.hpp"

#include <cmath>
#include <cstring>

#include "measure/pattern.hpp"

namespace muster::gpu_compute {

namespace {

std::vector<std::int64_t> times_vector(std::uint64_t seed, int n, const std::vector<std::int64_t>& vector) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::int64_t> product(size, 0);
  for (std::size_t row = 0; row < size; ++row) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += number_at(seed, row * size + k) * vector[k];
    product[row] = sum;
  }
  return product;
}

template <class T>
T value_at(const std::byte* row, std::size_t column) {
  T value;
  std::memcpy(&value, row + column * sizeof value, sizeof value);
  return value;
}

/// nullopt: no whole number that a product can have.
std::optional<std::int64_t> whole_at(const std::byte* row, std::size_t column, NumberType type, double most) {
  if (type == NumberType::int8) return value_at<std::int32_t>(row, column);
  const double value =
      type == NumberType::float64 ? value_at<double>(row, column) : static_cast<double>(value_at<float>(row, column));
  if (!(std::abs(value) <= most)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) != value) return std::nullopt;
  return whole;
}

}  // namespace

int number_at(std::uint64_t seed, std::uint64_t i) {
  return static_cast<int>(p2p::mix(seed + i) & 15U) - 8;
}

Answer::Answer(std::uint64_t seed, int n) : n_(n), random_(static_cast<std::size_t>(n)) {
  for (std::size_t i = 0; i < random_.size(); ++i)
    random_[i] = static_cast<std::int64_t>(p2p::mix(~seed - i) & 0xffffU) - 0x8000;
  expected_ = times_vector(seed_of_a(seed), n, times_vector(seed_of_b(seed), n, random_));
}

std::optional<int> Answer::wrong_row(const std::byte* rows, int first, int count, NumberType type) const {
  const auto size = static_cast<std::size_t>(n_);
  const double most = 64.0 * n_;
  for (int row = 0; row < count; ++row) {
    const std::byte* at = rows + static_cast<std::size_t>(row) * size * bytes_of_result(type);
    std::int64_t sum = 0;
    for (std::size_t column = 0; column < size; ++column) {
      const auto value = whole_at(at, column, type, most);
      if (!value) return first + row;
      sum += *value * random_[column];
    }
    if (sum != expected_[static_cast<std::size_t>(first + row)]) return first + row;
  }
  return std::nullopt;
}

}  // namespace muster::gpu_compute
