#pragma once

#include "run/agent.hpp"

namespace muster {

/// The agent from its first instruction to its exit status. Tests make agents that misbehave with `hooks`.
[[nodiscard]] int agent_main(int argc, char** argv, const AgentHooks& hooks);

}  // namespace muster
