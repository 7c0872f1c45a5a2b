/// By which the driver finds the MPI of an agent in its file, without starting it.
#pragma once

/// In the file of each agent, followed by the flavor of its MPI and `>`. A macro, so that both are one literal.
#define MUSTER_AGENT_MARK "muster agent of MPI <"
