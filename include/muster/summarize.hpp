/// From samples to what a reading holds.
#pragma once

#include <span>

#include "muster/observation.hpp"

namespace muster {

/// n, min, median, p95, max, MAD of the finite samples; others are left out of n.
[[nodiscard]] Summary summarize(std::span<const double> samples);

}  // namespace muster
