/// Robust statistics of samples. Empty input gives n = 0 or nullopt, never a number.
#pragma once

#include <optional>
#include <span>

#include "muster/observation.hpp"
#include "muster/summarize.hpp"

namespace muster {

/// Linear interpolation between order statistics (type 7 of Hyndman and Fan 1996); `q` in [0, 1].
[[nodiscard]] std::optional<double> quantile(std::span<const double> samples, double q);
[[nodiscard]] std::optional<double> median(std::span<const double> samples);
/// Median absolute deviation from the median, unscaled.
[[nodiscard]] std::optional<double> mad(std::span<const double> samples);
/// 0.6745 (x - median) / max(MAD, floor * |median|); 0 when both are 0 and x equals the median, +-infinity when x
/// differs then. Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993.
[[nodiscard]] double modified_z(double x, double median, double mad, double floor);

}  // namespace muster
