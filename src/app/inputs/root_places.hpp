/// As root: HOME, PATH and the like, and the current folder may lead to what other users can change, and what is there
/// would be read and run as root.
#pragma once

#include <vector>

#include "muster/report.hpp"

namespace muster {

/// To be called once, before anything is read. For root: a HOME of another user gives way to root's own; entries of
/// PATH, LD_LIBRARY_PATH and PYTHONPATH that are relative or in which every user may put files are left out, for
/// programs started later, too; from a current folder in which others may put files, programs are started in `/`. For
/// all users, the same where another user's settings of UCX are there, and a HOME where there is none.
void leave_places_of_others();
/// What it changed, and entries of PATH that belong to other users: `HOME`, `PATH` and so on, as a report has them.
[[nodiscard]] const std::vector<Fact>& places_of_others();

}  // namespace muster
