/// What of a run needs a look, in the order in which it should be told, and told once.
#pragma once

#include <vector>

#include "muster/report.hpp"

namespace muster {

/// One case to tell about, and those that it speaks for too: they came to the same end in the same words.
struct Block {
  const CaseResult* first = nullptr;
  std::vector<const CaseResult*> alike;
};

/// Every case that is neither pass nor skip: the worst first, causes before what follows from them.
[[nodiscard]] std::vector<const CaseResult*> by_urgency(const RunReport& report);
/// The same cases, those that say the same in one block.
[[nodiscard]] std::vector<Block> blocks_of(const RunReport& report);

}  // namespace muster
