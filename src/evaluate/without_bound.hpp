/// Numbers that a check finds in the output of a program and does not judge.
#pragma once

#include <string>

#include "model/plan.hpp"

namespace muster {

/// How to judge metrics that the check finds by patterns and that no expectation is about; empty: there are none. No
/// value is part of it, so that it is the same for all repetitions and nodes.
[[nodiscard]] std::string note_without_bound(const Case& item);

}  // namespace muster
