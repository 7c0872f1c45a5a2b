/// Queries on a profile's description of a node.
#pragma once

#include <string>

#include "muster/probe.hpp"

namespace muster {

/// By the profile: its name is that of a login node, it is outside of a job, and it has no more GPUs than those have. None of
/// the three is sufficient alone: login nodes may have a GPU, and jobs may be run on nodes of any name.
[[nodiscard]] bool is_login_node(const ExpectedNode& node, const std::string& host, bool is_in_job, int gpus);

/// Whether a part of `text` matches a regular expression of a profile; no pattern: always.
[[nodiscard]] bool matches_profile(const std::string& text, const std::string& pattern);

/// Whether a variable with that value (nullopt: not set) is what the profile requires.
[[nodiscard]] bool is_fulfilled(const VariableExpectation& wanted, const std::optional<std::string>& value);

}  // namespace muster
