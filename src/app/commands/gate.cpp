#include "app/commands/gate.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <unistd.h>

#include "app/gate/master.hpp"
#include "app/gate/round.hpp"
#include "app/gate/words.hpp"
#include "app/inputs/load.hpp"
#include "app/inputs/simulation.hpp"
#include "app/runs/outputs.hpp"
#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "launchers/retarget/retarget.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr double shortest_deadline_s = 2;
constexpr double longest_deadline_s = 86'400;

void report_to_user(const std::string& line) {
  fmt::print(stderr, "muster: {}\n", printable_line(line, 4000));
}

/// The result when no command is started, also for readers of standard output.
class Answer {
 public:
  explicit Answer(const GateOptions& options) : options_(options) {}

  [[nodiscard]] double began() const { return began_; }

  /// Status of the gate, with what `--print` asked for.
  [[nodiscard]] int print(const GateOutcome& outcome) const {
    const auto need = static_cast<std::size_t>(options_.need);
    if (options_.print == "json")
      fmt::print("{}\n", gate_json(outcome, need, monotonic_seconds() - began_));
    else if (options_.print == "exclude" && !outcome.error)
      fmt::print("{}\n", join(to_exclude(outcome), ","));
    else if (options_.print == "hosts" && !outcome.chosen.empty())
      fmt::print("{}\n", join(outcome.chosen, ","));
    return outcome.chosen.empty() ? exit_gate_refused : 0;
  }

  [[nodiscard]] int refuse(const Error& error, GateOutcome outcome = {}) const {
    (void)usage_error(error);
    return give_up(error, std::move(outcome));
  }

  /// As refuse(), after the reason was printed.
  [[nodiscard]] int give_up(const Error& error, GateOutcome outcome = {}) const {
    outcome.error = error;
    outcome.chosen.clear();
    if (outcome.variables.empty()) outcome.variables = variables_in_force();
    return print(outcome);
  }

 private:
  const GateOptions& options_;
  double began_ = monotonic_seconds();
};

RunOptions run_options(const GateOptions& options) {
  RunOptions run;
  run.choose.paths = options.checks;
  run.choose.tags = options.tags;
  run.choose.excludes = options.excludes;
  run.choose.settings = options.settings;
  run.choose.timeout = options.timeout;
  run.site = options.site;
  run.output = options.output;
  run.command_line = options.command_line;
  run.choose.config = options.config;
  run.choose.is_gate = true;
  return run;
}

Result<double> deadline_of(const std::string& text) {
  const auto deadline = parse_duration(text);
  if (!deadline) return fail(ErrorKind::usage, "--deadline", deadline.error().what);
  if (deadline->value < shortest_deadline_s || deadline->value > longest_deadline_s)
    return fail(ErrorKind::usage, "--deadline", "must be 2s to 24h; write for example 60s");
  return deadline->value;
}

/// The user's command, and what is to be known before any time is spent on measuring.
class Command {
 public:
  explicit Command(const Argv& argv) : argv_(argv), starter_(starter_of(argv)) {}

  /// 0, or why it could never be started.
  [[nodiscard]] int look() const {
    const std::string& name = argv_.front();
    if (!find_program(name).empty()) return 0;
    std::error_code ignored;
    const bool is_there = name.find('/') != std::string::npos && fs::exists(name, ignored);
    report_to_user(
        fmt::format("{} {}; nothing was measured", printable_line(name, 200),
                    is_there ? "can't be run: it is not a program, or not executable for you" : "is not found"));
    return is_there ? exit_gate_not_executable : exit_gate_not_found;
  }

  /// Which MPI an mpirun is of. Asks it.
  [[nodiscard]] Result<void> ask() {
    if (starter_ != Starter::mpirun) return {};
    const auto* launcher = find_launcher("mpirun");
    const auto path = find_program(argv_.front()).string();
    const auto reported = run_program({path, "--version"}, ask_s);
    if (!reported) return tl::unexpected(reported.error());
    const auto identity = launcher->identify(path, reported->out + reported->err);
    if (!identity) return fail(ErrorKind::usage, path, identity.error().what);
    flavor_ = identity->flavor;
    return {};
  }

  [[nodiscard]] Result<Argv> aim(const Destination& there) const { return retargeted(argv_, starter_, flavor_, there); }
  [[nodiscard]] bool is_other() const { return starter_ == Starter::other; }

 private:
  static constexpr double ask_s = 10;
  Argv argv_;
  Starter starter_;
  std::string flavor_;
};

/// As bash distinguishes scripts from programs: by the first line, which has no zeros.
bool is_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  return line.find('\0') == line.npos;
}

