#include "app/cli/options.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "muster/reporter.hpp"

namespace muster {

namespace {

/// The formats that are built in.
std::string formats() {
  std::vector<std::string> names;
  for (const auto* reporter : all_reporters()) names.emplace_back(reporter->name);
  return join(names, ", ");
}

}  // namespace

void add_config(CLI::App& app, std::vector<std::string>& config) {
  app.add_option("--config", config,
                 "Folder with profiles and checks to add to the shipped ones, beside /etc/muster and\n"
                 "$XDG_CONFIG_HOME/muster (else ~/.config/muster); none: not these two; repeatable (docs/site.md)")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
}

void add_names(CLI::App& app, std::vector<std::string>& names) {
  app.add_option("-n,--name", names, "Only cases whose name or id matches this regular expression; repeatable")
      ->type_name("REGEX")
      ->allow_extra_args(false);
}

void add_choose(CLI::App& app, ChooseOptions& choose) {
  app.add_option("paths", choose.paths,
                 "Check files, profiles, or folders of them (default: the shipped checks tagged \"default\")")
      ->type_name("FILE|FOLDER");
  add_names(app, choose.names);
  app.add_option("-t,--tag", choose.tags, "Only checks with this tag; given again: with all of them")
      ->type_name("TAG")
      ->allow_extra_args(false);
  app.add_option("-x,--exclude", choose.excludes, "Not those whose name or id matches this regular expression")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  add_config(app, choose.config);
}

void add_site(CLI::App& app, SiteOptions& site) {
  app.add_option("--system", site.system, "Profile, and optionally partition (default: found)")
      ->type_name("NAME[:PARTITION]");
  auto* environment =
      app.add_option("--environment", site.environment, "Environment of the profile")->type_name("NAME");
  app.add_option("--launcher", site.launcher,
                 "Launcher of the ranks (default: srun in a Slurm job, else mpirun, else mpiexec, else local)")
      ->type_name("NAME");
  auto* line = app.add_option("--launch", site.launch,
                              "Your own launch line, such as 'srun -N 2 --ntasks-per-node=8': muster's agent is put\n"
                              "behind it, and all checks run on the ranks that it starts; @FILE takes the line of a\n"
                              "batch script (docs/launch-line.md)")
                   ->type_name("LINE|@FILE");
  app.add_option("--nodes", site.nodes,
                 "Nodes to run on: a host list; in a job or with --submit also a count, all, or idle")
      ->type_name("nid[001-004]")
      ->excludes(line);
  app.add_option("--ranks-per-node", site.ranks_per_node, "Ranks per node, overriding checks")
      ->type_name("N")
      ->excludes(line)
      ->check(CLI::Range(1, 65536));
  app.add_option(
         "--bind", site.bind,
         "Where ranks run: profile (on its masks), auto (near the GPUs of the node), cores (a share each), or none\n"
         "(no binding option); default: the check's bind, else profile where it has a binding, else auto")
      ->type_name("BINDING")
      ->excludes(line);
  app.add_option("-J,--job-option", site.job_options,
                 "Option for the launcher, given as it is; repeatable: -J=--mca -J=btl -J=tcp,self.\n"
                 "With --submit for the job: -J account=project_1 -J qos=debug")
      ->type_name("OPTION")
      ->allow_extra_args(false)
      ->excludes(line);
  app.add_option("--launcher-option", site.launcher_options, "Option for the launcher, also with --submit; repeatable")
      ->type_name("OPTION")
      ->allow_extra_args(false)
      ->excludes(line);
  line->excludes(environment);
  app.add_option("--agent", site.agent, "The agent to start (default: muster-rank beside muster)")->type_name("PATH");
  app.add_flag(
      "--simulated", site.is_simulated,
      "Run on the simulated machine of MUSTER_MACHINE: tests muster and checks, not hardware (docs/machines.md)");
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
               "Each node separately, all at once: a case for each, judged alone;\n"
               "checks that need several nodes together are skipped");
  app.add_option("--timeout", run.choose.timeout, "Deadline of every case, overriding checks")->type_name("TIME");
}

void add_reports(CLI::App& app, std::vector<std::string>& reports, std::string& color, bool& quiet) {
  app.add_option("--report", reports,
                 fmt::format("Write a report: {}; repeatable; FILE may be - for standard output", formats()))
      ->type_name("FORMAT[=FILE]")
      ->allow_extra_args(false);
  app.add_option("--color", color, "Colours: auto, always, never (NO_COLOR is respected)")->type_name("WHEN");
  app.add_flag("--quiet", quiet, "Print nothing when all checks pass");
}

}  // namespace muster
