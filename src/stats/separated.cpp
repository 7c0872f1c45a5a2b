#include "stats/separated.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace muster {

namespace {

constexpr double mean_excesses = 5;
constexpr std::size_t least_of_tail = 3;
constexpr std::size_t tail_is_known = 400;  // values
constexpr std::size_t tail_has_shape = 24;
constexpr double heavier = 1.2;  // mean excess of the furthest fiftieth, in that of the furthest tenth
constexpr double distance_of_powers = 5.6;
constexpr double most_of_shape = 6;  // times the bound
constexpr double most_of_powers = 12;

/// Of the furthest `count` beyond the next one; ascending.
double mean_excess(std::span<const double> offsets, std::size_t count) {
  if (offsets.size() < 2) return 0;
  count = std::min(count, offsets.size() - 1);
  const auto furthest = offsets.last(count);
  return std::accumulate(furthest.begin(), furthest.end(), 0.0) / static_cast<double>(count) -
         offsets[offsets.size() - count - 1];
}

}  // namespace

double separated_bound(std::vector<double> offsets, double bound, double distance) {
  const double most = most_of_tail * bound;
  std::sort(offsets.begin(), offsets.end());
  for (const double offset : offsets) {
    if (offset > bound) break;
    bound = std::min(most, std::max(bound, distance * offset));
  }
  return bound;
}

double tail_bound(std::vector<double> offsets, std::vector<double> good_offsets, double bound) {
  const std::size_t n = offsets.size();
  const std::size_t tenth = std::max(std::min(least_of_tail, n / 4), (n + 9) / 10);
  const double least = bound;
  std::sort(offsets.begin(), offsets.end());
  std::sort(good_offsets.begin(), good_offsets.end());
  const double good_excess = mean_excess(good_offsets, tenth);
  // Each value that is not apart makes the tail longer, so that more may belong to it.
  for (std::size_t others = 0;;) {
    const auto end = std::upper_bound(offsets.begin(), offsets.end(), bound);
    const auto within = static_cast<std::size_t>(end - offsets.begin());
    if (within == others || within == 0) return bound;
    others = within;
    const auto tail = std::span<const double>(offsets).first(others);
    const double excess = mean_excess(tail, tenth);
    const bool is_of_powers =
        n >= tail_is_known && std::max(mean_excess(tail, n / 50), mean_excess(good_offsets, n / 50)) >
                                  heavier * std::max(excess, good_excess);
    const double apart =
        is_of_powers ? distance_of_powers * tail.back() : tail.back() + mean_excesses * std::max(excess, good_excess);
    const double most = is_of_powers ? most_of_powers : n >= tail_has_shape ? most_of_shape : most_of_tail;
    bound = std::max(bound, std::min(apart, most * least));
  }
}

}  // namespace muster
