/// The description that an agent prints of itself.
#pragma once

#include <string>

#include "base/files.hpp"

namespace muster {

struct AgentAbout {
  std::string flavor;   ///< of its MPI: `openmpi`, `mpich`, `cray-mpich`
  std::string library;  ///< `Open MPI v4.1.4, ...`
};

/// The MPI that an agent was built for, from its file, which is read and not started: `openmpi`, `mpich`, `other`.
/// Empty: the file has no such mark, as a script around the agent.
[[nodiscard]] std::string flavor_in_file(const fs::path& agent);

/// Starts the agent with --about. Fails with kind `launch` when it does not start or prints something else.
[[nodiscard]] Result<AgentAbout> ask_agent(const fs::path& agent);

}  // namespace muster
