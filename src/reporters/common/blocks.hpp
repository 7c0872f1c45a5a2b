/// The cases of a run that need attention, in order, each once.
#pragma once

#include <vector>

#include "muster/report.hpp"

namespace muster {

/// One case, and others that it represents: they have the same result with the same reason.
struct Block {
  const CaseResult* first = nullptr;
  std::vector<const CaseResult*> alike;
  const CaseResult* same_remedy = nullptr;  ///< of an earlier block, with the same culprits and the same remedy
};

/// Every case that is neither pass nor skip: the worst first, causes before what follows from them.
[[nodiscard]] std::vector<const CaseResult*> by_urgency(const RunReport& report);
/// The same cases, equal ones in one block.
[[nodiscard]] std::vector<Block> blocks_of(const RunReport& report);

}  // namespace muster
