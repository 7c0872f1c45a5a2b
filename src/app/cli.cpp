// The command line: every command, option and example. Nothing else includes CLI11.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>

#include "app/driver_main.hpp"
#include "app/load.hpp"
#include "app/options.hpp"
#include "base/text.hpp"
#include "muster/reporter.hpp"

namespace muster {

namespace {

void add_choose(CLI::App& app, ChooseOptions& choose) {
  app.add_option("paths", choose.paths,
                 "Check files, profiles, or folders of them (default: the shipped checks tagged \"default\")")
      ->type_name("FILE|FOLDER");
  app.add_option("-n,--name", choose.names, "Only cases whose name or id matches this regular expression")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  app.add_option("-t,--tag", choose.tags, "Only checks with this tag; given again: with all of them")
      ->type_name("TAG")
      ->allow_extra_args(false);
  app.add_option("-x,--exclude", choose.excludes, "Not those whose name or id matches this regular expression")
      ->type_name("REGEX")
      ->allow_extra_args(false);
}

void add_site(CLI::App& app, SiteOptions& site) {
  app.add_option("--system", site.system, "Profile, and optionally partition (default: found)")
      ->type_name("NAME[:PARTITION]");
  app.add_option("--environment", site.environment, "Environment of the profile")->type_name("NAME");
  app.add_option("--launcher", site.launcher,
                 "Who starts the ranks (default: srun in a Slurm job, else mpirun, else local)")
      ->type_name("NAME");
  app.add_option("--nodes", site.nodes,
                 "Nodes to run on: a host list; in a job or with --submit also a count, all, or idle")
      ->type_name("nid[001-004]");
  app.add_option("--ranks-per-node", site.ranks_per_node, "Ranks per node, whatever the checks say")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  app.add_option("-J,--job-option", site.job_options,
                 "Option for the launcher, given as it is; repeatable: -J=--mca -J=btl -J=tcp,self.\n"
                 "With --submit for the job: -J account=project_1 -J qos=debug")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  app.add_option("--launcher-option", site.launcher_options, "Option for the launcher, also with --submit; repeatable")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  app.add_option("--agent", site.agent, "The agent to start (default: muster-rank beside muster)")->type_name("PATH");
}

void add_run_like(CLI::App& app, RunOptions& run) {
  add_choose(app, run.choose);
  add_site(app, run.site);
  app.add_option("-S", run.choose.settings, "Set a parameter of a check (CHECK may be *)")
      ->type_name("CHECK.PARAM=VALUE")
      ->allow_extra_args(false);
  app.add_option("--repeat", run.choose.repeat, "Do every case N times; repetitions that disagree fail")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_flag("--per-node", run.choose.per_node,
               "Every node by itself, all at once: a case for each, judged alone;\n"
               "checks that need several nodes together are skipped");
  app.add_option("--timeout", run.choose.timeout, "Deadline of every case, whatever the checks say")->type_name("TIME");
}

/// The formats that are built in.
std::string formats() {
  std::vector<std::string> names;
  for (const auto* reporter : all_reporters()) names.emplace_back(reporter->name);
  return join(names, ", ");
}

void add_reports(CLI::App& app, std::vector<std::string>& reports, std::string& color, bool& quiet) {
  app.add_option("--report", reports,
                 fmt::format("Write a report: {}; repeatable; FILE may be - for standard output", formats()))
      ->type_name("FORMAT[=FILE]")
      ->allow_extra_args(false);
  app.add_option("--color", color, "Colours: auto, always, never (NO_COLOR is heeded)")->type_name("WHEN");
  app.add_flag("--quiet", quiet, "Say nothing when all is well");
}

/// Without --submit there is no job that -J could be for.
void give_to_launcher(RunOptions& run) {
  if (run.submit) return;
  auto& options = run.site.launcher_options;
  options.insert(options.end(), run.site.job_options.begin(), run.site.job_options.end());
  run.site.job_options.clear();
}

/// What was given, spelt out, apart from what is for the side that submits.
Argv inside_words(const CLI::App& app) {
  static const std::vector<std::string> outside{"submit", "dry-run", "nodes", "report",     "output",
                                                "color",  "quiet",   "help",  "job-option", "run-folder"};
  Argv paths, words;
  const auto take = [&](const CLI::Option* option) {
    const auto name = option->get_lnames().empty() ? "" : option->get_lnames().front();
    if (option->count() == 0 || std::find(outside.begin(), outside.end(), name) != outside.end()) return;
    if (option->get_positional()) {
      paths = option->results();
      return;
    }
    const auto spelt = name.empty() ? "-" + option->get_snames().front() : "--" + name;
    if (option->get_items_expected_max() == 0) {
      words.push_back(spelt);
      return;
    }
    for (const auto& value : option->results()) words.push_back(fmt::format("{}={}", spelt, value));
  };
  for (const auto* option : app.get_options()) take(option);
  paths.insert(paths.end(), words.begin(), words.end());
  return paths;
}

void add_run(CLI::App& root, RunOptions& run, int& status) {
  auto* app = root.add_subcommand("run", "Run checks and report");
  add_run_like(*app, run);
  add_reports(*app, run.reports, run.color, run.quiet);
  app->add_option("--max-failures", run.max_failures, "Start nothing more after N failed cases")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app->add_option("--output", run.output, "Where run folders are made")->type_name("FOLDER");
  app->add_flag("--submit", run.submit,
                "From a login node: write a batch script, submit it, wait, and bring the report back (docs/submit.md)");
  app->add_flag("--dry-run", run.dry_run, "Show what would run, with --submit the batch script, and stop");
  // For the script of a submitted job.
  app->add_option("--run-folder", run.run_folder)->group("");
  app->footer(
      "Examples:\n"
      "  muster run                                   this machine, the default checks\n"
      "  muster run -n hello --repeat 100             one check, many times, one launch\n"
      "  muster run checks/network --nodes nid[001-004] --ranks-per-node 8\n"
      "  muster run --per-node --nodes nid[001-064]   each node by itself, in one launch\n"
      "  muster run -S cpu_affinity.sharing=any --report junit=results.xml --quiet\n"
      "  muster run --submit --nodes 4 -J account=project_1 -J time=0:20:00\n"
      "Exit status: 0 all pass, 1 some fail, 2 some error or unmeasured, 3 usage or file error,\n"
      "130 and 143 interrupted. Results: muster-runs/latest");
  app->callback([&run, &status, app] {
    give_to_launcher(run);
    if (run.submit) run.inside = inside_words(*app);
    status = run.submit ? submit_command(run) : run_command(run);
  });
}

void add_plan(CLI::App& root, RunOptions& plan, int& status) {
  auto* app = root.add_subcommand("plan", "Show what would run: launches, cases, command lines");
  add_run_like(*app, plan);
  app->add_flag("--json", plan.json, "As JSON");
  app->footer(
      "Examples:\n  muster plan\n  muster plan checks/network --nodes nid[001-004] --json\n"
      "Exit status: 0, 2 when a case could not be started here, 3 usage or file error");
  app->callback([&plan, &status] {
    give_to_launcher(plan);
    status = plan_command(plan);
  });
}

void add_list(CLI::App& root, ListOptions& list, int& status) {
  auto* app = root.add_subcommand("list", "List checks, probes, metrics, launchers, reporters, systems");
  add_choose(*app, list.choose);
  auto* what = app->add_option_group("what");
  what->add_flag("--probes", list.probes, "Probes instead of checks");
  what->add_option("--metrics", list.metrics, "Metrics, labels and parameters of a probe")->type_name("PROBE");
  what->add_flag("--launchers", list.launchers, "Launchers");
  what->add_flag("--reporters", list.reporters, "Report formats");
  what->add_flag("--systems", list.systems, "System profiles");
  what->require_option(0, 1);
  app->add_flag("--json", list.json, "As JSON");
  app->footer(
      "Examples:\n  muster list\n  muster list -t network\n  muster list --metrics hello\n  muster list --probes "
      "--json");
  app->callback([&list, &status] { status = list_command(list); });
}

void add_lint(CLI::App& root, LintOptions& lint, int& status) {
  auto* app = root.add_subcommand("lint", "Check that check files and profiles are well formed");
  app->add_option("paths", lint.paths, "Files or folders")->type_name("FILE|FOLDER")->required();
  app->footer("Example:\n  muster lint checks/ my_checks.toml");
  app->callback([&lint, &status] { status = lint_command(lint); });
}

void add_show(CLI::App& root, ShowOptions& show, int& status) {
  auto* app = root.add_subcommand("show", "Show a finished (or broken off) run in any report format");
  app->add_option("run", show.run, "Run folder, report.json, or run id")->type_name("RUN")->required();
  add_reports(*app, show.reports, show.color, show.quiet);
  app->footer(
      "Examples:\n  muster show muster-runs/latest\n  muster show 3f2a9c --report junit=results.xml\n  muster show "
      "latest --report json=-");
  app->callback([&show, &status] { status = show_command(show); });
}

void add_doctor(CLI::App& root, DoctorOptions& doctor, int& status) {
  auto* app = root.add_subcommand("doctor", "Say what can be measured on this node and why the rest can't");
  app->add_option("--agent", doctor.site.agent, "The agent to look at")->type_name("PATH");
  app->add_flag("--json", doctor.json, "As JSON");
  app->footer("Exit status: 0, or 2 when something is broken.\nExample:\n  muster doctor");
  app->callback([&doctor, &status] { status = doctor_command(doctor); });
}

void add_machine(CLI::App& root, MachineOptions& machine, int& status) {
  auto* app = root.add_subcommand("machine", "Show a described machine, or write it for ranks to pretend to be on");
  app->add_option("machine", machine.machine,
                  "Name or file of a description (default: list those that come with muster)")
      ->type_name("NAME|FILE");
  auto* write = app->add_option("--write", machine.folder, "Write it into this folder")->type_name("FOLDER");
  app->add_option("--nodes", machine.nodes, "Write one for each of these nodes, in FOLDER/NODE")
      ->type_name("nid[001-004]")
      ->needs(write);
  app->add_option("--fault", machine.faults,
                  "With this fault of the description, everywhere or on one node; repeatable")
      ->type_name("NAME[@NODE]")
      ->allow_extra_args(false);
  app->footer(
      "Examples:\n  muster machine lumi-g\n  muster machine lumi-g --write here --fault gpu_missing\n"
      "  MUSTER_MACHINE=here muster run checks/devices --ranks-per-node 8\n"
      "  muster machine lumi-g --write there --nodes nid[001-004] --fault nic_down@nid003\n"
      "A simulated machine proves right and wrong, never speed; every report says that it was one.");
  app->callback([&machine, &status] { status = machine_command(machine); });
}

void add_bind(CLI::App& root, BindOptions& bind, int& status) {
  auto* app = root.add_subcommand("bind", "Say which cores and which GPU each rank should have");
  app->add_option("paths", bind.paths, "Profiles beside the shipped ones")->type_name("FILE|FOLDER");
  app->add_option("--system", bind.system, "The node of this profile instead of this one")
      ->type_name("NAME[:PARTITION]");
  app->add_option("--topology", bind.topology, "A node as hwloc saved it (lstopo FILE.xml), or synthetic:...")
      ->type_name("FILE");
  app->add_option("--machine", bind.machine, "A node as a machine description says it")->type_name("NAME|FILE");
  app->add_option("--ranks-per-node", bind.ranks_per_node, "Ranks (default: one per GPU; without GPUs per NUMA domain)")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  app->add_option("--policy", bind.policy,
                  "gpu: rank i takes GPU i; cores: ranks follow the cores, each with the GPU near to it;\n"
                  "spread, compact: no GPUs (default: the profile's; gpu where there are some, else spread)")
      ->type_name("POLICY");
  app->add_option("--cores-per-rank", bind.cores_per_rank, "Cores of each rank (default: its fair share)")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  app->add_flag("--smt", bind.smt, "All hardware threads of a core, not only the first");
  app->add_option("--reserve", bind.reserve, "CPUs to keep for the system, or none (default: the profile's)")
      ->type_name("0,8,16");
  auto* text = app->add_flag("--rankfile", bind.rankfile, "Only the rankfile for Open MPI");
  app->add_flag("--json", bind.json, "As JSON")->excludes(text);
  app->add_option("--color", bind.color, "Colours: auto, always, never (NO_COLOR is heeded)")->type_name("WHEN");
  app->footer(
      "Examples:\n"
      "  muster bind                                   this node, one rank per GPU\n"
      "  muster bind --system lumi --ranks-per-node 8\n"
      "  muster bind --policy spread --ranks-per-node 4 --rankfile > ranks.txt\n"
      "Exit status: 0, 3 usage or file error, or a wish that no binding can fulfil");
  app->callback([&bind, &status] { status = bind_command(bind); });
}

/// What the driver starts on nodes; not for people, hence not in the help.
void add_node(CLI::App& root, NodeOptions& node, int& status) {
  auto* app = root.add_subcommand("node", "What the driver does on a node")->group("");
  app->require_subcommand(1);
  app->add_option("--sign", node.sign);
  auto* autopsy = app->add_subcommand("autopsy", "What is left of a launch on this node");
  autopsy->add_option("--tag", node.tag)->required();
  autopsy->callback([&node, &status] { status = node_autopsy_command(node); });
  auto* clean = app->add_subcommand("clean", "End what is left of a launch on this node");
  clean->add_option("--tag", node.tag)->required();
  clean->add_option("--grace", node.grace_s);
  clean->callback([&node, &status] { status = node_clean_command(node); });
  app->add_subcommand("inventory", "What this node has")->callback([&node, &status] {
    status = node_inventory_command(node);
  });
}

/// The names of all options and commands that could have been meant.
std::vector<std::string> known_words(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const auto* option : app.get_options())
      for (const auto& name : option->get_lnames()) words.push_back("--" + name);
    // Options of which one excludes the others are a nameless command of their own.
    for (const auto* group : app.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); }))
      for (const auto& word : known_words(*group, true))
        if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  } else {
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
      if (!command->get_group().empty()) words.push_back(command->get_name());
  }
  return words;
}

