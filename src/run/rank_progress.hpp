/// Which of several ranks holds the others up. Used by explain() alone; pure.
#pragma once

#include "run/failure_text.hpp"

namespace muster {

struct OutlyingRanks {
  enum class How { nobody, behind, ahead } how = How::nobody;
  SeenRanks who;  ///< empty: no rank stands out
  SeenRanks others;
};

/// Compares item, then phase, then (within both) steps begun and iteration, then whom the ranks wait for.
[[nodiscard]] OutlyingRanks outlying_ranks(const SeenRanks& living);

}  // namespace muster
