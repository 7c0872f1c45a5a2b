/// What a shell of the user's launch line does before its program, and muster does not carry out: what it may change is
/// not judged. docs/launch-line.md
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "muster/observation.hpp"
#include "muster/probe.hpp"

namespace muster::environment {

/// Set by the driver (src/run/messages.hpp).
inline constexpr const char* env_not_run = "MUSTER_NOT_RUN";

/// Reports it as a fact, once on each node.
void add_not_run(const RunContext& context, Observation& seen);

/// One finding at most: `unmeasured` where that part holds one of `words`, or starts what a variable names; else, and
/// without `words`, a note.
void judge_not_run(const CaseView& view, std::initializer_list<std::string_view> words, std::vector<Finding>& findings);

}  // namespace muster::environment
