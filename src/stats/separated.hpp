/// Outliers stand apart. Tails of noise are often heavier than normal ones, and reach beyond any bound that assumes
/// them, but they have no gap. Pure.
#pragma once

#include <vector>

namespace muster {

/// How much further than the furthest of the others an outlier is.
constexpr double outlier_distance = 1.75;

/// Where outliers begin: at `bound` or beyond, and `distance` times as far as the furthest value below that. `offsets`:
/// how far off values are, in the bad direction; those that are not apart count as others.
[[nodiscard]] double separated_bound(std::vector<double> offsets, double bound, double distance = outlier_distance);

}  // namespace muster
