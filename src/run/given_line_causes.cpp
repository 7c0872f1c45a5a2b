// Why a launch line started no agent, by what its launcher and the programs in it print.
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>

#include "base/text.hpp"
#include "run/given_line.hpp"
#include "run/other_mpi.hpp"
#include "run/rank_complaint.hpp"
#include "run/start_complaint.hpp"

namespace muster {

namespace {

constexpr std::size_t longest_quote = 200;

struct KnownCause {
  std::string_view text;    ///< in a line of standard error
  std::string_view reason;  ///< `{agent}`: the agent's path; the line of standard error follows it
  std::string_view remedy;
  bool is_quoted = true;  ///< false: the launcher breaks its sentence into lines
};

// Causes before consequences.
constexpr KnownCause known_causes[] = {
    {started_without_variables, "the line keeps muster's variables from the agent",
     "let the line pass on the environment: leave out singularity's --cleanenv, --contain and --containall, env -i, "
     "and what else clears variables; a training would lack those of the launcher, too"},
    {"error while loading shared libraries: ", "the agent {agent} can't be loaded where the line starts it",
     "bind a folder with the agent and its libraries into the container and name that agent with --agent "
     "(cmake --install with MUSTER_BUNDLE=ON, docs/launch-line.md), or name one that was built there"},
    {"Error loading shared library ", "the agent {agent} can't be loaded where the line starts it",
     "build muster in that container (its C library is musl), and name its agent with --agent"},
    {"version `GLIBC_", "the agent {agent} needs a newer C library than there is where the line starts it",
     "build muster in that container, and name its agent with --agent"},
    // `libfabric.so.1: version `FABRIC_1.9' not found (required by libmpi.so.12)`.
    {"' not found (required by ", "the agent {agent} finds libraries of other versions where the line starts it",
     "bind a folder with the agent and its libraries into the container and name that agent with --agent "
     "(cmake --install with MUSTER_BUNDLE=ON, docs/launch-line.md), or name one that was built there"},
    // Libraries of two MPIs have the same names: libmpi.so.12, libmpi.so.40.
    {"symbol lookup error: ", "the agent {agent} finds the library of another MPI where the line starts it",
     another_mpi_remedy},
    {finds_another_mpi, "the agent finds the library of another MPI where the line starts it", another_mpi_remedy},
    {"Unable to layout tasks", "Slurm can't place the tasks of the line on the CPUs of the step",
     "lower the numbers in the line (--ntasks-per-node, -c), leave out --hint and --threads-per-core, or request whole "
     "nodes (--exclusive)"},
    {"have been direct launched using \"srun\"", "the agent's MPI does not support the way in which srun starts it",
     "add --mpi=TYPE to the line (srun --mpi=list prints the types; Open MPI needs pmix), or name an agent that was "
     "built with the MPI of the site with --agent"},
    {"More processors requested than permitted", "the line requests more ranks or CPUs than the job has",
     "lower the numbers in the line (-n, --ntasks-per-node, -c), or request a larger job"},
    {"Only allocated ", "the line requests more nodes than the job has",
     "lower the number of nodes in the line (-N), or request a larger job"},
    {"Requested node configuration is not available", "the job does not have the nodes or resources of the line",
     "correct the line (scontrol show job prints what the job has), or request a larger job"},
    {"Cannot request more threads per core", "the line requests more threads per core than the job",
     "leave out --threads-per-core and --hint in the line, or give them to sbatch or salloc, too"},
    {"not enough slots available", "the line requests more ranks than there are slots",
     "lower the number of ranks in the line (-n), or add --oversubscribe", false},
    {"processes than cpus on a resource", "the line binds more ranks than a node has cores",
     "lower the number of ranks per node in the line, or add --bind-to none", false},
    {"Exec format error", "the line starts a file that is neither a program for this processor nor a script",
     "begin a script with a line such as #!/bin/sh; name a build for the processor of these nodes"},
    {"Invalid MPI type", "srun does not know the MPI type of the line",
     "choose one of those that srun --mpi=list prints"},
    {"unrecognized option", "the line has an option that its program does not know", "correct the line"},
    {"Invalid numeric value", "an option of the line has a value that is not a number", "correct the line"},
    {"that a parameter given to a command line", "an option of the line has a value that mpirun does not take",
     "correct the line; launches/line/stderr has the option and its value", false},
    {"multi_prog config file", "the line takes its programs from a file (--multi-prog)",
     "write a line that starts the same program on all ranks"},
};

/// How Slurm's option --cpu-bind names CPUs, and what to change where it refuses them.
struct CpuBindKind {
  std::string_view values;  ///< between spaces
  std::string_view what;
  std::string_view remedy;
};
constexpr CpuBindKind bind_kinds[] = {
    {" mask_cpu ", "the masks", "give srun a mask list or -c, never both"},
    {" map_cpu ", "the CPUs (map_cpu)", "give srun a list of CPUs or -c, never both"},
    {" rank_ldom map_ldom mask_ldom ", "the NUMA domains",
     "name NUMA domains that each node has, and leave out -c; or give srun a mask list (--cpu-bind=mask_cpu)"},
    {"", "the CPU binding", "give srun a mask list or -c, never both"},
};

/// `rank_ldom` of `srun --cpu-bind=verbose,rank_ldom`; empty: none.
std::string bind_value(const Argv& line) {
  std::string value;
  for (std::size_t at = 0; at < line.size(); ++at)
    for (const std::string_view option : {"--cpu-bind", "--cpu_bind"}) {
      if (line[at] == option && at + 1 < line.size()) value = line[at + 1];
      if (line[at].starts_with(option) && line[at].substr(option.size(), 1) == "=")
        value = line[at].substr(option.size() + 1);
    }
  for (const std::string& word : split(value, ','))
    if (const std::string name = word.substr(0, word.find(':')); name.find('_') != std::string::npos) return name;
  return {};
}

bool is_of_kind(const CpuBindKind& kind, const std::string& value) {
  return kind.values.empty() || (!value.empty() && kind.values.find(fmt::format(" {} ", value)) != kind.values.npos);
}

/// Why no agent runs is the line's doing, whichever rank died of it first.
Finding by_the_line(Finding finding, std::string reason, std::string remedy) {
  finding.verdict = Verdict::error;
  finding.reason = std::move(reason);
  finding.remedy = std::move(remedy);
  finding.culprits = {{CulpritKind::launcher, "the launch line", "", -1}};
  return finding;
}

/// The line of `text` that holds `words` and, where it is not empty, `name`; empty: none.
std::string line_with(std::string_view text, std::string_view words, std::string_view name) {
  for (const std::string_view line : lines(text))
    if (line.find(words) != line.npos && line.find(name) != line.npos) return printable_line(trim(line), longest_quote);
  return {};
}

bool reports_missing(std::string_view line) {
  for (const char* words : {"No such file or directory", "no such file or directory", "not found"})
    if (line.find(words) != line.npos) return true;
  return false;
}

/// The program that a launcher could not start, from its own message; empty: none is named.
std::string missing_program(std::string_view text) {
  struct Form {
    std::string_view before, after;
  };
  // slurmstepd, Open MPI's mpirun, Hydra.
  for (const Form& form : {Form{"execve(): ", ": No such file"}, Form{"\nExecutable: ", "\n"},
                           Form{"execvp error on file ", " (No such file"}}) {
    const std::size_t at = text.find(form.before);
    if (at == text.npos) continue;
    const std::size_t begin = at + form.before.size();
    const std::size_t end = text.find(form.after, begin);
    if (end != text.npos && end - begin < longest_quote) return std::string(trim(text.substr(begin, end - begin)));
  }
  return {};
}

/// `words`: the line of a program that reports it; empty: the launcher does.
Finding missing_agent(const Finding& finding, const fs::path& agent, const std::string& words) {
  return by_the_line(
      finding,
      fmt::format("the agent {} is not there where the line starts it{}", agent.string(),
                  words.empty() ? "" : ": " + words),
      fmt::format("bind its folder into the container (singularity exec --bind {0}, apptainer exec --bind {0}), or "
                  "name a path that is there with --agent; where it is there, the container's C library is another "
                  "(musl): build muster in it",
                  agent.parent_path().string()));
}

std::optional<Finding> explain_missing(const Finding& finding, std::string_view text, const fs::path& agent) {
  for (const std::string_view line : lines(text)) {
    const bool names_agent = line.find(agent.filename().string()) != line.npos;
    if (names_agent && reports_missing(line))
      return missing_agent(finding, agent, printable_line(trim(line), longest_quote));
  }
  const std::string program = missing_program(text);
  if (program.empty()) return std::nullopt;
  if (program == agent.string()) return missing_agent(finding, agent, "");
  return by_the_line(finding,
                     fmt::format("the line starts {}, which is not a program on the nodes", printable_line(program)),
                     fmt::format("correct the line, or install {} on all nodes; end the line before its own program, "
                                 "where muster's agent takes its place",
                                 printable_line(program)));
}

/// Slurm's own words where it can't bind tasks as the line asks for.
std::optional<Finding> explain_binding(const LineFailure& failure) {
  for (const char* words : {"CPU binding outside of job step allocation", "Unable to satisfy cpu bind request"}) {
    const std::string message = line_with(failure.stderr_text, words, "");
    if (message.empty()) continue;
    const std::string value = bind_value(failure.argv);
    const auto* kind = std::find_if(std::begin(bind_kinds), std::end(bind_kinds),
                                    [&](const CpuBindKind& one) { return is_of_kind(one, value); });
    const bool is_named = kind->what == "the NUMA domains";
    return by_the_line(
        failure.finding,
        fmt::format("Slurm refuses {}{} of the line: {}", kind->what, is_named ? fmt::format(" ({})", value) : "",
                    message),
        fmt::format(
            "{} (SLURM_CPUS_PER_TASK and --threads-per-core count as -c), and request whole nodes (--exclusive)",
            kind->remedy));
  }
  return std::nullopt;
}

/// Open MPI's library alone, as in some containers: what it needs at its start are files of their own.
std::optional<Finding> explain_plugins(const LineFailure& failure) {
  const bool has_no_plugins = failure.stderr_text.find("opal_init:startup:internal-failure") != std::string::npos ||
                              failure.stderr_text.find("opal_shmem_base_select failed") != std::string::npos;
  if (!has_no_plugins || failure.is_of_agent) return std::nullopt;
  return by_the_line(
      failure.finding,
      "the agent finds Open MPI's library where the line starts it, but not its plug-ins (the folder "
      "openmpi beside libmpi), so that MPI_Init fails",
      "bind a folder with the agent and its libraries into the container and name that agent with "
      "--agent (cmake --install with MUSTER_BUNDLE=ON, docs/launch-line.md), or install Open MPI there as a "
      "whole; unset OPAL_PREFIX where it names another folder");
}

/// The launcher's last output, where it ended.
std::string end_words(const LineFailure& failure) {
  if (failure.launcher_status <= 0) return {};
  const auto complaint = rank_complaint(failure.stderr_text);
  return fmt::format("; the launcher ended with status {}{}", failure.launcher_status,
                     complaint.empty() ? "" : ": " + complaint);
}

/// Tasks that start no agent, or several. A launcher that ends because an agent died may do so before others are there.
std::optional<Finding> explain_tasks(const LineFailure& failure) {
  const LineTasks& tasks = failure.tasks;
  const bool has_several = !tasks.with_several_agents().empty();
  const auto& notice = failure.notice;
  const bool is_death_of_agent =
      (notice.rank && tasks.agents.count(*notice.rank) != 0) || (!notice.rank && notice.signal.has_value());
  if (!tasks.has_agents() || (!has_several && (failure.is_of_agent || is_death_of_agent))) return std::nullopt;
  const auto words = uneven_tasks(tasks);
  if (words.empty()) return std::nullopt;
  std::string remedy =
      "let each task of the line start what follows it once: a wrapper ends with exec \"$@\", on every rank";
  if (!tasks.without_agent().empty()) remedy += "; the others wait for a task that does something else";
  return by_the_line(failure.finding, "the line starts " + words + (has_several ? "" : end_words(failure)),
                     std::move(remedy));
}

/// No agent is there, and the launcher does not know why.
Finding explain_no_agent(Finding finding, int launcher_status) {
  auto reason = finding.reason;
  if (launcher_status < 0)
    return by_the_line(std::move(finding), "the line did not start muster's agent, and did not end: " + reason,
                       "end the line before the program, where muster's agent takes its place; where the nodes are "
                       "slow to start programs, set MUSTER_STARTUP_TIMEOUT=300");
  if (launcher_status == 0)
    return by_the_line(
        std::move(finding), std::move(reason),
        "end the line before the program, where muster's agent takes its place; a container's wrapper stays");
  // A program of the user's that took the agent for an argument of its own. Some launchers name the first that ended,
  // which is not a rank of muster's.
  auto remedy = "see that the line ends before the program, where muster's agent takes its place; " + finding.remedy;
  return by_the_line(std::move(finding), std::move(reason), std::move(remedy));
}

}  // namespace

Finding explain_given_line(LineFailure failure, const fs::path& agent) {
  const std::string_view stderr_text = failure.stderr_text;
  for (const KnownCause& cause : known_causes) {
    // What a wrapper lacks does not concern the agent.
    const bool is_of_agent = cause.reason.find("{agent}") != cause.reason.npos;
    const std::string message = line_with(stderr_text, cause.text, is_of_agent ? agent.filename().string() : "");
    if (message.empty()) continue;
    const auto reason = fmt::format(fmt::runtime(cause.reason), fmt::arg("agent", agent.string()));
    return by_the_line(std::move(failure.finding), cause.is_quoted ? fmt::format("{}: {}", reason, message) : reason,
                       std::string(cause.remedy));
  }
  if (auto binding = explain_binding(failure)) return std::move(*binding);
  if (auto plugins = explain_plugins(failure)) return std::move(*plugins);
  if (auto missing = explain_missing(failure.finding, stderr_text, agent)) return std::move(*missing);
  if (auto uneven = explain_tasks(failure)) return std::move(*uneven);
  const bool is_explained = failure.is_of_agent || !failure.notice.sentence.empty();
  if (failure.tasks.has_agents() || is_explained) return std::move(failure.finding);
  return explain_no_agent(std::move(failure.finding), failure.launcher_status);
}

}  // namespace muster