const CLI::App* chosen_command(const CLI::App& root) {
  const auto chosen = root.get_subcommands();
  return chosen.empty() ? nullptr : chosen.front();
}

std::string explain(const CLI::ParseError& error, const CLI::App& root, int count, char** arguments) {
  const auto* command = chosen_command(root);
  const auto help = fmt::format("see muster {}--help", command != nullptr ? command->get_name() + " " : "");
  for (int i = 1; i < count; ++i) {
    const std::string word = std::string(arguments[i]).substr(0, std::string(arguments[i]).find('='));
    const auto& app = command != nullptr ? *command : root;
    const bool is_option = word.size() > 2 && word.compare(0, 2, "--") == 0;
    if (!is_option && (command != nullptr || i > 1)) continue;
    if (is_option && word == "--help") continue;
    const auto words = known_words(app, is_option);
    if (std::find(words.begin(), words.end(), word) != words.end()) continue;
    return fmt::format("unknown {} \"{}\"{}; {}", is_option ? "option" : "command", word, suggestion(word, words),
                       help);
  }
  return fmt::format("{}; {}", trim(error.what()), help);
}

/// An empty value is mostly a variable that was never set: `--nodes "$NODES"` must not mean this machine.
std::string option_with_empty_value(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    const bool ends_empty =
        word.size() > 1 && word[0] == '-' && word.back() == '=' && word.find('=') == word.size() - 1;
    if (ends_empty) return word.substr(0, word.size() - 1);
    if (word.empty()) return i > 1 ? arguments[i - 1] : "the command";
  }
  return "";
}

