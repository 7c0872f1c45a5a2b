/// As root: HOME and PATH may lead to what other users can change, and what is there would be read and run as root.
#pragma once

#include <vector>

#include "muster/report.hpp"

namespace muster {

/// For root alone; to be called once, before anything is read. A HOME of another user gives way to root's own. Entries
/// of PATH that are relative or in which every user may put programs are left out, for programs started later, too.
void leave_places_of_others();
/// What it changed, and entries of PATH that belong to other users: `HOME` and `PATH`, as a report has them.
[[nodiscard]] const std::vector<Fact>& places_of_others();

}  // namespace muster
