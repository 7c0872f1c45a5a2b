/// The messages of mpirun and mpiexec of Open MPI, PRRTE, MPICH and Intel MPI when a job fails, verbatim.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/launcher.hpp"

namespace muster::mpirun {

/// `text` with every run of white space as one blank: Open MPI 5 breaks its notices over lines at column 80. The
/// functions below expect it so, reports_kill aside.
[[nodiscard]] std::string in_one_line(std::string_view text);

/// From `mark` on; empty when it is not there.
[[nodiscard]] std::string_view from(std::string_view text, std::string_view mark);

/// Whether a shell reports a process that SIGKILL ended: a line `Killed`, or `bash: line 1: 4711 Killed  orted`. What a
/// program of a rank prints has other words beside it. The lines of `text` are as they were printed.
[[nodiscard]] bool reports_kill(std::string_view text);

/// Why the launch as a whole failed, where that is known: sentence, remedy, and the node where one is named.
/// `is_killed`: reports_kill.
void explain_launch(std::string_view text, bool is_killed, LauncherNotice& notice);
/// The report of a daemon that was lost, which also comes from launches of Intel MPI and Open MPI that end with status
/// 0.
void explain_lost_daemon(std::string_view text, bool is_intel, bool is_killed, LauncherNotice& notice);

/// The ways in which Open MPI and PRRTE name the rank that ended the job. True when they named one.
[[nodiscard]] bool find_openmpi_rank(std::string_view text, LauncherNotice& notice);

/// MPICH's Hydra names process and node, Intel's also the rank. True when one is named or how it ended is known.
[[nodiscard]] bool find_mpich_rank(std::string_view text, LauncherNotice& notice);

}  // namespace muster::mpirun
