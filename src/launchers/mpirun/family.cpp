#include "launchers/mpirun/family.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/cpu_mask.hpp"
#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "launchers/mpirun/notice.hpp"

namespace muster::mpirun {

namespace {

/// Of the runtime by itself, without Open MPI: `PRRTE 3.0.13`.
constexpr const char* prrte_banner = "PRRTE ";
constexpr const char* intel_banner = "Intel MPI ";

bool is_openmpi(const LauncherIdentity& identity) {
  return identity.flavor == "openmpi";
}

bool is_intel(const LauncherIdentity& identity) {
  return identity.banner.rfind(intel_banner, 0) == 0;
}

/// `4.1.4` of the first word that begins with a digit.
std::string version_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t';
    if (!begins_word || text[at] < '0' || text[at] > '9') continue;
    const std::string_view word = text.substr(at, text.find_first_not_of("0123456789.abrc", at) - at);
    return printable_line(word, 32);
  }
  return {};
}

std::string_view line_with(std::string_view text, std::string_view mark) {
  const std::string_view rest = from(text, mark);
  return rest.substr(0, rest.find('\n'));
}

}  // namespace

Result<LauncherIdentity> identify(std::string_view path, std::string_view printed) {
  LauncherIdentity identity;
  identity.path = path;
  if (const std::string_view intel = line_with(printed, "Intel(R) MPI Library"); !intel.empty()) {
    identity.flavor = "mpich";
    identity.version = version_in(intel);
    identity.banner = intel_banner + identity.version;
    identity.remote_agent_variables = {"I_MPI_HYDRA_BOOTSTRAP_EXEC", "HYDRA_LAUNCHER_EXEC"};
    return identity;
  }
  if (printed.find("mpiexec.hydra: not found") != printed.npos)
    return fail(
        ErrorKind::launch, std::string(path),
        "is Intel MPI's mpirun, which does not find its own mpiexec.hydra; load the module of Intel MPI, or set "
        "I_MPI_ROOT and source $I_MPI_ROOT/env/vars.sh");
  const std::string_view openmpi = line_with(printed, "Open MPI)");
  const std::string_view orte = line_with(printed, "OpenRTE)");
  const std::string_view prrte = line_with(printed, "PRRTE)");
  if (!openmpi.empty() || !orte.empty() || !prrte.empty()) {
    identity.flavor = "openmpi";
    identity.version = version_in(!openmpi.empty() ? openmpi : !orte.empty() ? orte : prrte);
    identity.banner = (openmpi.empty() && orte.empty() ? prrte_banner : "Open MPI ") + identity.version;
    identity.remote_agent_variables = {"PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_plm_ssh_agent"};
    return identity;
  }
  if (printed.find("HYDRA") != printed.npos) {
    identity.flavor = "mpich";
    identity.version = version_in(line_with(printed, "Version:"));
    identity.banner = "MPICH (Hydra) " + identity.version;
    identity.remote_agent_variables = {"HYDRA_LAUNCHER_EXEC"};
    return identity;
  }
  return fail(ErrorKind::launch, std::string(path),
              fmt::format("is the mpirun of neither Open MPI, PRRTE, MPICH nor Intel MPI: it prints \"{}\"; choose a "
                          "supported one with "
                          "PATH or --launcher",
                          printable_line(trim(printed), 120)));
}

