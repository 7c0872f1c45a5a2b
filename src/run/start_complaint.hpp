/// The agent's last words where it could not even begin: there is no recorder yet, and no connection.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/report.hpp"
#include "muster/result.hpp"

namespace muster {

/// What an agent complains of whose environment was cleared on the way to it.
inline constexpr std::string_view started_without_variables = "muster's variables are not set";

/// What an agent complains of that was launched by another version.
inline constexpr std::string_view launched_by_another_version = "launched by muster ";

/// For the agent's standard error: `muster-rank on nid001: /dev/shm/muster-1: no space for it: No space left on
/// device`.
[[nodiscard]] std::string complaint_line(const std::string& host, const Error& error);

/// From the standard error of a launch whose ranks never came: a finding with the first such line as its reason. The
/// node is at fault where its shared memory is full and it is one of `nodes` (empty: this machine alone); anything else
/// is an error of the surroundings.
[[nodiscard]] std::optional<Finding> explain_complaint(std::string_view standard_error,
                                                       const std::vector<std::string>& nodes);

/// Whether an mpirun ended since another of the same user on its node, which ended at that moment, removed the folder
/// that both keep their own in: it would start now.
[[nodiscard]] bool has_collided(std::string_view standard_error);

}  // namespace muster
