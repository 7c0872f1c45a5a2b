/// Causes before consequences, over the cases of a run: a missing GPU also shifts which GPU every rank takes.
#pragma once

#include <vector>

#include "muster/report.hpp"

namespace muster {

/// Findings that fail and are explained by a failing finding of another case get `follows`, the id of that case, and
/// the remedy to mend that first: what they would advise was worked out on a broken node. A finding is explained when
/// what it is about rests on what the other is about (docs/bounds-and-verdicts.md has the table) and every node that it
/// blames is blamed by such findings; one that blames no node, by any of a node of the case. Within a case the others
/// come first, and where all of its failures are explained the case `follows` too. Verdicts stay as they are. Pure.
void mark_consequences(std::vector<CaseResult>& cases);

}  // namespace muster
