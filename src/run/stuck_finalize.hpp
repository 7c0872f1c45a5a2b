/// MPICH before 4.2 with UCX can hang in MPI_Finalize on a healthy machine: ranks that have closed their connections
/// wait for the others in the process manager, and no longer answer those that still close theirs. Source:
/// pmodels/mpich, pull request 6596.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace muster {

inline constexpr unsigned most_finalize_s = 3;

/// `library`: whole text of MPI_Get_library_version. Pure.
[[nodiscard]] bool can_hang_in_finalize(std::string_view library);

/// Calls `finalize`. False: it did not return within most_finalize_s, and this process was not asleep there; it has
/// then reported that on standard error, met the other ranks in the process manager in MPI_Finalize's place, and must
/// end without the MPI. Only below a process manager that speaks PMI 1 (PMI_FD), from the main thread, and after all
/// ranks have sent what they measured. `finalize` has no objects with destructors.
[[nodiscard]] bool finish_in_time(const std::function<void()>& finalize);

/// For the report, from what ranks wrote in a launch that has ended well; empty: each rank returned from MPI_Finalize.
/// Pure.
[[nodiscard]] std::string note_of_left_finalize(std::string_view standard_error);

}  // namespace muster
