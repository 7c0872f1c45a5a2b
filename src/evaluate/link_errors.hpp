/// Errors that the links of nodes counted during a case, whatever its probe. Pure.
#pragma once

#include "evaluate/expectations.hpp"

namespace muster {

/// From two facts of the first rank of each node: `link_error` is `LINK COUNTER GROWN SECONDS` of a counter that grew,
/// with a further word `beside` for a port that is not of the network that jobs use, whose errors never fail a case;
/// `link_counters` is `COUNTER NUMBER`, how many links of the node have it. Limits are in
/// docs/bounds-and-verdicts.md.
void judge_link_errors(const CaseInput& input, CaseResult& result);

}  // namespace muster
