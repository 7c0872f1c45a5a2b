/// Whether a rank runs with another MPI than the one that its agent was built for, as in a container that holds its
/// own.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// The word by which the agent's complaint about it is known.
inline constexpr std::string_view finds_another_mpi = "finds another MPI: ";

inline constexpr std::string_view another_mpi_remedy =
    "name an agent that was built with the MPI of the container with --agent, or bind a folder with the agent and its "
    "libraries into it (cmake --install with MUSTER_BUNDLE=ON, docs/launch-line.md); leave LD_LIBRARY_PATH of another "
    "MPI out of the line";

/// As above, of a launcher.
inline constexpr std::string_view started_by_another_mpi = "started by the launcher of another MPI: ";

inline constexpr std::string_view another_launcher_remedy =
    "name an agent that was built with the launcher's MPI with --agent (muster-rank-mpich; in a container one that is "
    "there), or start the line with the launcher of the agent's MPI";

/// `built for Open MPI 4.1.4, and started by the launcher of another MPI: MPICH`: each rank would be a world of its
/// own, or end in MPI_Init. `launcher`: as LaunchedBy::who. Empty: Open MPI below Hydra is the only such pair for
/// certain.
[[nodiscard]] std::string other_launcher(std::string_view built_for, std::string_view launcher);

/// `built for MPICH 4.0.2, and finds another MPI: Intel(R) MPI Library 2021.18 for Linux* OS`; empty: they are the
/// same, or one of them is not known. Another major version of Open MPI is another MPI; Cray's MPICH serves programs
/// that were built for MPICH.
[[nodiscard]] std::string other_mpi(std::string_view built_for, std::string_view found);

}  // namespace muster
