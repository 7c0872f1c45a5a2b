/// From findings and evidence to the verdict of a result.
#pragma once

#include <string>

#include "muster/report.hpp"

namespace muster {

/// Sets verdict, reason, culprits and remedy of `result` from its findings and evidence. Without either it is
/// `unmeasured`, the reason being `nothing_reason`. A finding with verdict `pass` is not evidence: it becomes a note.
void apply_verdict_rules(CaseResult& result, const std::string& nothing_reason);

}  // namespace muster
