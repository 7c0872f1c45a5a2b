#include "app/commands/gate.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "app/cli/options.hpp"

namespace muster {

namespace {

/// CLI11 knows of nothing behind `--`.
class Usage : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
    return fmt::format("Usage: {0} --need N [OPTIONS] -- COMMAND...\n       {0} --need N [OPTIONS] --print WHAT\n",
                       name);
  }
};

}  // namespace

void add_gate(CommandLine line) {
  const auto gate = std::make_shared<GateOptions>();
  gate->command_line = line.words;
  // What follows is COMMAND's, and never looked at as an option of ours.
  if (const auto end = std::find(line.words.begin(), line.words.end(), "--"); end != line.words.end())
    gate->command.assign(end + 1, line.words.end());
  auto* app = line.root.add_subcommand("gate", "Check nodes quickly, and start a command on those that are good");
  app->add_option("--need", gate->need, "Good nodes that COMMAND needs")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(1, 262144));
  app->formatter(std::make_shared<Usage>());
  // In front of `--`, or without one, it is out of place; cli.cpp reports it.
  app->add_option("COMMAND")
      ->expected(-1)
      ->check([](const std::string& /*word*/) { return "stands behind --"; })
      ->group("");
  app->add_option(
         "--checks", gate->checks,
         "What a good node passes (default: the shipped checks and those of the site tagged \"gate\"); profiles, too")
      ->type_name("FILE|FOLDER")
      ->allow_extra_args(false);
  app->add_option("-t,--tag", gate->tags,
                  "The checks with this tag instead, such as default; given again: with all of them")
      ->type_name("TAG")
      ->allow_extra_args(false);
  add_config(*app, gate->config);
  app->add_option("-x,--exclude", gate->excludes, "Not the checks whose name or id matches this regular expression")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  app->add_option("-S", gate->settings, "Set a parameter of a check (CHECK may be *)")
      ->type_name("CHECK.PARAM=VALUE")
      ->allow_extra_args(false);
  app->add_option("--timeout", gate->timeout,
                  "Deadline of every case, overriding checks (default: theirs, at most a third of --deadline)")
      ->type_name("TIME");
  app->add_option("--deadline", gate->deadline, "Time limit of the gate; nodes not measured by then are not good")
      ->type_name("TIME");
  app->add_option("--print", gate->print, "Instead of starting COMMAND: hosts, exclude (nodes not good) or json")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"hosts", "exclude", "json"}));
  app->add_flag("--no-master", gate->keeps_master,
                "Leave MASTER_ADDR as it is; otherwise it is a node that was chosen");
  add_site(*app, gate->site);
  // A gate is in the job that it checks, and is never submitted.
  app->get_option("--nodes")->description("Nodes of the job to check: a host list, a count, all, or idle");
  app->get_option("--job-option")
      ->description("Option for the launcher, given as it is; repeatable: -J=--mca -J=btl -J=tcp,self");
  app->get_option("--launcher-option")->description("Likewise; repeatable");
  app->add_option("--output", gate->output, "Where run folders are made")->type_name("FOLDER");
  app->footer(
      "Examples:\n"
      "  muster gate --need 3 -- srun ./train          in a job with spare nodes\n"
      "  muster gate --need 3 -- mpirun -n 3 ./train\n"
      "  muster gate --need 3 -- ./job.sh              with $MUSTER_NODELIST and $MUSTER_HOSTFILE\n"
      "  muster gate --need 3 --print exclude          nodes to leave out of the next job\n"
      "  muster gate --need 2 --nodes 'nid[001-003]' -- mpirun -n 2 ./train\n"
      "Exit status: that of COMMAND (which stands behind --); 125 refused, with what is missing, or wrong usage;\n"
      "126 COMMAND can't be run, 127 there is no such COMMAND; 129, 130 and 143 interrupted before it was started");
  app->callback([gate, &status = line.status] {
    auto& options = gate->site.launcher_options;
    options.insert(options.end(), gate->site.job_options.begin(), gate->site.job_options.end());
    gate->site.job_options.clear();
    status = gate_command(*gate);
  });
}

}  // namespace muster