/// Does not return when it could be started. What is ignored here that was not when muster began would stay so in it.
int become(const Argv& argv, const Environment& environment, bool heeds_pipes) {
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (heeds_pipes) std::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> words;
  auto copy = argv;
  for (std::string& word : copy) words.push_back(word.data());
  words.push_back(nullptr);
  std::fflush(nullptr);
  const auto path = find_program(argv.front());
  ::execv(path.c_str(), words.data());
  int why = errno;
  // A script without #! is the shell's, as everywhere; for a file that is not text this would give `not found`, 127.
  if (why == ENOEXEC && is_text(path)) {
    ::execvp(words.front(), words.data());
    why = errno;
  }
  report_to_user(fmt::format("{} can't be started: {}", argv.front(),
                             why == ENOEXEC ? "it is not a program for this machine" : std::strerror(why)));
  return why == ENOENT ? exit_gate_not_found : exit_gate_not_executable;
}

/// For what places processes by itself, and for scripts.
Environment environment_for(const Destination& there, const SiteFound& found) {
  Environment all{{"MUSTER_NODELIST", join(there.nodes, ",")},
                  {"MUSTER_NODES", std::to_string(there.nodes.size())},
                  {"MUSTER_HOSTFILE", there.host_file}};
  if (!found.allocation) return all;
  for (auto& one : slurm_variables(environment_variable, found.allocation->nodes, there.nodes))
    all.push_back(std::move(one));
  return all;
}

Result<Destination> destination_of(const GateOutcome& outcome) {
  const fs::path file = fs::absolute(fs::path(outcome.folders.back()) / "hosts");
  std::string text;
  for (const std::string& node : outcome.chosen) text += node + "\n";
  if (auto written = write_file(file, text); !written) return tl::unexpected(written.error());
  return Destination{outcome.chosen, file.string()};
}

Result<void> check_options(const GateOptions& options) {
  const bool has_command = !options.command.empty();
  if (has_command && !options.print.empty())
    return fail(ErrorKind::usage, "--print", "prints instead of starting anything; leave the command out, or --print");
  if (!has_command && options.print.empty())
    return fail(ErrorKind::usage, "gate",
                "there is no command; write it behind --, as in muster gate --need 4 -- srun ./train, or use --print");
  if (has_command && options.command.front().empty())
    return fail(ErrorKind::usage, "gate", "the command behind -- is empty; is a variable not set?");
  return {};
}

std::vector<std::string> nodes_of(const SiteFound& found) {
  return found.site.nodes.empty() ? std::vector<std::string>{host_name()} : found.site.nodes;
}

GateOutcome unmeasured(const SiteFound& found) {
  GateOutcome outcome;
  outcome.nodes = nodes_of(found);
  return outcome;
}

/// Nothing is known of the nodes of a line that starts no agent; every case has the reason.
bool has_started_line(const SiteFound& found) {
  return std::none_of(found.site.lines.begin(), found.site.lines.end(),
                      [](const auto& line) { return line.second.unable.has_value(); });
}

/// More than there are can't be good.
Result<void> check_count(const SiteFound& found, std::size_t need) {
  const std::size_t there = nodes_of(found).size();
  if (need <= there || !has_started_line(found)) return {};
  const auto where = found.allocation ? fmt::format("{} job {}", found.allocation->scheduler, found.allocation->job)
                     : found.site.nodes.empty() ? std::string("this machine alone, without --nodes and outside a job")
                                                : std::string("--nodes");
  return fail(
      ErrorKind::usage, "--need",
      fmt::format("{} nodes are needed, and {} {} there ({}); nothing was measured: request as many, and some to "
                  "spare",
                  need, there, there == 1 ? "is" : "are", where));
}

/// What aiming gets wrong, before anything is measured.
Result<void> try_aim(const Command& command, const SiteFound& found, std::size_t need) {
  auto some = nodes_of(found);
  if (need > some.size()) return {};
  some.resize(need);
  if (auto tried = command.aim({some, ""}); !tried) return tl::unexpected(tried.error());
  return {};
}

/// What the next job should do without, for a script that submits it: `exclude` in the last run's folder.
void write_excluded(const GateOutcome& outcome) {
  if (outcome.folders.empty()) return;
  // Empty where there are none: a script asks for that with [ -s FILE ].
  const auto nodes = to_exclude(outcome);
  const auto text = nodes.empty() ? std::string() : join(nodes, ",") + "\n";
  if (const auto written = write_file(fs::path(outcome.folders.back()) / "exclude", text); !written)
    report_to_user(to_string(written.error()));
}

