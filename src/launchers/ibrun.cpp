// TACC's ibrun, inside of a Slurm job: it wraps the mpirun of the MPI module that is loaded. `-n` ranks from slot `-o`
// of the job's host list; IBRUN_TASKS_PER_NODE is the number of slots of a node. It takes no host names.
#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "launchers/mpirun/notice.hpp"
#include "launchers/srun/surroundings.hpp"

namespace muster {

namespace {

/// Nothing to ask: which MPI it starts is up to the module. The agent's own check of the world finds a wrong one.
Result<LauncherIdentity> identify(std::string_view path, std::string_view) {
  LauncherIdentity identity;
  identity.path = path;
  identity.banner = "ibrun";
  return identity;
}

/// Defaults of the libraries that it starts: Open MPI 5, Open MPI 4, MVAPICH 3, MVAPICH2.
constexpr std::pair<const char*, const char*> no_binding[] = {{"PRTE_MCA_hwloc_default_binding_policy", "none"},
                                                              {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                                              {"MVP_ENABLE_AFFINITY", "0"},
                                                              {"MV2_ENABLE_AFFINITY", "0"}};

/// TACC's script in front of the program, which binds by its own rules.
bool binds_by_script(const Argv& options) {
  return std::any_of(options.begin(), options.end(),
                     [](const std::string& option) { return option == "task_affinity" || option == "tacc_affinity"; });
}

Binder binder(const LauncherIdentity&, const JobShape&, const Argv& options) {
  return binds_by_script(options) ? Binder::options : Binder::agent;
}

/// It has no option for masks: each rank is started on its own by a script in front of the program.
std::string masks_in_words(const JobBinding& binding, std::span<const int>, std::string_view) {
  std::vector<std::string> masks;
  for (const RankBinding& rank : binding.ranks) masks.push_back(rank.mask);
  return fmt::format(
      "ibrun bash -c 'masks=({}); exec taskset "
      "${{masks[${{OMPI_COMM_WORLD_LOCAL_RANK:-${{MPI_LOCALRANKID:-$MV2_COMM_WORLD_LOCAL_RANK}}}}]}} \"$0\" \"$@\"'",
      join(masks, " "));
}

constexpr BindWords words{.cores = "ibrun task_affinity",
                          .whole_cores = "ibrun task_affinity",
                          .width = "ibrun task_affinity",
                          .unbound = "ibrun without task_affinity",
                          .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
                          .masks = masks_in_words};

/// Where in the job's list the nodes stand, if none of others is between them; without a list: at its begin.
std::optional<std::size_t> first_node_of(const JobShape& shape) {
  const auto& job = shape.job_nodes;
  if (job.empty() || shape.nodes.empty()) return 0;
  for (std::size_t at = 0; at + shape.nodes.size() <= job.size(); ++at) {
    const auto begin = job.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::is_permutation(shape.nodes.begin(), shape.nodes.end(), begin)) return at;
  }
  return std::nullopt;
}

std::string cannot_place(const JobShape& shape) {
  if (first_node_of(shape)) return {};
  return fmt::format("ibrun starts ranks on nodes of the job that follow each other in its list, and {} do not",
                     human_list(shape.nodes, 6));
}

LaunchCommand command(const LauncherIdentity& identity, const JobShape& shape, const AgentCommand& agent,
                      const Argv& options) {
  LaunchCommand made{{identity.path}, agent.env};
  made.argv.insert(made.argv.end(), options.begin(), options.end());
  const std::size_t slot = first_node_of(shape).value_or(0) * static_cast<std::size_t>(shape.ranks_per_node);
  made.argv.insert(made.argv.end(), {"-n", std::to_string(shape.ranks()), "-o", std::to_string(slot)});
  made.argv.insert(made.argv.end(), agent.argv.begin(), agent.argv.end());
  made.env.emplace_back("IBRUN_TASKS_PER_NODE", std::to_string(shape.ranks_per_node));
  // It has no option for masks: the agent binds, and neither launcher nor library shall bind by their own defaults.
  const bool is_ours = shape.binding.kind == BindKind::masks || shape.binding.kind == BindKind::node;
  if (is_ours && !shape.oversubscribed && !binds_by_script(options))
    for (const auto& [name, value] : no_binding) made.env.emplace_back(name, value);
  return made;
}

/// What it wraps speaks for itself.
LauncherNotice read_notice(const LauncherIdentity&, std::string_view text, int status) {
  LauncherNotice notice;
  if (status == 0) return notice;
  const std::string message = mpirun::in_one_line(text);
  if (mpirun::find_openmpi_rank(message, notice) || mpirun::find_mpich_rank(message, notice)) return notice;
  mpirun::explain_launch(message, mpirun::reports_kill(text), notice);
  return notice;
}

/// A job step of one task beside the running one; ssh to the nodes of a job is not allowed everywhere.
Argv reach(const LauncherIdentity&, std::string_view node, const Argv& command, const Argv&) {
  Argv argv{"srun", "--overlap", "--mpi=none", "--cpu-bind=none", "--nodes=1", "--ntasks=1"};
  argv.push_back(fmt::format("--nodelist={}", node));
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

}  // namespace

extern const LauncherSpec launcher_ibrun{
    .name = "ibrun",
    .summary = "TACC's wrapper of mpirun, inside of a Slurm job.",
    .program = "ibrun",
    .identify = identify,
    .command = command,
    .hidden_variables = srun::of_steps,
    .cannot_place = cannot_place,
    .binder = binder,
    .words = &words,
    .read_notice = read_notice,
    .reach = reach,
};

}  // namespace muster
