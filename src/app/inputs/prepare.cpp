#include "app/inputs/prepare.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "app/binding/job_binding.hpp"
#include "app/binding/node_parts.hpp"
#include "app/binding/scheduler_gpus.hpp"
#include "app/inputs/lines.hpp"
#include "app/inputs/machine_files.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "launchers/mpirun/family.hpp"
#include "muster/probe.hpp"
#include "run/detect.hpp"
#include "run/job_options.hpp"
#include "run/select.hpp"
#include "system/simulated_affinity.hpp"

namespace muster {

namespace {

constexpr double longest_timeout_s = 7 * 86'400;
constexpr double shortest_timeout_s = 0.01;

/// One shape, and so one launch, whatever these checks are like elsewhere. A line of the user's own is judged, too.
/// Checks of another tag, which the user chose, keep their shapes.
void take_gate(SelectOptions& select) {
  if (!select.tags.empty()) return;
  select.tags = {"gate"};
  if (!select.launch.empty()) select.or_tag = "line";
  if (!select.ranks_per_node) select.ranks_per_node = 1;
}

Result<SelectOptions> select_options(const RunOptions& options, const Loaded& loaded) {
  SelectOptions select;
  select.names = options.choose.names;
  select.tags = options.choose.tags;
  select.excludes = options.choose.excludes;
  select.settings = options.choose.settings;
  select.default_only = loaded.is_shipped;
  select.system = options.site.system;
  select.environment = options.site.environment;
  select.ranks_per_node = options.site.ranks_per_node;
  select.repeat = options.choose.repeat;
  select.per_node = options.choose.per_node;
  select.rerun_prefix = rerun_prefix(options);
  select.launch = options.site.launch;
  if (options.choose.is_gate && loaded.is_shipped) take_gate(select);
  if (!options.choose.timeout.empty()) {
    const auto timeout = parse_duration(options.choose.timeout);
    if (!timeout) return fail(ErrorKind::usage, "--timeout", timeout.error().what);
    if (timeout->value < shortest_timeout_s || timeout->value > longest_timeout_s)
      return fail(ErrorKind::usage, "--timeout", "must be 10ms to 168h; write for example 30s");
    select.timeout = *timeout;
  }
  return select;
}

/// Modules of ours, as `module load` names them, that are not loaded: `gcc` is where `gcc/13.2` is.
std::vector<std::string> missing_modules(const std::vector<std::string>& modules) {
  const char* loaded = std::getenv("LOADEDMODULES");
  const auto here = split(loaded == nullptr ? "" : loaded, ':');
  std::vector<std::string> missing;
  for (const auto& module : modules)
    if (std::none_of(here.begin(), here.end(), [&](const std::string& one) {
          return one == module || one.compare(0, module.size() + 1, module + "/") == 0;
        }))
      missing.push_back(module);
  return missing;
}

/// The wrapper and variables of --environment. What only a batch script could do is refused, not left out.
Result<void> take_environment(const SystemProfile& system, const std::string& name, SiteFound& found) {
  for (const auto& environment : system.environments) {
    if (environment.name != name) continue;
    if (const auto missing = missing_modules(environment.modules); !missing.empty())
      return fail(
          ErrorKind::usage, "--environment",
          fmt::format("{} needs modules that are not loaded: module load {}; muster run --submit loads them in the job",
                      name, join(missing, " ")));
    auto wrapper = environment.wrapper;
    fill_wrapper(wrapper, found.launcher_options);
    for (const auto& word : wrapper)
      if (word.find('{') != std::string::npos)
        return fail(
            ErrorKind::usage, "--environment",
            fmt::format("{}: nothing fills {} in its wrapper; write for example -J image=VALUE for {{image}}, or "
                        "the value into the profile",
                        name, word));
    // Other nodes may have what this one lacks.
    if (found.site.nodes.empty() && !wrapper.empty() && find_program(wrapper[0]).empty())
      return fail(
          ErrorKind::usage, "--environment",
          fmt::format("{}: its wrapper {} is not a program that can be run here", name, printable_line(wrapper[0])));
    found.wrapper = std::move(wrapper);
    found.environment = environment.env;
  }
  return {};
}

/// Without that library ranks would have masks of this machine.
Result<void> can_simulate(const Site& site) {
  const fs::path library = shipped_stand_ins() / affinity_library;
  std::error_code ignored;
  if (simulated_folder(site).empty() || fs::exists(library, ignored)) return {};
  return fail(ErrorKind::file, library.string(),
              "is missing, and ranks of a simulated machine are bound by it; install all of muster");
}

/// Without a launcher or an agent nothing can be measured: every case is an error, apart from those with a line
/// of their own.
Finding refusal_of(const Plan& plan, const Error& error) {
  return {Verdict::error,
          to_string(error),
          {{CulpritKind::launcher, plan.launcher, "", -1}},
          "run muster doctor to see what this node can launch"};
}

void forbid_launches(Plan& plan, const Finding& finding, bool is_line_the_launcher) {
  const auto is_barred = [&](const JobShape& shape) { return shape.line.empty() || is_line_the_launcher; };
  for (auto& item : plan.cases)
    if (item.unable.empty() && is_barred(item.shape)) item.unable.push_back(finding);
  std::erase_if(plan.launches, [&](const PlannedLaunch& launch) { return is_barred(launch.shape); });
}

void forbid_gpu_cases(Plan& plan, const Finding& finding) {
  for (auto& item : plan.cases)
    if (item.unable.empty() && needs_gpus(item)) item.unable.push_back(finding);
  for (auto& launch : plan.launches)
    std::erase_if(launch.items, [&](const WorkItem& item) {
      return needs_gpus(plan.cases[static_cast<std::size_t>(item.case_index)]);
    });
  std::erase_if(plan.launches, [](const PlannedLaunch& launch) { return launch.items.empty(); });
}

/// What the scheduler takes for a CPU: a hardware thread, unless the site's pages use one thread of each core.
void count_cpus(SiteFound& found, const SystemProfile& system) {
  for (const PartitionProfile& partition : system.partitions)
    found.site.one_thread_per_core |= partition.node.bind && !partition.node.bind->smt;
  const auto granted = found.allocation ? found.allocation->cpus_per_node : std::nullopt;
  if (!granted) return;
  found.site.is_part_of_node = *granted < found.site.cores;
  if (found.site.one_thread_per_core) return;
  found.site.cpus_per_core = std::max(1, *granted / std::max(1, found.site.cores));
}

}  // namespace

Argv rerun_prefix(const RunOptions& options) {
  Argv argv{"muster", "run"};
  argv.insert(argv.end(), options.choose.paths.begin(), options.choose.paths.end());
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) argv.insert(argv.end(), {name, value});
  };
  for (const auto& folder : options.choose.config) add("--config", folder);
  if (options.submit) argv.emplace_back("--submit");
  add("--nodes", options.site.nodes);
  add("--launcher", options.site.launcher);
  add("--launch", options.site.launch);
  add("--bind", options.site.bind);
  add("--environment", options.site.environment);
  add("--agent", options.site.agent);
  if (options.site.is_simulated) argv.emplace_back("--simulated");
  for (const auto& option : options.site.job_options) argv.push_back("-J=" + option);
  for (const auto& option : options.site.launcher_options)
    argv.push_back((options.submit ? "--launcher-option=" : "-J=") + option);
  add("--timeout", options.choose.timeout);
  if (options.output != RunOptions{}.output) add("--output", options.output);
  return argv;
}

