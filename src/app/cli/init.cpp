#include "app/commands/init.hpp"

#include <memory>

#include "app/cli/options.hpp"

namespace muster {

void add_init(CommandLine line) {
  const auto init = std::make_shared<InitOptions>();
  auto* app =
      line.root.add_subcommand("init", "Write a first profile of this cluster, from its batch system and this node");
  app->add_option("system", init->system, "Name of the profile")->type_name("SYSTEM")->required();
  app->add_option("--output", init->output, "New file (default: standard output)")->type_name("FILE");
  app->footer(
      "Start it on a compute node of the partition that matters most: its CPU, GPUs and network cards are described in "
      "full.\n"
      "Examples:\n  muster init mycluster --output mycluster.toml\n"
      "  srun -p gpu -N 1 --exclusive --gpus-per-node=8 muster init mycluster > mycluster.toml\n"
      "Exit status: 0, 3 usage or file error");
  app->callback([init, &status = line.status] { status = init_command(*init); });
}

}  // namespace muster
