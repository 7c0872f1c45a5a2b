/// The messages of mpirun and mpiexec of Open MPI, PRRTE, MPICH and Intel MPI when a job fails, verbatim.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/launcher.hpp"

namespace muster::mpirun {

/// `text` with every run of white space as one blank: Open MPI 5 breaks its notices over lines at column 80. The
/// functions below expect it so.
[[nodiscard]] std::string in_one_line(std::string_view text);

/// From `mark` on; empty when it is not there.
[[nodiscard]] std::string_view from(std::string_view text, std::string_view mark);

/// Why the launch as a whole failed, where that is known: sentence, remedy, and the node where one is named.
void explain_launch(std::string_view text, LauncherNotice& notice);

/// The ways in which Open MPI and PRRTE name the rank that ended the job. True when they named one.
[[nodiscard]] bool find_openmpi_rank(std::string_view text, LauncherNotice& notice);

/// MPICH's Hydra names process and node, Intel's also the rank. True when one is named or how it ended is known.
[[nodiscard]] bool find_mpich_rank(std::string_view text, LauncherNotice& notice);

}  // namespace muster::mpirun