std::optional<Chosen> choose(const RunOptions& options) {
  const auto refuse = [](const Error& error) {
    usage_error(error);
    return std::nullopt;
  };
  auto loaded = load(options.choose.paths, options.choose.config, true);
  if (!loaded.diagnostics.ok()) {
    print_errors(loaded.diagnostics.errors);
    fmt::print(stderr, "nothing was started\n");
    return std::nullopt;
  }
  const auto select = select_options(options, loaded);
  if (!select) return refuse(select.error());
  const auto here = these_surroundings();
  const auto match = choose_system(loaded.systems, options.site.system, here);
  if (!match) return refuse(match.error());
  SystemProfile system = *match->system;
  if (auto kept = keep_one_partition(system, options.site.system, here); !kept) return refuse(kept.error());
  if (const auto note = note_on_partition(system, options.site.system, here); !note.empty())
    fmt::print(stderr, "muster: {}\n", note);
  return Chosen{std::move(loaded), std::move(*select), std::move(system)};
}

std::optional<Prepared> prepare(const RunOptions& options, const MayBegin& may_begin) {
  const auto refuse = [](const Error& error) {
    usage_error(error);
    return std::nullopt;
  };
  auto chosen = choose(options);
  if (!chosen) return std::nullopt;
  auto& system = chosen->system;
  const auto& loaded = chosen->loaded;
  auto& select = chosen->select;
  auto found = find_site(options.site, system);
  if (!found) return refuse(found.error());
  if (auto taken = take_line_world(options.site, *found); !taken) return refuse(taken.error());
  if (auto able = can_simulate(found->site); !able) return refuse(able.error());
  BindableNode node{has_this_node(found->site), found->allocation ? found->allocation->cpus_per_node : std::nullopt,
                    simulated_folder(found->site)};
  node.counts_reserved_cores = mpirun::is_member(*found->launcher);
  auto bind = choose_binding(options.site.bind, system, node);
  if (!bind) return refuse(bind.error());
  found->site.bind = std::move(*bind);
  count_cpus(*found, system);
  auto plan = make_plan(loaded.checks, system, select, found->site, all_probes());
  if (!plan) return refuse(plan.error());
  if (auto alone = refuse_beside_lines(options, loaded.checks, *plan); !alone) return refuse(alone.error());
  if (may_begin && !may_begin(system, found->site.nodes)) return std::nullopt;
  bool is_settled = true;
  // The nodes are asked only now: a misspelt option should not have to wait for them.
  if (!found->site.nodes.empty() && !found->no_launch) {
    if (auto asked = ask_the_nodes(*found, system); !asked) return refuse(asked.error());
    count_cpus(*found, system);
    if (!node.is_here && found->site.gpus > 0 && !found->line) {
      node.ask = [site = *found] { return ask_for_parts(site); };
      if (bind = choose_binding(options.site.bind, system, node); !bind) return refuse(bind.error());
      found->site.bind = std::move(*bind);
    }
    is_settled = false;
  }
  if (has_line(*plan) && !found->line) {
    if (auto started = start_check_lines(options.site, loaded.checks, *plan, *found); !started)
      return refuse(started.error());
    is_settled = false;
  }
  if (!is_settled) plan = make_plan(loaded.checks, system, select, found->site, all_probes());
  if (!plan) return refuse(plan.error());
  plan->launcher = found->launcher->name;
  if (auto taken = take_environment(system, options.site.environment, *found); !taken) return refuse(taken.error());
  if (found->allocation && simulated_folder(found->site).empty())
    if (const auto ungranted = find_ungranted_gpus(system, *found->allocation, *plan))
      forbid_gpu_cases(*plan, *ungranted);
  if (found->no_launch) forbid_launches(*plan, refusal_of(*plan, *found->no_launch), found->line.has_value());
  return Prepared{std::move(system), std::move(*found), std::move(*plan)};
}

}  // namespace muster
