#include "app/prepare.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "muster/probe.hpp"
#include "run/select.hpp"

namespace muster {

namespace {

constexpr double longest_timeout_s = 7 * 86'400;
constexpr double shortest_timeout_s = 0.01;

/// `muster run`, the paths and where: what every rerun command starts with.
Argv rerun_prefix(const RunOptions& options) {
  Argv argv{"muster", "run"};
  argv.insert(argv.end(), options.choose.paths.begin(), options.choose.paths.end());
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) argv.insert(argv.end(), {name, value});
  };
  add("--nodes", options.site.nodes);
  add("--launcher", options.site.launcher);
  add("--environment", options.site.environment);
  add("--agent", options.site.agent);
  for (const auto& option : options.site.launcher_options) argv.push_back("-J=" + option);
  add("--timeout", options.choose.timeout);
  if (options.output != RunOptions{}.output) add("--output", options.output);
  return argv;
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
  select.rerun_prefix = rerun_prefix(options);
  if (!options.choose.timeout.empty()) {
    const auto timeout = parse_duration(options.choose.timeout);
    if (!timeout) return fail(ErrorKind::usage, "--timeout", timeout.error().what);
    if (timeout->value < shortest_timeout_s || timeout->value > longest_timeout_s)
      return fail(ErrorKind::usage, "--timeout", "must be 10ms to 168h; write for example 30s");
    select.timeout = *timeout;
  }
  return select;
}

/// The wrapper and variables of --environment. What only a batch script could do is refused, not left out.
Result<void> take_environment(const SystemProfile& system, const std::string& name, SiteFound& found) {
  for (const auto& environment : system.environments) {
    if (environment.name != name) continue;
    if (!environment.modules.empty())
      return fail(ErrorKind::usage, "--environment",
                  fmt::format("{} asks for modules ({}), which muster does not load: load them first and use an "
                              "environment without them",
                              name, human_list(environment.modules)));
    for (const auto& word : environment.wrapper)
      if (word.find('{') != std::string::npos)
        return fail(ErrorKind::usage, "--environment",
                    fmt::format("{}: nothing fills {} in its wrapper; write the value into the profile", name, word));
    // Other nodes may have what this one lacks.
    if (found.site.nodes.empty() && !environment.wrapper.empty() && find_program(environment.wrapper[0]).empty())
      return fail(ErrorKind::usage, "--environment",
                  fmt::format("{}: its wrapper {} is no program that can be run here", name,
                              printable_line(environment.wrapper[0])));
    found.wrapper = environment.wrapper;
    found.environment = environment.env;
  }
  return {};
}

/// Without a launcher or an agent nothing can be asked of the machine: every case says so.
void forbid_launches(Plan& plan, const Error& error) {
  const Finding finding{Verdict::error,
                        to_string(error),
                        {{CulpritKind::launcher, plan.launcher, "", -1}},
                        "muster doctor tells what this node can launch"};
  for (auto& item : plan.cases)
    if (item.unable.empty()) item.unable.push_back(finding);
  plan.launches.clear();
}

}  // namespace

Result<void> keep_one_partition(SystemProfile& system, const std::string& asked) {
  std::vector<std::string> names;
  for (const auto& partition : system.partitions) names.push_back(partition.name);
  const auto colon = asked.find(':');
  if (colon == std::string::npos && names.size() <= 1) return {};
  if (colon == std::string::npos)
    return fail(ErrorKind::usage, "--system",
                fmt::format("system {} has {} partitions; choose one: --system {}:{}", system.name, names.size(),
                            system.name, names.front()));
  const auto wanted = asked.substr(colon + 1);
  std::erase_if(system.partitions, [&](const PartitionProfile& partition) { return partition.name != wanted; });
  if (!system.partitions.empty()) return {};
  return fail(ErrorKind::usage, "--system",
              fmt::format("system {} has no partition \"{}\"{}", system.name, printable_line(wanted, 60),
                          suggestion(wanted, names)));
}

std::optional<Prepared> prepare(const RunOptions& options) {
  const auto refuse = [](const Error& error) {
    usage_error(error);
    return std::nullopt;
  };
  auto loaded = load(options.choose.paths);
  if (!loaded.diagnostics.ok()) {
    print_errors(loaded.diagnostics.errors);
    fmt::print(stderr, "nothing was started\n");
    return std::nullopt;
  }
  const auto select = select_options(options, loaded);
  if (!select) return refuse(select.error());
  auto system = choose_system(loaded.systems, options.site.system);
  if (!system) return refuse(system.error());
  if (auto chosen = keep_one_partition(*system, options.site.system); !chosen) return refuse(chosen.error());
  auto found = find_site(options.site, *system);
  if (!found) return refuse(found.error());
  auto plan = make_plan(loaded.checks, *system, *select, found->site, all_probes());
  if (!plan) return refuse(plan.error());
  // The nodes are asked only now: a misspelt option should not have to wait for them.
  if (!found->site.nodes.empty() && !found->no_launch) {
    if (auto asked = ask_the_nodes(*found, *system); !asked) return refuse(asked.error());
    plan = make_plan(loaded.checks, *system, *select, found->site, all_probes());
    if (!plan) return refuse(plan.error());
  }
  plan->launcher = found->launcher->name;
  if (auto taken = take_environment(*system, options.site.environment, *found); !taken) return refuse(taken.error());
  if (found->no_launch) forbid_launches(*plan, *found->no_launch);
  return Prepared{std::move(*system), std::move(*found), std::move(*plan)};
}

}  // namespace muster
