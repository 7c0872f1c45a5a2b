/// The Python that a program written in it is run with.
#pragma once

#include <vector>

#include "muster/probe.hpp"
#include "system/python.hpp"

namespace muster::program {

/// The interpreter of every rank: one rank of each node looks for it. Collective.
[[nodiscard]] Result<std::vector<Interpreter>> find_interpreters(RunContext& context);

}  // namespace muster::program