namespace {

/// Whether the user or the profile set one of `names`; then that takes precedence. Hydra takes `-name=value` as well,
/// and each only once.
bool chooses(const Argv& options, std::initializer_list<std::string_view> names) {
  return std::any_of(options.begin(), options.end(), [&](std::string_view option) {
    if (option.empty() || option[0] != '-') return false;
    option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
    return is_in(option.substr(0, option.find('=')), names);
  });
}

std::string hosts_with_slots(const JobShape& shape) {
  if (shape.nodes.empty()) return fmt::format("localhost:{}", shape.ranks_per_node);
  std::string hosts;
  for (const std::string& node : shape.nodes)
    hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", node, shape.ranks_per_node);
  return hosts;
}

bool binds_openmpi(const Argv& options) {
  return chooses(options,
                 {"map-by", "npernode", "N", "rankfile", "rf", "bind-to", "bind-to-core", "cpu-set", "cpu-list"});
}

bool binds_mpich(const Argv& options) {
  return chooses(options, {"bind-to", "binding", "map-by"});
}

bool binds_intel(const Argv& options) {
  return std::any_of(options.begin(), options.end(),
                     [](std::string_view option) { return option.rfind("I_MPI_PIN", 0) == 0; });
}

bool has_mapping(const JobShape& shape, const Argv& options) {
  return shape.binding.kind == BindKind::masks && !shape.oversubscribed && !shape.binding.openmpi_mapping.empty() &&
         !binds_openmpi(options);
}

/// Ranks that Open MPI leaves alone: all cores are theirs, or the agent binds them.
bool is_unbound(const JobShape& shape) {
  return shape.oversubscribed || shape.binding.kind == BindKind::node || shape.binding.kind == BindKind::masks;
}

/// Open MPI 5 and later, whose mpirun is PRRTE's prterun, or PRRTE by itself.
bool is_prrte(const LauncherIdentity& identity) {
  if (identity.banner.rfind(prrte_banner, 0) == 0) return true;
  return leading_number<int>(identity.version).value_or(0) >= 5;
}

/// Open MPI 4 takes the operating system's numbers of hardware threads, so that any mask can be expressed. Open MPI 5
/// takes hwloc's numbers of cores alone, and binds to all threads of a core.
bool has_rankfile(const LauncherIdentity& identity, const JobShape& shape, const Argv& options) {
  if (shape.binding.kind != BindKind::masks || shape.oversubscribed || binds_openmpi(options)) return false;
  const auto& ranks = shape.binding.ranks;
  return !is_prrte(identity) ||
         std::all_of(ranks.begin(), ranks.end(), [](const RankBinding& rank) { return !rank.cores.empty(); });
}

/// `rank 3=nid002 slot=9-15`, a line for each rank of the job.
LaunchFile rankfile(const LauncherIdentity& identity, const JobShape& shape) {
  LaunchFile file{"rankfile", {}};
  int rank = 0;
  for (int node = 0; node < shape.node_count(); ++node)
    for (const RankBinding& binding : shape.binding.ranks)
      file.text += fmt::format("rank {}={} slot={}\n", rank++,
                               shape.nodes.empty() ? "localhost" : shape.nodes[static_cast<std::size_t>(node)],
                               is_prrte(identity) ? binding.cores : binding.cpus);
  return file;
}

void add_rankfile(const LauncherIdentity& identity, const JobShape& shape, LaunchCommand& command) {
  const std::string path = fmt::format("{}/rankfile", files_placeholder);
  command.files.push_back(rankfile(identity, shape));
  if (is_prrte(identity))
    command.argv.insert(command.argv.end(), {"--map-by", "rankfile:file=" + path});
  else
    command.argv.insert(command.argv.end(),
                        {"--use-hwthread-cpus", "--mca", "rmaps_rank_file_physical", "1", "--rankfile", path});
}

void add_openmpi_placement(const LauncherIdentity& identity, const JobShape& shape, const Argv& options,
                           LaunchCommand& command) {
  Argv& argv = command.argv;
  // The flag is gone from Open MPI 5's documentation and the modifier unknown to old 4.0: each gets its own.
  const bool has_modifier = is_prrte(identity);
  if (has_mapping(shape, options)) {
    const Argv words = split(shape.binding.openmpi_mapping, ' ');
    argv.insert(argv.end(), words.begin(), words.end());
    return;
  }
  if (has_rankfile(identity, shape, options)) return add_rankfile(identity, shape, command);
  std::string mapping = fmt::format("ppr:{}:node", shape.ranks_per_node);
  if (shape.cores_per_rank > 0 && !shape.oversubscribed) mapping += fmt::format(":PE={}", shape.cores_per_rank);
  if (shape.oversubscribed && has_modifier) mapping += ":OVERSUBSCRIBE";
  if (!chooses(options, {"map-by", "npernode", "N", "rankfile", "rf"})) argv.insert(argv.end(), {"--map-by", mapping});
  if (shape.oversubscribed && !has_modifier) argv.emplace_back("--oversubscribe");
  if (!chooses(options, {"bind-to", "bind-to-core", "rankfile", "rf"}) &&
      (shape.oversubscribed || shape.binding.kind != BindKind::none))
    argv.insert(argv.end(), {"--bind-to", is_unbound(shape) ? "none" : "core"});
  // With as many slots as ranks Open MPI does not notice, and a rank that waits would keep the others off its core.
  if (shape.oversubscribed) argv.insert(argv.end(), {"--mca", "mpi_yield_when_idle", "1"});
}

/// mpirun(1) of Open MPI 4, prterun(1) of Open MPI 5: both start nothing for root without their pair, and read it for
/// root alone.
void allow_root(const LauncherIdentity& identity, Environment& environment) {
  environment.insert(environment.end(), {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  if (is_prrte(identity))
    environment.insert(environment.end(), {{"PRTE_ALLOW_RUN_AS_ROOT", "1"}, {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
}

LaunchCommand openmpi_command(const LauncherIdentity& identity, const JobShape& shape, const AgentCommand& agent,
                              const Argv& options) {
  LaunchCommand command{{identity.path}, agent.env};
  Argv& argv = command.argv;
  argv.insert(argv.end(), options.begin(), options.end());
  if (!chooses(options, {"host", "H", "hostfile", "machinefile"}))
    argv.insert(argv.end(), {"--host", hosts_with_slots(shape)});
  // Started by its absolute path, mpirun would put its own folders before the user's in PATH and LD_LIBRARY_PATH of the
  // ranks, and an environment that was activated would not be the one that is tried.
  if (shape.nodes.empty() && !chooses(options, {"prefix", "noprefix", "host", "H", "hostfile", "machinefile"}))
    argv.emplace_back("--noprefix");
  argv.insert(argv.end(), {"-n", std::to_string(shape.ranks())});
  add_openmpi_placement(identity, shape, options, command);
  // Names alone: values are visible in process lists, and one of them is a secret.
  for (const auto& variable : agent.env) argv.insert(argv.end(), {"-x", variable.first});
  argv.insert(argv.end(), agent.argv.begin(), agent.argv.end());
  allow_root(identity, command.env);
  return command;
}

/// `user:1+2+3,9+10+11`: CPUs of each local rank by the numbers of the operating system.
std::string user_masks(const JobBinding& binding) {
  std::vector<std::string> ranks;
  for (const RankBinding& rank : binding.ranks) {
    std::vector<std::string> cpus;
    const auto mask = CpuMask::parse_list(rank.cpus);
    for (const int cpu : mask ? mask->cpus() : std::vector<int>()) cpus.push_back(std::to_string(cpu));
    ranks.push_back(join(cpus, "+"));
  }
  return "user:" + join(ranks, ",");
}

/// `[0xfe,0xfe00]`: a domain for each local rank.
std::string intel_domains(const JobBinding& binding) {
  std::vector<std::string> masks;
  for (const RankBinding& rank : binding.ranks) masks.push_back(rank.mask);
  return "[" + join(masks, ",") + "]";
}

void add_mpich_binding(const JobShape& shape, const Argv& options, Argv& argv) {
  // Hydra takes an option only once.
  if (chooses(options, {"bind-to", "binding"})) return;
  const std::string cores = shape.cores_per_rank > 0 ? fmt::format("core:{}", shape.cores_per_rank) : "core";
  const bool has_masks = shape.binding.kind == BindKind::masks && !shape.oversubscribed;
  argv.insert(argv.end(), {"-bind-to", has_masks ? user_masks(shape.binding) : is_unbound(shape) ? "none" : cores});
}

/// Intel MPI accepts -bind-to and ignores it: it binds by its own variables alone, to equal shares of the node where
/// none is set. I_MPI_PIN_DOMAIN replaces I_MPI_PIN_PROCESSOR_LIST.
void add_intel_binding(const JobShape& shape, const Argv& options, Argv& argv) {
  if (binds_intel(options)) return;
  const bool has_masks = shape.binding.kind == BindKind::masks && !shape.oversubscribed;
  if (!has_masks && is_unbound(shape)) {
    argv.insert(argv.end(), {"-genv", "I_MPI_PIN", "0"});
    return;
  }
  const std::string domains = has_masks                  ? intel_domains(shape.binding)
                              : shape.cores_per_rank > 0 ? "auto:compact"
                                                         : "core";
  argv.insert(argv.end(), {"-genv", "I_MPI_PIN", "1", "-genv", "I_MPI_PIN_DOMAIN", domains});
}

LaunchCommand mpich_command(const LauncherIdentity& identity, const JobShape& shape, const AgentCommand& agent,
                            const Argv& options) {
  LaunchCommand command{{identity.path}, agent.env};
  Argv& argv = command.argv;
  argv.insert(argv.end(), options.begin(), options.end());
  if (!chooses(options, {"hosts", "host", "f", "hostfile", "machinefile"}))
    argv.insert(argv.end(), {"-hosts", shape.nodes.empty() ? "localhost" : join(shape.nodes, ",")});
  argv.insert(argv.end(), {"-n", std::to_string(shape.ranks())});
  if (!chooses(options, {"ppn", "perhost"})) argv.insert(argv.end(), {"-ppn", std::to_string(shape.ranks_per_node)});
  if (shape.oversubscribed || shape.binding.kind != BindKind::none)
    (is_intel(identity) ? add_intel_binding : add_mpich_binding)(shape, options, argv);
  // Everything, as Hydra does unless HYDRA_ENV is set: a list would keep all else (LD_LIBRARY_PATH,
  // MPICH_*) from ranks on other nodes. Values travel in its own messages, not in arguments.
  if (!chooses(options, {"genvlist", "genvnone", "genvall"})) argv.emplace_back("-genvall");
  argv.insert(argv.end(), agent.argv.begin(), agent.argv.end());
  return command;
}

}  // namespace

LaunchCommand command(const LauncherIdentity& identity, const JobShape& shape, const AgentCommand& agent,
                      const Argv& options) {
  return is_openmpi(identity) ? openmpi_command(identity, shape, agent, options)
                              : mpich_command(identity, shape, agent, options);
}

std::string openmpi_masks_in_words(const JobBinding& binding, std::span<const int> numbers, std::string_view host) {
  if (!binding.openmpi_mapping.empty()) return "mpirun " + binding.openmpi_mapping;
  std::vector<std::string> ranks;
  for (std::size_t i = 0; i < binding.ranks.size() && i < numbers.size(); ++i)
    ranks.push_back(fmt::format("\"rank {}={} slot={}\"", numbers[i], host,
                                binding.ranks[i].cores.empty() ? binding.ranks[i].cpus : binding.ranks[i].cores));
  return "mpirun --rankfile FILE with the lines " + join(ranks, ", ");
}

std::string hydra_masks_in_words(const JobBinding& binding, std::span<const int>, std::string_view) {
  return "mpiexec -bind-to " + user_masks(binding);
}

/// Names alone, as in openmpi_command; Hydra passes on everything.
Argv pass_on(const LauncherIdentity& identity, const Environment& variables) {
  Argv names;
  if (!is_openmpi(identity)) return names;
  for (const auto& variable : variables) names.insert(names.end(), {"-x", variable.first});
  return names;
}

Binder binder(const LauncherIdentity& identity, const JobShape& shape, const Argv& options) {
  if (is_intel(identity)) return binds_intel(options) ? Binder::options : Binder::launcher;
  if (!is_openmpi(identity)) return binds_mpich(options) ? Binder::options : Binder::launcher;
  if (binds_openmpi(options)) return Binder::options;
  const bool is_stated =
      shape.binding.kind == BindKind::node || has_mapping(shape, options) || has_rankfile(identity, shape, options);
  return is_stated ? Binder::launcher : Binder::agent;
}

LauncherNotice read_notice(const LauncherIdentity& identity, std::string_view text, int status) {
  LauncherNotice notice;
  if (status == 0 && !is_intel(identity) && !is_openmpi(identity)) return notice;
  const std::string message = in_one_line(text);
  if (status == 0) {
    // Intel MPI's and Open MPI 5's end so, too, where ranks have finished without their daemon.
    explain_lost_daemon(message, is_intel(identity), reports_kill(text), notice);
    return notice;
  }
  const bool is_rank = is_openmpi(identity) ? find_openmpi_rank(message, notice) : find_mpich_rank(message, notice);
  if (!is_rank) explain_launch(message, reports_kill(text), notice);
  // Where a rank called abort, prterun ends with its status and does not print it.
  if (notice.rank && !notice.signal && !notice.exit_status) notice.exit_status = status;
  return notice;
}

/// PRRTE's has the number of its process in its name.
std::string session_folder(const LauncherIdentity& identity, std::string_view host, unsigned user) {
  if (!is_openmpi(identity) || is_prrte(identity)) return {};
  return fmt::format("ompi.{}.{}", host.substr(0, host.find('.')), user);
}

/// Open MPI 4.1.4 ends with status 1 and prints nothing where it can't bind to a CPU of the rankfile.
LauncherNotice explain_silence(const Argv& argv) {
  LauncherNotice notice;
  for (std::size_t at = 0; at < argv.size(); ++at) {
    constexpr std::string_view mark = "rankfile:file=";
    std::string file;
    if (argv[at].rfind(mark, 0) == 0) file = argv[at].substr(mark.size());
    if ((argv[at] == "--rankfile" || argv[at] == "-rf") && at + 1 < argv.size()) file = argv[at + 1];
    if (file.empty()) continue;
    notice.sentence = fmt::format(
        "the masks of the ranks could not be set: the line binds them by the rankfile {}, and Open MPI ends so where a "
        "node does not have the CPUs that it names",
        printable_line(file, 300));
    notice.remedy =
        "compare the CPUs in the rankfile with those of each node (lscpu), and correct the masks of the profile, or "
        "run with --bind cores";
    break;
  }
  return notice;
}

namespace {

/// What follows `--mca plm_rsh_agent`, `--prtemca plm_ssh_agent`, `-launcher-exec` or Intel's `-bootstrap-exec`.
std::string chosen_agent(const Argv& options) {
  for (std::size_t at = 0; at + 1 < options.size(); ++at) {
    const std::string& name = options[at];
    if (name == "plm_rsh_agent" || name == "plm_ssh_agent" || name == "-launcher-exec" || name == "--launcher-exec" ||
        name == "-bootstrap-exec")
      return options[at + 1];
  }
  return {};
}

}  // namespace

Argv reach(const LauncherIdentity& identity, std::string_view node, const Argv& command, const Argv& options) {
  std::string agent = chosen_agent(options);
  if (agent.empty()) agent = identity.remote_agent;
  // Alternatives are separated by colons; the first is taken.
  Argv argv;
  for (const std::string& word : split(trim(agent.substr(0, agent.find(" :"))), ' '))
    if (!word.empty()) argv.push_back(word);
  if (argv.empty()) argv = {"ssh"};
  // Without interactive questions, and no longer than an autopsy may take.
  if (argv == Argv{"ssh"}) argv.insert(argv.end(), {"-o", "BatchMode=yes", "-o", "ConnectTimeout=4"});
  argv.emplace_back(node);
  argv.push_back(shell_line(command));
  return argv;
}

}  // namespace muster::mpirun
