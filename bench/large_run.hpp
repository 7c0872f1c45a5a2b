/// A large run as it is recorded: what arrived from the ranks, judged case by case.
#pragma once

#include "muster/report.hpp"

namespace muster::bench {

struct Sizes {
  int ranks = 10'000;
  int cases = 20;
};

/// Seconds, all cases together.
struct Stages {
  double decode = 0;
  double evaluate = 0;
  double cpu = 0;  ///< of both
};

/// 8 ranks per node, 3 metrics per rank, one rank in a thousand too slow. The observations of one case are in memory
/// at a time, as they are when a run folder is read.
[[nodiscard]] RunReport judged_run(const Sizes& sizes, Stages& stages);

}  // namespace muster::bench
