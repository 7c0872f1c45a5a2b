#include "app/commands/history.hpp"

#include <memory>

#include "app/cli/options.hpp"

namespace muster {

namespace {

constexpr const char* history_help =
    "The history (default: $XDG_STATE_HOME/muster/history.db, else ~/.local/state/...)";

void add_history_parts(CommandLine line, CLI::App& app, const std::shared_ptr<HistoryOptions>& history) {
  const auto to = std::make_shared<std::string>();
  auto* out = app.add_subcommand("export", "All of it as lines of JSON");
  out->add_option("file", *to, "Where to (default: standard output)")->type_name("FILE");
  out->callback([=, &status = line.status] { status = history_export_command(history->file, *to); });

  const auto from = std::make_shared<std::vector<std::string>>();
  auto* in = app.add_subcommand("import", "Add runs of an export, or of a run folder; those that are there stay");
  in->add_option("files", *from, "Exports, run folders, report.json")->type_name("FILE|FOLDER")->required();
  in->callback([=, &status = line.status] { status = history_import_command(history->file, *from); });

  const auto accepted = std::make_shared<AcceptOptions>();
  auto* accept = app.add_subcommand("accept", "Accept the current state: earlier values no longer count");
  accept->add_option("--item", accepted->item, "Of this node, device or link alone")->type_name("NAME");
  accept->add_option("--metric", accepted->metric, "This metric alone")->type_name("NAME");
  accept->add_flag("--all", accepted->all, "Every metric of everything");
  accept->callback([=, &status = line.status] {
    accepted->file = history->file;
    status = history_accept_command(*accepted);
  });

  const auto prune = std::make_shared<PruneOptions>();
  auto* old = app.add_subcommand("prune", "Remove old runs");
  auto* before = old->add_option("--before", prune->before, "Runs that began before this time")->type_name("TIME");
  old->add_option("--keep", prune->keep, "All but the latest N runs")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000))
      ->excludes(before);
  old->callback([=, &status = line.status] {
    prune->file = history->file;
    status = history_prune_command(*prune);
  });
}

}  // namespace

void add_history(CommandLine line) {
  const auto history = std::make_shared<HistoryOptions>();
  auto* app = line.root.add_subcommand("history", "Earlier runs: list them, plot a metric, find flaky checks");
  app->require_subcommand(0, 1);
  app->add_option("--history", history->file, history_help)->type_name("FILE");
  app->add_option("--last", history->last, "Number of latest runs (default 20)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app->add_option("--metric", history->metric, "Draw this metric over time")->type_name("NAME");
  app->add_option("--item", history->item, "Of this node, device (UUID) or link (\"nid001 -> nid002\")")
      ->type_name("NAME");
  add_names(*app, history->names);
  app->add_option(
         "--since", history->since,
         "Of runs that began at this time or later: 2026-01-31, '2026-01-31 02:00' (UTC), or 7d for seven\ndays ago")
      ->type_name("TIME");
  app->add_option("--before", history->before, "Of runs that began before this time")->type_name("TIME");
  app->add_option("--where", history->where, "With this label; repeatable")
      ->type_name("LABEL=VALUE")
      ->allow_extra_args(false);
  auto* flaky =
      app->add_flag("--flaky", history->flaky, "Checks that pass and fail in turn while nothing else changes");
  auto* lemons = app->add_flag("--lemons", history->lemons, "Nodes and devices that fail more often than their peers");
  auto* actions = app->add_flag("--actions", history->actions, "What was done to nodes");
  flaky->excludes(lemons)->excludes(actions);
  lemons->excludes(actions);
  app->add_option("--color", history->color, "Colours: auto, always, never (NO_COLOR is respected)")
      ->type_name("WHEN")
      ->group("");
  add_history_parts(line, *app, history);
  app->footer(
      "Examples:\n"
      "  muster history                                       the latest runs\n"
      "  muster history --metric triad --item nid003          one node over time\n"
      "  muster history --metric bandwidth --item \"nid001 -> nid003\"\n"
      "  muster history --lemons --since 30d\n"
      "  muster history -n hello --since 2026-01-31\n"
      "  muster history export history.jsonl; muster history --history other.db import history.jsonl\n"
      "  muster history prune --keep 1000\n"
      "  muster history accept --item nid003                  after its repair: judge it by its later runs\n"
      "Exit status: 0, 2 it can't be done (no run stored yet, no space, in use by others), 3 usage or file error");
  app->callback([history, app, &status = line.status] {
    if (app->get_subcommands().empty()) status = history_command(*history);
  });
}

void add_compare(CommandLine line) {
  const auto compare = std::make_shared<CompareOptions>();
  auto* app =
      line.root.add_subcommand("compare", "Compare two runs: what got worse, what got better, what else differs");
  app->add_option("before", compare->before, "Run id, folder, report.json, latest, previous")
      ->type_name("RUN")
      ->required();
  app->add_option("after", compare->after, "Likewise")->type_name("RUN")->required();
  add_names(*app, compare->names);
  app->add_option("--history", compare->file, history_help)->type_name("FILE");
  app->add_flag("--json", compare->json, "As JSON");
  app->footer(
      "Examples:\n"
      "  muster compare previous latest\n"
      "  muster compare muster-runs/20261121-080000-a1b2c3 latest\n"
      "  muster compare -n hello previous latest\n"
      "Exit status: 0 nothing got worse, 1 something did, 2 the runs have nothing in common or no run is stored yet,\n"
      "3 usage or file error");
  app->callback([compare, &status = line.status] { status = compare_command(*compare); });
}

}  // namespace muster
