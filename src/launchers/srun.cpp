// Slurm's srun, inside an allocation. docs/runner.md describes the tasks of a launcher; messages of srun when a job
// ends badly is in srun/notice.hpp. Every option is spelt out that a variable (SLURM_NTASKS_PER_NODE, SLURM_EXPORT_ENV,
// SLURM_CPU_BIND) would set otherwise: options go before those.
#include <algorithm>
#include <array>
#include <set>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "launchers/srun/notice.hpp"
#include "launchers/srun/surroundings.hpp"

namespace muster {

namespace {

constexpr std::array<std::string_view, 1> ask{"--mpi=list"};

bool is_type(std::string_view word) {
  return !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

/// One type a line below a heading, and at the end the versions of PMIx in one line. Slurm before 21.08 puts `srun: `
/// in front of each line.
std::vector<std::string> types_in(std::string_view printed) {
  std::vector<std::string> types;
  bool is_below = false;
  for (const std::string_view whole : lines(printed)) {
    std::string_view line = srun::after(whole, "srun: ");
    if (line.find("types are") != std::string_view::npos) is_below = true;
    if (const std::size_t colon = line.find("available:"); colon != std::string_view::npos)
      line = line.substr(colon + 10);
    for (const std::string& word : split(line, ','))
      if (is_below && is_type(trim(word))) types.emplace_back(trim(word));
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

Result<LauncherIdentity> identify(std::string_view path, std::string_view printed) {
  LauncherIdentity identity;
  identity.path = path;
  identity.mpi_types = types_in(printed);
  identity.banner = fmt::format("Slurm, MPI types {}", human_list(identity.mpi_types));
  if (!identity.mpi_types.empty()) return identity;
  return fail(ErrorKind::launch, std::string(path),
              fmt::format("does not list its MPI types, it prints \"{}\"; check that srun --mpi=list works here, or "
                          "choose another launcher with --launcher",
                          printable_line(trim(printed), 160)));
}

/// How ranks of that MPI find each other; the first that srun offers. Empty: whatever the site has as its default.
std::string mpi_type(const LauncherIdentity& identity) {
  struct Speaks {
    std::string_view flavor;
    std::array<std::string_view, 3> types;
  };
  // Cray's library knows its own way alone; MPICH's own speaks PMI, and PMIx only where it was built with it.
  static constexpr Speaks known[] = {{"openmpi", {"pmix", "pmix_v", "pmi2"}},
                                     {"cray-mpich", {"cray_shasta", "pmi2", "pmix"}},
                                     {"mpich", {"pmi2", "pmix", "pmix_v"}}};
  for (const Speaks& speaks : known) {
    if (speaks.flavor != identity.flavor) continue;
    for (const std::string_view wanted : speaks.types)
      // The newest of several versions, which are sorted.
      for (auto type = identity.mpi_types.rbegin(); type != identity.mpi_types.rend(); ++type)
        if (*type == wanted || (wanted.back() == 'v' && type->substr(0, wanted.size()) == wanted)) return *type;
  }
  return "";
}

/// The value of an option, as `--name=value` or in the next word; `name` is given with its dashes.
std::optional<std::string> value_of(const Argv& options, std::string_view name) {
  std::optional<std::string> value;
  for (std::size_t at = 0; at < options.size(); ++at) {
    const std::string_view word = options[at];
    if (word == name && at + 1 < options.size()) value = options[at + 1];
    if (word.size() > name.size() && word.substr(0, name.size()) == name && word[name.size()] == '=')
      value = word.substr(name.size() + 1);
  }
  return value;
}

/// Whether the user or the profile set one of `names`; then that takes precedence. `-c7` is `-c 7`.
bool chooses(const Argv& options, std::initializer_list<std::string_view> names) {
  return std::any_of(options.begin(), options.end(), [&](std::string_view option) {
    const bool is_letter = option.size() > 1 && option[0] == '-' && option[1] != '-';
    option = is_letter ? option.substr(0, 2) : option.substr(0, option.find('='));
    return is_in(option, names);
  });
}

/// Slurm passes the environment on unless SLURM_EXPORT_ENV=NONE, which sites do set. A user's choice is kept, with
/// the names of what the agent must have: values are visible in process lists, and one of them is a
/// secret.
std::string exported(const AgentCommand& agent, const Argv& options) {
  const auto chosen = value_of(options, "--export");
  if (!chosen || *chosen == "ALL") return "--export=ALL";
  std::vector<std::string> names;
  if (*chosen != "NONE" && *chosen != "NIL") names.push_back(*chosen);
  for (const auto& variable : agent.env) names.push_back(variable.first);
  return "--export=" + join(names, ",");
}

bool chooses_binding(const Argv& options) {
  return chooses(options, {"--cpu-bind", "--cpu_bind", "--cpus-per-task", "-c"});
}

/// Masks of each rank of a node. Slurm refuses them together with --cpus-per-task, whose CPUs need not include them.
std::string mask_option(const JobBinding& binding) {
  std::vector<std::string> masks;
  for (const RankBinding& rank : binding.ranks) masks.push_back(rank.mask);
  return "--cpu-bind=mask_cpu:" + join(masks, ",");
}

std::string masks_in_words(const JobBinding& binding, std::span<const int>, std::string_view) {
  return "srun " + mask_option(binding);
}

constexpr BindWords words{.cores = "srun --cpu-bind=cores",
                          .whole_cores = "srun --hint=nomultithread",
                          .width = "srun -c {} --threads-per-core=1",
                          .unbound = "srun --cpu-bind=none",
                          .local_rank = "SLURM_LOCALID",
                          .masks = masks_in_words};

void add_gpus(const JobBinding& binding, const Argv& options, Argv& argv) {
  if (!binding.launcher_selects_gpus || chooses(options, {"--gpu-bind", "--gpus-per-task"})) return;
  std::vector<std::string> gpus;
  for (const RankBinding& rank : binding.ranks) {
    if (rank.gpu < 0) return;
    gpus.push_back(std::to_string(rank.gpu));
  }
  if (!chooses(options, {"--gpus-per-node"}))
    argv.push_back(fmt::format("--gpus-per-node={}", std::set<std::string>(gpus.begin(), gpus.end()).size()));
  argv.push_back("--gpu-bind=map_gpu:" + join(gpus, ","));
}

/// Else Slurm counts the hardware threads of a core as CPUs: half of the cores, with both threads of each.
bool uses_one_thread(const JobShape& shape, const Argv& options) {
  return shape.one_thread_per_core && shape.binding.kind == BindKind::cores && !shape.oversubscribed &&
         !chooses(options, {"--threads-per-core", "--hint", "--cpus-per-task", "-c"});
}

void add_binding(const JobShape& shape, const Argv& options, Argv& argv) {
  if (chooses(options, {"--cpu-bind", "--cpu_bind"})) return;
  const BindKind kind = shape.oversubscribed ? BindKind::node : shape.binding.kind;
  if (kind == BindKind::masks && !chooses_binding(options))
    argv.push_back(mask_option(shape.binding));
  else if (kind == BindKind::node)
    argv.emplace_back("--cpu-bind=none");
  else if (kind != BindKind::none)
    argv.emplace_back(uses_one_thread(shape, options) ? "--cpu-bind=threads" : "--cpu-bind=cores");
}

std::string gpu_choice(const Argv& options) {
  return value_of(options, "--gpu-bind").value_or("");
}

Binder binder(const LauncherIdentity&, const JobShape&, const Argv& options) {
  return chooses_binding(options) ? Binder::options : Binder::launcher;
}

void add_placement(const JobShape& shape, const Argv& options, Argv& argv) {
  argv.push_back(fmt::format("--nodes={}", shape.node_count()));
  argv.push_back(fmt::format("--ntasks={}", shape.ranks()));
  argv.push_back(fmt::format("--ntasks-per-node={}", shape.ranks_per_node));
  if (!shape.nodes.empty() && !chooses(options, {"--nodelist", "-w"}))
    argv.push_back("--nodelist=" + compress_hostlist(shape.nodes));
  if (!chooses(options, {"--distribution", "-m"})) argv.emplace_back("--distribution=block");
  if (shape.oversubscribed) argv.emplace_back("--overcommit");
  if (shape.cores_per_rank > 0 && !shape.oversubscribed && !chooses(options, {"--cpus-per-task", "-c"}))
    argv.push_back(fmt::format("--cpus-per-task={}", shape.cores_per_rank * shape.cpus_per_core));
  if (uses_one_thread(shape, options)) argv.emplace_back("--threads-per-core=1");
  add_binding(shape, options, argv);
  if (!shape.oversubscribed && shape.binding.kind == BindKind::masks) add_gpus(shape.binding, options, argv);
}

LaunchCommand command(const LauncherIdentity& identity, const JobShape& shape, const AgentCommand& agent,
                      const Argv& options) {
  LaunchCommand command{{identity.path}, agent.env};
  Argv& argv = command.argv;
  argv.insert(argv.end(), options.begin(), options.end());
  // A step that waits for the resources of another waits for ever when that one hangs: the autopsy of this launch, and
  // the launch after it, would. Without --exact (which --overlap does without) a step may use all that the job has on
  // its nodes.
  if (!chooses(options, {"--exclusive", "--overlap"})) argv.emplace_back("--overlap");
  add_placement(shape, options, argv);
  if (const std::string type = mpi_type(identity); !type.empty() && !chooses(options, {"--mpi"}))
    argv.push_back("--mpi=" + type);
  // Only rank 0 reads; by default every task gets a copy.
  if (!chooses(options, {"--input", "-i"})) argv.emplace_back("--input=0");
  // The launch ends when a rank dies. Which one is in srun's first message, before those that it ends itself.
  if (!chooses(options, {"--kill-on-bad-exit", "-K"})) argv.emplace_back("--kill-on-bad-exit=1");
  argv.push_back(exported(agent, options));
  if (shape.oversubscribed && identity.flavor == "openmpi")
    command.env.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
  argv.insert(argv.end(), agent.argv.begin(), agent.argv.end());
  return command;
}

LauncherNotice read_notice(const LauncherIdentity&, std::string_view text, int status) {
  LauncherNotice notice;
  if (status == 0) return notice;
  if (!srun::explain_launch(text, notice)) srun::explain_end(text, notice);
  return notice;
}

/// A task on each beside whatever runs there, bound to nothing. `--gpus=0`: a total for the whole job (SLURM_GPUS)
/// would be asked of these nodes.
Argv beside(const LauncherIdentity& identity, std::span<const std::string> nodes, const Argv& command) {
  Argv argv{identity.path,
            "--overlap",
            "--mpi=none",
            "--cpu-bind=none",
            fmt::format("--nodes={}", nodes.size()),
            fmt::format("--ntasks={}", nodes.size()),
            "--gpus=0",
            "--export=ALL",
            "--ntasks-per-node=1",
            "--input=none",
            "--nodelist=" + compress_hostlist(nodes)};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

Argv reach(const LauncherIdentity& identity, std::string_view node, const Argv& command, const Argv&) {
  const std::string one[] = {std::string(node)};
  return beside(identity, one, command);
}

/// One step for all: hundreds of them at once are a load on slurmctld. The step goes on where a node fails. `--label`:
/// no node can answer in the name of another.
Argv reach_all(const LauncherIdentity& identity, std::span<const std::string> nodes, const Argv& command, const Argv&) {
  auto argv = beside(identity, nodes, command);
  argv.insert(argv.begin() + 1, {"--no-kill", "--kill-on-bad-exit=0", "--wait=0", "--label"});
  return argv;
}

}  // namespace

extern const LauncherSpec launcher_srun{
    .name = "srun",
    .summary = "Slurm's srun, on the nodes of the allocation around muster.",
    .needs_allocation = true,
    .selects_gpus = true,
    .reads_handshakes_in_turn = false,
    .gives_input_to_rank_0 = true,  // --input=0
    .program = "srun",
    .ask = ask,
    .identify = identify,
    .command = command,
    .hidden_variables = srun::of_srun,
    .binder = binder,
    .gpu_choice = gpu_choice,
    .words = &words,
    .read_notice = read_notice,
    .reach = reach,
    .reach_all = reach_all,
    .node_variable = "SLURMD_NODENAME",
};

}  // namespace muster
