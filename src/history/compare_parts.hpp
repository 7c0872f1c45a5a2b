/// Parts of a comparison. For compare.cpp.
#pragma once

#include "history/compare.hpp"

namespace muster {

/// Fills in the metrics that moved, and how many were compared.
void compare_values(const PastRun& before, const PastRun& after, const RunNoise& noise, Comparison& comparison);

/// Fills in what only one of the runs has measured, in cases and on nodes that both have.
void compare_presence(const PastRun& before, const PastRun& after, Comparison& comparison);

}  // namespace muster
