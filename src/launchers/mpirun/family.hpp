/// mpirun and mpiexec, of Open MPI (4 and later), PRRTE, MPICH and Intel MPI (Hydra): one family under two names,
/// distinguished by one query. docs/runner.md describes the tasks of a launcher; what each prints when a job ends badly
/// is in notice.hpp.
#pragma once

#include <array>
#include <string_view>

#include "launchers/srun/surroundings.hpp"
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
LauncherNotice explain_silence(const Argv& argv);
std::string session_folder(const LauncherIdentity& identity, std::string_view host, unsigned user);

inline constexpr std::string_view session_folder_variables[] = {"OMPI_MCA_orte_local_tmpdir_base",
                                                                "OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"};
Argv reach(const LauncherIdentity& identity, std::string_view node, const Argv& command, const Argv& options);

/// As BindWords::masks. Open MPI's: an equivalent mapping, else the lines of a rankfile, in hwloc's numbers
/// of cores; Hydra's: the operating system's numbers of CPUs.
std::string openmpi_masks_in_words(const JobBinding& binding, std::span<const int> numbers, std::string_view host);
std::string hydra_masks_in_words(const JobBinding& binding, std::span<const int> numbers, std::string_view host);

inline constexpr BindWords openmpi_words{.cores = "mpirun --bind-to core",
                                         .whole_cores = "mpirun --bind-to core",
                                         .width = "mpirun --map-by ppr:N:node:PE={} --bind-to core",
                                         .unbound = "mpirun --bind-to none",
                                         .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
                                         .masks = openmpi_masks_in_words};
inline constexpr BindWords hydra_words{.cores = "mpiexec -bind-to core",
                                       .whole_cores = "mpiexec -bind-to core",
                                       .width = "mpiexec -bind-to core:{}",
                                       .unbound = "mpiexec -bind-to none",
                                       .local_rank = "MPI_LOCALRANKID",
                                       .masks = hydra_masks_in_words};

/// A member of the family by the name of its program.
constexpr LauncherSpec member(std::string_view name, std::string_view summary, const BindWords& words) {
  LauncherSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.gives_input_to_rank_0 = true;
  spec.program = name;
  spec.ask = ask;
  spec.identify = identify;
  spec.command = command;
  spec.hidden_variables = srun::of_steps;  // in a job of Slurm it starts its daemons by srun
  spec.pass_on = pass_on;
  spec.binder = binder;
  spec.words = &words;
  spec.read_notice = read_notice;
  spec.explain_silence = explain_silence;
  spec.session_folder = session_folder;
  spec.session_folder_variables = session_folder_variables;
  spec.reach = reach;
  return spec;
}

/// Whether it is of this family, which shares out all cores of a node: no scheduler keeps those that a profile
/// reserves.
constexpr bool is_member(const LauncherSpec& launcher) {
  return launcher.command == command;
}

}  // namespace muster::mpirun
