#include <memory>

#include "app/cli/options.hpp"

namespace muster {

void add_list(CommandLine line) {
  const auto list = std::make_shared<ListOptions>();
  auto* app = line.root.add_subcommand("list", "List checks, probes, metrics, launchers, reporters, systems");
  add_choose(*app, list->choose);
  auto* what = app->add_option_group("what");
  what->add_flag("--probes", list->probes, "Probes instead of checks");
  what->add_option("--metrics", list->metrics, "Metrics, labels and parameters of a probe, or of a check of FILE")
      ->type_name("PROBE");
  what->add_flag("--launchers", list->launchers, "Launchers");
  what->add_flag("--reporters", list->reporters, "Report formats");
  what->add_flag("--systems", list->systems, "System profiles");
  what->require_option(0, 1);
  app->add_flag("--json", list->json, "As JSON");
  app->footer(
      "Examples:\n  muster list\n  muster list -t network\n  muster list --metrics hello\n"
      "  muster list stream.toml --metrics stream\n  muster list --probes --json");
  app->callback([list, &status = line.status] { status = list_command(*list); });
}

void add_lint(CommandLine line) {
  const auto lint = std::make_shared<LintOptions>();
  auto* app = line.root.add_subcommand("lint", "Check that check files, their examples and profiles are well formed");
  app->add_option("paths", lint->paths, "Files or folders")->type_name("FILE|FOLDER")->required();
  add_config(*app, lint->config);
  app->footer("Example:\n  muster lint checks/ my_checks.toml");
  app->callback([lint, &status = line.status] { status = lint_command(*lint); });
}

void add_show(CommandLine line) {
  const auto show = std::make_shared<ShowOptions>();
  auto* app = line.root.add_subcommand("show", "Show a finished (or broken off) run in any report format");
  app->add_option("run", show->run, "Run id, folder, report.json, latest, previous")->type_name("RUN")->required();
  app->add_option("--history", show->history, "Where to look for runs of other folders (default: as muster history)")
      ->type_name("FILE");
  add_names(*app, show->names);
  add_reports(*app, show->reports, show->color, show->quiet);
  app->footer(
      "Examples:\n  muster show muster-runs/latest\n  muster show latest -n hello\n"
      "  muster show 3f2a9c --report junit=results.xml\n  muster show latest --report json=-");
  app->callback([show, &status = line.status] { status = show_command(*show); });
}

void add_doctor(CommandLine line) {
  const auto doctor = std::make_shared<DoctorOptions>();
  auto* app = line.root.add_subcommand("doctor", "Show what can be measured on this node, and why the rest can't");
  app->add_option("--system", doctor->site.system, "Profile, and optionally partition (default: found)")
      ->type_name("NAME[:PARTITION]");
  add_config(*app, doctor->config);
  app->add_option("--agent", doctor->site.agent, "The agent to look at")->type_name("PATH");
  app->add_flag("--json", doctor->json, "As JSON");
  app->footer("Exit status: 0, or 2 when something is broken.\nExample:\n  muster doctor");
  app->callback([doctor, &status = line.status] { status = doctor_command(*doctor); });
}

void add_machine(CommandLine line) {
  const auto machine = std::make_shared<MachineOptions>();
  auto* app =
      line.root.add_subcommand("machine", "Show a machine description, or write it as the files of a simulated run");
  app->add_option("machine", machine->machine,
                  "Name or file of a description (default: list those that come with muster)")
      ->type_name("NAME|FILE");
  auto* write = app->add_option("--write", machine->folder, "Write it into this folder")->type_name("FOLDER");
  app->add_option("--nodes", machine->nodes, "Write one for each of these nodes, in FOLDER/NODE")
      ->type_name("nid[001-004]")
      ->needs(write);
  app->add_option("--fault", machine->faults,
                  "With this fault of the description, everywhere or on one node; repeatable")
      ->type_name("NAME[@NODE]")
      ->allow_extra_args(false);
  app->footer(
      "Examples:\n  muster machine lumi-g\n  muster machine lumi-g --write here --fault gpu_missing\n"
      "  MUSTER_MACHINE=here muster run --simulated checks/devices --ranks-per-node 8\n"
      "  muster machine lumi-g --write there --nodes 'nid[001-004]' --fault nic_down@nid003\n"
      "A simulated machine verifies correctness, never speed; every report is marked as simulated.");
  app->callback([machine, &status = line.status] { status = machine_command(*machine); });
}

/// What the driver starts on nodes; not for people, hence not in the help.
void add_node(CommandLine line) {
  const auto node = std::make_shared<NodeOptions>();
  auto* app = line.root.add_subcommand("node", "What the driver does on a node")->group("");
  app->require_subcommand(1);
  app->add_option("--sign", node->sign);
  auto* autopsy = app->add_subcommand("autopsy", "What is left of a launch on this node");
  autopsy->add_option("--tag", node->tag)->required();
  autopsy->add_option("--launcher-ports", node->launcher_ports)->delimiter(',');
  autopsy->callback([node, &status = line.status] { status = node_autopsy_command(*node); });
  auto* clean = app->add_subcommand("clean", "End remaining processes of a launch on this node");
  clean->add_option("--tag", node->tag)->required();
  clean->add_option("--grace", node->grace_s);
  clean->add_flag("--launcher-has-ended", node->launcher_has_ended);
  clean->add_option("--launcher-ports", node->launcher_ports)->delimiter(',');
  clean->add_option("--launcher-hosts", node->launcher_hosts)->delimiter(',');
  clean->add_option("--launcher-age", node->launcher_age_s);
  clean->add_flag("--daemons", node->ends_daemons);
  clean->callback([node, &status = line.status] { status = node_clean_command(*node); });
  app->add_subcommand("inventory", "What this node has")->callback([node, &status = line.status] {
    status = node_inventory_command(*node);
  });
  auto* network = app->add_subcommand("network", "Which addresses of other nodes answer from here");
  network->add_option("--among", node->among)->allow_extra_args(false);
  network->add_option("--driver", node->driver)->allow_extra_args(false);
  network->callback([node, &status = line.status] { status = node_network_command(*node); });
  auto* parts = app->add_subcommand("parts", "The GPUs and cores that ranks are bound by");
  parts->add_option("--machine", node->machine);
  parts->callback([node, &status = line.status] { status = node_parts_command(*node); });
}

}  // namespace muster