/// Returns only when it could not be started, with the status for that.
Result<int> start(const Command& command, const GateOutcome& outcome, const SiteFound& found,
                  const GateOptions& options, bool heeds_pipes, const std::optional<std::string>& master_set) {
  const auto there = destination_of(outcome);
  if (!there) return tl::unexpected(there.error());
  auto argv = command.aim(*there);
  if (!argv) return tl::unexpected(argv.error());
  if (command.is_other() && found.allocation && outcome.chosen.size() < outcome.nodes.size())
    report_to_user("srun inside of it takes the nodes that were chosen with --nodelist=$MUSTER_NODELIST only");
  const auto master =
      choose_master({master_set, options.keeps_master}, outcome.nodes, outcome.chosen, resolved_addresses);
  if (!master) return tl::unexpected(master.error());
  if (!master->note.empty()) report_to_user(master->note);
  auto environment = environment_for(*there, found);
  if (const auto& value = master->value ? master->value : master_set) environment.emplace_back("MASTER_ADDR", *value);
  return become(*argv, environment, heeds_pipes);
}

/// Ranks of a line of the user's own get the MASTER_ADDR that the command would get on all nodes. What is wrong with it
/// is reported after the choice of nodes.
/// Other checks do not judge what a command gets another value for: it may name a node that the gate rejects.
void give_master(const SiteFound& found, const GateOptions& options) {
  if (options.keeps_master) return;
  if (options.site.launch.empty()) {
    if (options.print.empty()) ::unsetenv("MASTER_ADDR");
    return;
  }
  // Open MPI's hands no variables on to other nodes.
  const auto pass_on = found.launcher->pass_on;
  if (!environment_variable("MASTER_ADDR") && pass_on != nullptr &&
      !pass_on(found.identity, {{"MASTER_ADDR", ""}}).empty())
    return;
  const auto nodes = nodes_of(found);
  const auto master = choose_master({environment_variable("MASTER_ADDR"), false}, nodes, nodes, resolved_addresses);
  if (master && master->value) ::setenv("MASTER_ADDR", master->value->c_str(), 1);
}

int status_after(const std::string& interrupted) {
  static const std::map<std::string, int> numbers{{"SIGHUP", SIGHUP}, {"SIGINT", SIGINT}, {"SIGTERM", SIGTERM}};
  const auto found = numbers.find(interrupted);
  return 128 + (found == numbers.end() ? SIGTERM : found->second);
}

}  // namespace

int gate_command(const GateOptions& options) {
  const Answer answer(options);
  struct sigaction pipes {};
  const bool heeds_pipes = sigaction(SIGPIPE, nullptr, &pipes) == 0 && pipes.sa_handler == SIG_DFL;
  if (auto sound = check_options(options); !sound) return answer.refuse(sound.error());
  if (auto allowed = check_simulation(options.site.is_simulated); !allowed) return answer.refuse(allowed.error());
  const auto deadline = deadline_of(options.deadline);
  if (!deadline) return answer.refuse(deadline.error());
  const bool starts = !options.command.empty();
  Command command(starts ? options.command : Argv{""});
  if (starts)
    if (const int status = command.look(); status != 0) return status;
  if (starts)
    if (auto known = command.ask(); !known) return answer.refuse(known.error());
  const auto run = run_options(options);
  auto prepared = prepare(run);
  if (!prepared)
    return answer.give_up({ErrorKind::usage, "gate", "nothing was started; see standard error for the reason"});
  const auto found = prepared->found;
  const auto need = static_cast<std::size_t>(options.need);
  if (auto enough = check_count(found, need); !enough) return answer.refuse(enough.error(), unmeasured(found));
  // Its errors are reported now, not after all measurements.
  if (starts)
    if (auto tried = try_aim(command, found, need); !tried) return answer.refuse(tried.error());
  const auto master_set = environment_variable("MASTER_ADDR");
  give_master(found, options);
  const auto outcome = pass_gate(run, std::move(*prepared), need, {answer.began(), *deadline});
  if (outcome.error) return answer.refuse(*outcome.error, outcome);
  if (!outcome.interrupted.empty()) {
    const auto why = fmt::format("interrupted by {}; nothing was started", outcome.interrupted);
    report_to_user(why);
    (void)answer.give_up({ErrorKind::usage, "gate", why}, outcome);
    return status_after(outcome.interrupted);
  }
  for (const std::string& line : gate_lines(outcome, need)) report_to_user(line);
  write_excluded(outcome);
  if (!starts || outcome.chosen.empty()) return answer.print(outcome);
  const auto status = start(command, outcome, found, options, heeds_pipes, master_set);
  return status ? *status : answer.refuse(status.error());
}

}  // namespace muster
