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

}  // namespace muster
