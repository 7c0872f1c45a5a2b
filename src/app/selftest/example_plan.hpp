/// What an example of `muster selftest` stands on: machine, profile and plan. Nothing is started or written.
#pragma once

#include <string>
#include <vector>

#include "app/inputs/load.hpp"
#include "app/inputs/machine_files.hpp"
#include "model/example.hpp"
#include "run/select.hpp"

namespace muster {

/// With the further lines for its drivers, without its faults. Mistakes in a description are printed as by
/// load_machine.
[[nodiscard]] Result<MachineDescription> machine_of(const Example& example);

/// The profile that it names, or `generic`; with one partition.
[[nodiscard]] Result<SystemProfile> profile_of(const Example& example, const std::vector<SystemProfile>& systems);

/// The cases of `checks` on that machine, started as from `real`.
[[nodiscard]] Result<Plan> plan_of(const Example& example, const std::vector<std::string>& checks,
                                   const MachineDescription& machine, const SystemProfile& system, const Site& real,
                                   const std::vector<Check>& known);

/// Of the folders `selftest` beside the checks: examples, and profiles and machines for them. Every mistake that shows
/// without starting anything is an error in `loaded.diagnostics`, with its place.
[[nodiscard]] std::vector<Example> take_examples(const std::vector<std::string>& paths, Loaded& loaded);

}  // namespace muster