/// Descriptors 0, 1 and 2 are taken, so that no file of ours gets one of their numbers. A report that is sent to a
/// standard output that was closed is lost, and must be seen to be.
void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      (void)!open(descriptor == STDOUT_FILENO ? "/dev/full" : "/dev/null", O_RDWR);
}

/// As CLI11 takes them: without the program, last first. `-J=--mca` is meant as `-J` with the value `--mca`; CLI11
/// would take the equals sign into the value.
std::vector<std::string> words_of(int count, char** arguments) {
  std::vector<std::string> words;
  for (int i = count - 1; i > 0; --i) {
    std::string word = arguments[i];
    if (word.size() > 3 && word[0] == '-' && word[1] != '-' && word[2] == '=') word.erase(2, 1);
    words.push_back(std::move(word));
  }
  return words;
}

int command_line(int count, char** arguments) {
  // The question that is asked most often is answered without building the whole command line.
  if (count == 2 && std::string_view(arguments[1]) == "--version") {
    fmt::print("muster {}\n", MUSTER_VERSION);
    return 0;
  }
  CLI::App root{"muster: can these nodes, right now, do the work they are for; and if not, what is at fault?"};
  root.name("muster");
  root.require_subcommand(1);
  root.set_version_flag("--version", "muster " MUSTER_VERSION);
  root.footer("Start with:\n  muster run      check this machine\n  muster doctor   what can be measured here");
  int status = 0;
  RunOptions run, plan;
  ListOptions list;
  LintOptions lint;
  ShowOptions show;
  DoctorOptions doctor;
  MachineOptions machine;
  BindOptions bind;
  NodeOptions node;
  run.command_line.assign(arguments, arguments + count);
  run.command_line[0] = "muster";
  add_run(root, run, status);
  add_plan(root, plan, status);
  add_list(root, list, status);
  add_lint(root, lint, status);
  add_show(root, show, status);
  add_doctor(root, doctor, status);
  add_machine(root, machine, status);
  add_bind(root, bind, status);
  add_node(root, node, status);
  if (const auto option = option_with_empty_value(count, arguments); !option.empty()) {
    fmt::print(stderr, "muster: {} has an empty value; leave it out, or give it one\n", printable_line(option));
    return exit_usage;
  }
  try {
    root.parse(words_of(count, arguments));
  } catch (const CLI::Success& asked) {
    return root.exit(asked);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "muster: {}\n", printable_line(explain(error, root, count, arguments)));
    return exit_usage;
  }
  return status;
}

}  // namespace

int driver_main(int count, char** arguments) {
  int status = 2;
  open_standard_streams();
  try {
    status = command_line(count, arguments);
  } catch (const std::exception& error) {
    // What no command took care of: standard output that is gone (muster list | head), memory that is short.
    std::fprintf(stderr, "muster: %s\n", printable_line(error.what()).c_str());
  }
  // A report that could not be printed is no success.
  const bool is_lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (is_lost) std::fprintf(stderr, "muster: standard output can't be written\n");
  if (is_lost && status == 0) status = 2;
  return status;
}

}  // namespace muster
