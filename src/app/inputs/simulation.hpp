/// Simulated machines (docs/machines.md) need --simulated on the command line: variables that a job inherited must not
/// turn a run into one that tests nothing.
#pragma once

#include <vector>

#include "muster/observation.hpp"
#include "muster/result.hpp"

namespace muster {

/// Exit status of run and plan where the environment asks for a simulated machine and the command line does not.
inline constexpr int exit_not_simulated = 2;

/// Fails with kind `usage`: without --simulated where a variable that is only for simulated machines is set, and with
/// it where none names a machine.
[[nodiscard]] Result<void> check_simulation(bool is_simulated);
/// Prints why a command must not begin, and returns its exit status; 0: it may.
[[nodiscard]] int refuse_simulation(bool is_simulated);

/// Whether a variable of the environment has a value.
[[nodiscard]] bool is_set(const char* name);
/// Names and values of the variables MUSTER_* of this process, sorted by name, values of secrets left out; with
/// places_of_others().
[[nodiscard]] std::vector<Fact> variables_in_force();

}  // namespace muster
