/// Which of several ranks holds the others up. Used by explain() alone; pure.
#pragma once

#include "run/wreck_words.hpp"

namespace muster {

struct Standing {
  enum class How { nobody, behind, ahead } how = How::nobody;
  SeenRanks who;  ///< empty: no rank stands out
  SeenRanks others;
};

/// Compares item, then phase, then (within both) steps begun and iteration, then whom the ranks wait for.
[[nodiscard]] Standing who_stands_out(const SeenRanks& living);

}  // namespace muster
