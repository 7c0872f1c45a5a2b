/// Where machine descriptions are found, by name or path.
#pragma once

#include <string>
#include <vector>

#include "base/files.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// Folder of the descriptions that come with muster: $MUSTER_MACHINES, <prefix>/share/muster/machines, or the source
/// tree.
[[nodiscard]] fs::path shipped_machines();
/// Names of those, sorted.
[[nodiscard]] std::vector<std::string> known_machines();
/// `lumi-g`: one that comes with muster; else the path of a file. Every mistake in the file is printed to standard
/// error; the error that is returned is the first.
[[nodiscard]] Result<MachineDescription> load_machine(const std::string& name);

}  // namespace muster
