/// Where the programs of a job meet: torch.distributed's MASTER_ADDR and MASTER_PORT.
#pragma once

#include <string>

#include "muster/launcher.hpp"
#include "muster/probe.hpp"

namespace muster::program {

struct Rendezvous {
  Environment env;
  /// Why MASTER_ADDR as the job exports it does not lead to rank 0 from this node; empty: it does, there is none, or
  /// another rank of the node has tried it. Programs get that of `env` instead.
  std::string wrong_address;
  bool is_elsewhere = false;  ///< that one names another node of the Slurm job
};

/// An address of rank 0's node that every node reaches (its host name where that does), and a TCP port that was free
/// there a moment ago; the same on every rank. Where no address is reached by all it is the host name, for the program
/// to find out. Collective; tries every name for 2 s at most. Fails with kind `system` when rank 0 finds no free port.
[[nodiscard]] Result<Rendezvous> agree_on_master(RunContext& context);

}  // namespace muster::program
