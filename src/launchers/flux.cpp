// Flux: `flux run` inside of an instance (optional on Frontier). Options from flux-run(1).
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "launchers/mpirun/family.hpp"

namespace muster {

namespace {

constexpr std::array<std::string_view, 1> ask{"version"};

/// `commands: 0.57.0`, then libflux-core and the broker where there is one.
Result<LauncherIdentity> identify(std::string_view path, std::string_view printed) {
  constexpr std::string_view mark = "commands:";
  const std::size_t at = printed.find(mark);
  if (at == printed.npos)
    return fail(ErrorKind::launch, std::string(path),
                fmt::format("is not Flux's: it prints \"{}\"; choose another one with PATH or --launcher",
                            printable_line(trim(printed), 120)));
  std::string_view version = printed.substr(at + mark.size());
  version = trim(version.substr(0, version.find('\n')));
  LauncherIdentity identity;
  identity.path = path;
  identity.version = printable_line(version, 32);
  identity.banner = "Flux " + identity.version;
  return identity;
}

bool chooses(const Argv& options, std::string_view name) {
  return std::any_of(options.begin(), options.end(),
                     [&](std::string_view option) { return option.substr(0, name.size()) == name; });
}

/// As one word (`--cores-per-task=7`, `-c7`) or as the first of two.
bool chooses_cores(const Argv& options) {
  return chooses(options, "--cores-per-task") || chooses(options, "-c");
}

bool chooses_affinity(const Argv& options) {
  return chooses(options, "-ocpu-affinity") || chooses(options, "--setopt=cpu-affinity") ||
         chooses(options, "cpu-affinity");
}

Binder binder(const LauncherIdentity&, const JobShape&, const Argv& options) {
  return chooses_affinity(options) ? Binder::options : Binder::launcher;
}

/// `map:1-7;9-15`: CPUs of each local rank by the numbers of the operating system. Known since 0.47, before `flux run`.
std::string map_of(const JobBinding& binding) {
  std::vector<std::string> ranks;
  for (const RankBinding& rank : binding.ranks) ranks.push_back(rank.cpus);
  return "map:" + join(ranks, ";");
}

std::string affinity(const JobShape& shape) {
  if (shape.oversubscribed || shape.binding.kind == BindKind::node) return "off";
  return shape.binding.kind == BindKind::masks ? map_of(shape.binding) : "per-task";
}

/// Ranks may run on any core of their node, not only on those that the number of tasks gives.
bool needs_nodes(const JobBinding& binding) {
  return binding.kind == BindKind::masks || binding.kind == BindKind::node;
}

std::string masks_in_words(const JobBinding& binding, std::span<const int>, std::string_view) {
  return fmt::format("flux run --exclusive --setopt='cpu-affinity={}'", map_of(binding));
}

constexpr BindWords words{.cores = "flux run --setopt=cpu-affinity=per-task",
                          .whole_cores = "flux run --setopt=cpu-affinity=per-task",
                          .width = "flux run --cores-per-task={} --setopt=cpu-affinity=per-task",
                          .unbound = "flux run --setopt=cpu-affinity=off",
                          .local_rank = "FLUX_TASK_LOCAL_ID",
                          .masks = masks_in_words};

/// Until 0.48, `--input` names a file alone (flux-core, pull request 4977).
bool reads_ranks_of_input(std::string_view version) {
  constexpr std::string_view mark = "0.";
  constexpr int first = 49;
  return !version.starts_with(mark) || leading_number<int>(version.substr(mark.size())).value_or(first) >= first;
}

LaunchCommand command(const LauncherIdentity& identity, const JobShape& shape, const AgentCommand& agent,
                      const Argv& options) {
  LaunchCommand made{{identity.path, "run"}, agent.env};
  Argv& argv = made.argv;
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back(fmt::format("--nodes={}", shape.node_count()));
  argv.push_back(fmt::format("--ntasks={}", shape.ranks()));
  if (shape.cores_per_rank > 0 && !shape.oversubscribed && !chooses_cores(options))
    argv.push_back(fmt::format("--cores-per-task={}", shape.cores_per_rank));
  if (!shape.nodes.empty() && !chooses(options, "--requires"))
    argv.push_back(fmt::format("--requires=host:{}", join(shape.nodes, ",")));
  // Else a task has one core, and masks that the job's cores do not include end it.
  if (!shape.oversubscribed && needs_nodes(shape.binding) && !chooses(options, "--exclusive") &&
      !chooses(options, "-x"))
    argv.emplace_back("--exclusive");
  // Its own default leaves all ranks of a node on all cores of the job.
  if (!chooses_affinity(options) && (shape.oversubscribed || shape.binding.kind != BindKind::none))
    argv.push_back("--setopt=cpu-affinity=" + affinity(shape));
  // By default every task gets a copy.
  if (!chooses(options, "--input") && reads_ranks_of_input(identity.version)) argv.emplace_back("--input=0");
  argv.insert(argv.end(), agent.argv.begin(), agent.argv.end());
  return made;
}

/// It names no rank (`flux-job: task(s) Killed`): the flight recorders do.
LauncherNotice read_notice(const LauncherIdentity&, std::string_view text, int status) {
  LauncherNotice notice;
  if (status == 0) return notice;
  constexpr std::string_view unsatisfiable = "unsatisfiable request";
  if (text.find(unsatisfiable) != text.npos) {
    notice.sentence = "Flux lacks the requested nodes or cores";
    notice.remedy = "request fewer nodes or ranks; flux resource list shows what the instance has";
  } else if (text.find("Unable to connect to Flux") != text.npos ||
             text.find("Unable to resolve local URI") != text.npos) {
    notice.sentence = "there is no Flux instance to run in";
    notice.remedy = "start one (flux start, or srun --mpi=none -N NODES flux start), or use --launcher srun";
  } else if (text.find("no such command") != text.npos) {
    notice.sentence = "this Flux has no \"flux run\"";
    notice.remedy = "use Flux 0.48 or newer";
  }
  return notice;
}

}  // namespace

extern const LauncherSpec launcher_flux{
    .name = "flux",
    .summary = "flux run, inside of a Flux instance.",
    .gives_input_to_rank_0 = true,  // --input=0
    .program = "flux",
    .ask = ask,
    .identify = identify,
    .command = command,
    .binder = binder,
    .words = &words,
    .read_notice = read_notice,
    .reach = mpirun::reach,  // by ssh: flux exec knows brokers, not host names
};

}  // namespace muster
