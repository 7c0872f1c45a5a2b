/// The agent's life after MPI_Init and before MPI_Finalize. Linked by muster-rank alone; knows MPI only as Comm.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/comm.hpp"
#include "muster/observation.hpp"
#include "run/flight_recorder.hpp"
#include "run/sealed_frames.hpp"

namespace muster {

/// Points at which a test may make a rank misbehave; empty in the shipped agent.
struct AgentHooks {
  void (*at)(std::string_view point, int rank) = nullptr;  ///< `before_mpi`, `startup`, `connected`, `gap`, `finish`
  std::string (*host)(int rank) = nullptr;                 ///< a name for the node of a rank, in a test
  /// While it works, rank 0 ends the process when the driver's connection closes: a driver that was killed can't end
  /// the launch, and later frames would not be read.
  bool ends_with_driver = false;
  LaunchKey key = {};           ///< empty: frames travel as they are
  std::string refusal = {};     ///< why it must not work; sent to the driver. Empty: it may
  std::string start_note = {};  ///< note for the report on MPI's start; empty: none
  /// Called before a case on the first rank of each node; what it returns is called after the case, for facts about
  /// the node in that time (`link_error`, `link_counters`; evaluate/link_errors.hpp). Empty: none are noted.
  std::function<std::function<std::vector<Fact>()>()> watch_node = {};
};

/// Takes the job, runs every case, sends what was seen. Collective over all ranks of `comm`.
/// Returns the exit status: 0; 1 on all ranks alike when the world is not as large as asked or the driver can't be
/// reached; 2 on this rank alone when it can't go on with the others, who may be waiting for it: the job must be ended.
[[nodiscard]] int run_agent(Comm& comm, FlightRecorder& recorder, const AgentHooks& hooks);

/// `gathered`: encode(Observation) by rank; empty where a rank has none. What can't be read, or is in the name of
/// another rank, becomes a failure of the rank that sent it: else it would hide what that other rank saw. Pure.
void hold_to_sender(std::vector<std::vector<std::byte>>& gathered);

/// Rank and world size from the launcher's environment, before MPI is up; -1 and 0 when it does not contain them.
/// `who` is a launcher's name for messages: `Open MPI`, `MPICH`, `Slurm`.
struct LaunchedBy {
  int rank = -1;
  int world_size = 0;
  std::string who;
  int local_rank = -1;
};
[[nodiscard]] LaunchedBy launched_by();

/// Files below /dev/shm that Open MPI 4 makes for a rank of this name in MPI_Init (transport vader), from the
/// launcher's environment; none for other MPIs. A rank that is killed there leaves them.
[[nodiscard]] std::vector<std::string> shared_memory_of_open_mpi(const std::string& host, int local_rank);

inline constexpr std::string_view agent_built_for = "agent built for ";

/// Why this world is not the one that was asked for.
/// `agent built for Open MPI, launched by MPICH: the world has 1 rank, 4 were asked for`
[[nodiscard]] std::string wrong_world(const std::string& library, const std::string& launcher, int size, int asked);

}  // namespace muster
