/// From what a rank knows of its training to what it reports.
#pragma once

#include "muster/probe.hpp"
#include "probes/training/train.hpp"

namespace muster::training {

/// Values common to all ranks are reported by rank 0.
[[nodiscard]] Observation observe(const Trained& trained, const Settings& settings, int rank);

}  // namespace muster::training
