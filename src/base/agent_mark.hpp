/// What driver and agent agree on below their messages: the mark by which the driver finds the MPI of an agent in its
/// file, without starting it, and a variable that its MPI part reads.
#pragma once

namespace muster {

/// Set where more ranks run on a node than it has cores.
inline constexpr const char* env_shared_cores = "MUSTER_SHARED_CORES";

}  // namespace muster

/// In the file of each agent, followed by the flavor of its MPI and `>`. A macro, so that both are one literal.
#define MUSTER_AGENT_MARK "muster agent of MPI <"
