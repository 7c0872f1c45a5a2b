#include "app/commands/selftest.hpp"

#include <memory>

#include "app/cli/options.hpp"

namespace muster {

void add_selftest(CommandLine line) {
  const auto selftest = std::make_shared<SelftestOptions>();
  auto* app = line.root.add_subcommand("selftest", "Show that every check can fail: on described machines, here");
  app->add_option("paths", selftest->paths, "Check files or folders (default: those that come with muster)")
      ->type_name("FILE|FOLDER");
  add_names(*app, selftest->names);
  auto* page = app->add_flag("--markdown", selftest->markdown,
                             "Print which example shows what of which check, as a page; run nothing");
  app->add_option("--launcher", selftest->launcher, "mpirun, mpiexec, srun, ... (default: the first that is here)")
      ->type_name("NAME")
      ->excludes(page);
  app->add_option("--agent", selftest->agent, "The agent to start")->type_name("PATH")->excludes(page);
  app->add_option("--keep", selftest->keep, "Keep the machines and the runs in this new folder")
      ->type_name("FOLDER")
      ->excludes(page);
  app->add_flag("--json", selftest->json, "As JSON")->excludes(page);
  app->footer(
      "Examples:\n  muster selftest\n  muster selftest -n gpu_memory\n  muster selftest my_checks/\n"
      "Exit status: 0 all checks pass and fail as expected, 1 some do not, 2 ranks can't be started here,\n"
      "3 usage or file error");
  app->callback([selftest, &status = line.status] { status = selftest_command(*selftest); });
}

}  // namespace muster
