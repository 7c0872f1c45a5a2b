/// Outliers stand apart. Tails of noise are often heavier than normal ones, and reach beyond any bound that assumes
/// them, but they have no gap. Pure.
#pragma once

#include <vector>

namespace muster {

/// How much further than the furthest of the others an outlier is.
constexpr double outlier_distance = 1.75;

/// No tail is accepted beyond this many times the bound: several slow values, each a little further off than the one
/// before, have no gap either.
constexpr double most_of_tail = 2.5;

/// Where outliers begin: at `bound` or beyond, and `distance` times as far as the furthest value below that. `offsets`:
/// how far off values are, in the bad direction; those that are not apart count as others.
[[nodiscard]] double separated_bound(std::vector<double> offsets, double bound, double distance = outlier_distance);

/// The same by the shape of the tail of one reading of many items: at `bound` or beyond, and further than the furthest
/// of the others by five mean excesses. The mean excess is how far the furthest tenth of the others (three at least, of
/// few a quarter) reaches beyond the rest, in the bad direction or in the good one (`good_offsets`), if that is more.
/// Exponential tails (the mean excess is the same everywhere) reach beyond that in 1 % of runs; for normal ones it is
/// less than `bound`. From 400 values on tails are known better: in one of which the furthest fiftieth has a fifth more
/// of mean excess than the furthest tenth, as of powers, an outlier is 5.6 times as far as the others. A tail is
/// accepted up to 2.5 times the bound, of 24 values and more up to 6 times, of powers up to 12 times.
[[nodiscard]] double tail_bound(std::vector<double> offsets, std::vector<double> good_offsets, double bound);

}  // namespace muster
