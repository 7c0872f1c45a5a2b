#include <fmt/format.h>
#include <memory>

#include "app/cli/options.hpp"
#include "base/lists.hpp"

namespace muster {

namespace {

/// Without --submit there is no job that -J could be for.
void give_to_launcher(RunOptions& run) {
  if (run.submit) return;
  auto& options = run.site.launcher_options;
  options.insert(options.end(), run.site.job_options.begin(), run.site.job_options.end());
  run.site.job_options.clear();
}

/// What was given, spelt out, apart from what is for the side that submits.
Argv inside_words(const CLI::App& app) {
  static const std::vector<std::string> outside{
      "submit",     "dry-run",    "nodes", "report",    "output",  "color",   "quiet",     "help",
      "job-option", "run-folder", "lock",  "lock-file", "on-fail", "on-pass", "max-drain", "dry-run-actions"};
  Argv paths, words;
  const auto take = [&](const CLI::Option* option) {
    const auto name = option->get_lnames().empty() ? "" : option->get_lnames().front();
    if (option->count() == 0 || is_in(name, outside)) return;
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

/// docs/night.md
void add_night(CLI::App& app, ScheduledRunOptions& night) {
  app.add_flag("--lock", night.lock,
               "Do not start while another of your runs with --lock uses one of the nodes: exit status 75");
  app.add_option("--lock-file", night.lock_file, "As --lock, with this lock file instead of the default one")
      ->type_name("FILE");
  app.add_option("--on-fail", night.on_fail,
                 "drain: after the run, take nodes that are certainly at fault out of service")
      ->type_name("ACTION")
      ->check(CLI::IsMember({"drain"}));
  app.add_option("--on-pass", night.on_pass,
                 "resume: return nodes to service that muster drained and whose check passes now")
      ->type_name("ACTION")
      ->check(CLI::IsMember({"resume"}));
  app.add_option("--max-drain", night.max_drain,
                 "Most nodes that muster may have drained at any time; beyond that it drains none (default: 2)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_flag("--dry-run-actions", night.dry_run_actions,
               "Show what --on-fail and --on-pass would do, and do nothing");
  // Ranks of such a line report their node themselves: one could name another node.
  for (const char* option : {"--on-fail", "--on-pass"}) app.get_option(option)->excludes(app.get_option("--launch"));
}

}  // namespace

void add_run(CommandLine line) {
  const auto run = std::make_shared<RunOptions>();
  run->command_line = line.words;
  auto* app = line.root.add_subcommand("run", "Run checks and report");
  add_run_like(*app, *run);
  add_reports(*app, run->reports, run->color, run->quiet);
  app->add_option("--max-failures", run->max_failures, "Start no further cases after N failed ones")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app->add_option("--output", run->output, "Parent folder of run folders")->type_name("FOLDER");
  auto* history = app->add_option("--history", run->history,
                                  "Where the run is stored, and earlier ones are read from\n"
                                  "(default: $XDG_STATE_HOME/muster/history.db, else ~/.local/state/muster/history.db)")
                      ->type_name("FILE");
  app->add_flag("--no-history", run->no_history, "Neither store the run nor read earlier ones")->excludes(history);
  app->add_flag("--submit", run->submit,
                "From a login node: write a batch script, submit it, wait, and bring the report back (docs/submit.md)")
      ->excludes(app->get_option("--launch"));
  app->add_flag("--dry-run", run->dry_run, "Show what would run, with --submit the batch script, and stop");
  add_night(*app, run->night);
  // For the script of a submitted job.
  app->add_option("--run-folder", run->run_folder)->group("");
  app->footer(
      "Examples:\n"
      "  muster run                                   this machine, the default checks\n"
      "  muster run -n hello --repeat 100             one check, many times, one launch\n"
      "  muster run checks/network --nodes 'nid[001-004]' --ranks-per-node 8\n"
      "  muster run --per-node --nodes 'nid[001-004]'   each node by itself, in one launch\n"
      "  muster run -S cpu_affinity.sharing=any --report junit=results.xml --quiet\n"
      "  muster run --submit --nodes 4 -J account=project_1 -J time=0:20:00\n"
      "Exit status: 0 all pass, 1 some fail, 2 some error or unmeasured, 3 usage or file error,\n"
      "75 not started for another run (--lock) or without an idle node, 130 and 143 interrupted. Results: "
      "muster-runs/latest");
  app->callback([run, &status = line.status, app] {
    give_to_launcher(*run);
    if (run->submit) run->inside = inside_words(*app);
    status = run->submit ? submit_command(*run) : run_command(*run);
  });
}

void add_plan(CommandLine line) {
  const auto plan = std::make_shared<RunOptions>();
  auto* app = line.root.add_subcommand("plan", "Show what would run: launches, cases, command lines");
  add_run_like(*app, *plan);
  app->add_flag("--json", plan->json, "As JSON");
  app->footer(
      "Examples:\n  muster plan\n  muster plan checks/network --nodes 'nid[001-004]' --json\n"
      "Exit status: 0, 2 when a case could not be started here, 3 usage or file error");
  app->callback([plan, &status = line.status] {
    give_to_launcher(*plan);
    status = plan_command(*plan);
  });
}

}  // namespace muster
