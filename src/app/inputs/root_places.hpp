/// As root: HOME, PATH and the like, and the current folder may lead to what other users can change, and what is there
/// would be read and run as root.
#pragma once

#include <vector>

#include "muster/report.hpp"

namespace muster {

/// To be called once, before anything is read. For root: a HOME that others could change gives way to root's own, and
/// such a folder for temporary files to /tmp; entries of PATH, LD_LIBRARY_PATH and PYTHONPATH that are relative, in
/// which every user may put files, or that a link of another user is part of are left out, for programs started later,
/// too; from a current folder in which others may put files, programs are started in `/`. For all users, the same
/// where another user's settings of UCX are there, and a HOME where there is none.
void leave_places_of_others();
/// What it changed, and entries of those lists that other users or groups may write: `HOME`, `PATH` and so on, as a
/// report has them.
[[nodiscard]] const std::vector<Fact>& places_of_others();

}  // namespace muster
