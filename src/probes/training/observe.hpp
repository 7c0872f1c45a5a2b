/// From what a rank knows of its training to what it reports.
#pragma once

#include "muster/probe.hpp"
#include "probes/training/train.hpp"

namespace muster::training {

/// What all ranks know alike, rank 0 alone tells.
[[nodiscard]] Observation observe(const Trained& trained, const Settings& settings, int rank);

}  // namespace muster::training
