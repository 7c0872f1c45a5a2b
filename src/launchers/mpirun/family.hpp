/// mpirun and mpiexec, of Open MPI (4 and 5) and of MPICH (Hydra): one family under two names, told apart by asking
/// once. docs/runner.md says what is asked of a launcher; what each prints when a job ends badly is in notice.hpp.
#pragma once

#include <array>
#include <string_view>

#include "muster/launcher.hpp"

namespace muster::mpirun {

inline constexpr std::array<std::string_view, 1> ask{"--version"};

/// As the functions of the same names in LauncherSpec.
Result<LauncherIdentity> identify(std::string_view path, std::string_view printed);
LaunchCommand command(const LauncherIdentity& identity, const JobShape& shape, const AgentCommand& agent,
                      const Argv& options);
Argv pass_on(const LauncherIdentity& identity, const Environment& variables);
Binder binder(const LauncherIdentity& identity, const JobShape& shape, const Argv& options);
LauncherNotice read_notice(const LauncherIdentity& identity, std::string_view text, int status);
Argv reach(const LauncherIdentity& identity, std::string_view node, const Argv& command, const Argv& options);

/// A member of the family by the name of its program.
constexpr LauncherSpec member(std::string_view name, std::string_view summary) {
  LauncherSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.program = name;
  spec.ask = ask;
  spec.identify = identify;
  spec.command = command;
  spec.pass_on = pass_on;
  spec.binder = binder;
  spec.read_notice = read_notice;
  spec.reach = reach;
  return spec;
}

}  // namespace muster::mpirun
