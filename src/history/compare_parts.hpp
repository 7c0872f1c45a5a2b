/// The numbers of a comparison. For compare.cpp.
#pragma once

#include "history/compare.hpp"

namespace muster {

/// Fills in the metrics that moved, and how many were compared.
void compare_values(const PastRun& before, const PastRun& after, const RunNoise& noise, Comparison& comparison);

}  // namespace muster
