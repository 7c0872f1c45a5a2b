/// A rank's data on itself and its node required by the profile.
#pragma once

#include "measure/variables.hpp"
#include "muster/probe.hpp"

namespace muster::environment {

/// `wanted.NAME` of each variable that the profile names and that is set; of one that looks like a secret only that it
/// is.
[[nodiscard]] std::vector<Fact> wanted_variables(const ExpectedNode& node, const Variables& all);
/// `node.architecture`, `node.model`, `node.cores`, `node.smt`, `node.domains`, `node.gpus` of this machine: those that
/// the profile speaks of.
[[nodiscard]] std::vector<Fact> described_node(const ExpectedNode& node);

}  // namespace muster::environment
