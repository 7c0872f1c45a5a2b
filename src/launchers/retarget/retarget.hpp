/// A command of the user's, pointed at some of the nodes: for `muster gate`. Pure; docs/gate.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/launcher.hpp"

namespace muster {

/// Who places the processes of a command.
enum class Starter {
  srun,
  mpirun,  ///< of some MPI: ask it which
  flux,    ///< `flux run`
  other,   ///< a script, a program: it reads variables, or runs where it is
};
/// By the name of the program: `/usr/bin/mpirun.openmpi` is mpirun, as are mpiexec, orterun and prterun.
[[nodiscard]] Starter starter_of(const Argv& command);

/// Where a command shall go.
struct Destination {
  std::vector<std::string> nodes;
  std::string host_file;  ///< with a name a line
};

/// The command with what sends it to these nodes, in front of its own options: `--nodelist` and `--nodes` for srun,
/// `--requires` and `--nodes` for flux, `--hostfile` for Open MPI (`flavor` openmpi), `-f` for MPICH's relatives (any
/// other flavor). One of `other` stays as it is. Fails with kind `usage` where the command chooses nodes itself,
/// another number of them, or consists of several programs of which only the first would be sent there.
[[nodiscard]] Result<Argv> retargeted(const Argv& command, Starter starter, std::string_view flavor,
                                      const Destination& there);

/// The value of a variable; nullopt: it is not set.
using LookUp = std::function<std::optional<std::string>(const std::string& name)>;

/// The variables of a Slurm job as they would be had the job these nodes alone: those that list nodes, count them, or
/// count per node. Only what is set changes; what can't be understood stays.
[[nodiscard]] Environment slurm_variables(const LookUp& look_up, const std::vector<std::string>& job_nodes,
                                          const std::vector<std::string>& nodes);

}  // namespace muster
