#include <memory>

#include "app/cli/options.hpp"

namespace muster {

void add_bind(CommandLine line) {
  const auto bind = std::make_shared<BindOptions>();
  auto* app = line.root.add_subcommand("bind", "Print the cores and the GPU for each rank");
  app->add_option("paths", bind->paths, "Profiles beside the shipped ones")->type_name("FILE|FOLDER");
  add_config(*app, bind->config);
  app->add_option("--system", bind->system, "The node of this profile instead of this one")
      ->type_name("NAME[:PARTITION]");
  app->add_option("--topology", bind->topology, "A node as hwloc saved it (lstopo FILE.xml), or synthetic:...")
      ->type_name("FILE");
  app->add_option("--machine", bind->machine, "A node from a machine description")->type_name("NAME|FILE");
  app->add_option("--ranks-per-node", bind->ranks_per_node,
                  "Ranks (default: one per GPU; without GPUs per NUMA domain)")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  app->add_option("--policy", bind->policy,
                  "gpu: rank i takes GPU i; cores: ranks follow the cores, each with the GPU near to it;\n"
                  "spread, compact: no GPUs (default: the profile's; gpu where there are some, else spread)")
      ->type_name("POLICY");
  app->add_option("--cores-per-rank", bind->cores_per_rank, "Cores of each rank (default: its fair share)")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  app->add_option("--gpus-per-rank", bind->gpus_per_rank,
                  "GPUs of each rank, for programs that use several (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app->add_flag("--smt", bind->smt, "All hardware threads of a core, not only the first");
  app->add_option("--reserve", bind->reserve, "CPUs to keep for the system, or none (default: the profile's)")
      ->type_name("0,8,16");
  app->add_flag("--simulated", bind->is_simulated, "The node that MUSTER_MACHINE names (docs/machines.md)");
  auto* text = app->add_flag("--rankfile", bind->rankfile, "Only the rankfile for Open MPI");
  app->add_flag("--json", bind->json, "As JSON")->excludes(text);
  app->add_option("--color", bind->color, "Colours: auto, always, never (NO_COLOR is respected)")->type_name("WHEN");
  app->footer(
      "Examples:\n"
      "  muster bind                                   this node, one rank per GPU\n"
      "  muster bind --system lumi --ranks-per-node 8\n"
      "  muster bind --policy spread --ranks-per-node 4 --rankfile > ranks.txt\n"
      "Exit status: 0, 3 usage or file error, or a request that no binding can satisfy");
  app->callback([bind, &status = line.status] { status = bind_command(*bind); });
}

}  // namespace muster
