#include "app/selftest/example_plan.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "muster/probe.hpp"
#include "run/detect.hpp"

namespace muster {

namespace {

SelectOptions select_of(const Example& example, const std::vector<std::string>& checks) {
  SelectOptions select;
  for (const std::string& check : checks) select.names.push_back("^" + check + "$");
  select.settings = example.settings;
  select.system = example.system;
  select.ranks_per_node = example.ranks_per_node;
  if (const auto timeout = parse_duration(example.timeout)) select.timeout = *timeout;
  return select;
}

Site site_of(const Site& real, const MachineDescription& machine, const Example& example) {
  Site site = real;
  site.nodes = example.hosts;
  site.cores = machine.cores;
  site.simulated_ranks = machine.masks.empty() ? 1 : static_cast<int>(machine.masks.size());
  site.gpus = static_cast<int>(machine.gpus.devices.size());
  site.numa_domains = std::max(1, static_cast<int>(machine.domains.size()));
  site.tasks_per_node.reset();
  return site;
}

}  // namespace

Result<MachineDescription> machine_of(const Example& example) {
  const bool is_file = fs::path(example.machine).extension() == ".toml";
  auto machine = load_machine(is_file ? (fs::path(example.folder) / example.machine).string() : example.machine);
  if (machine) machine->gpus.driver.insert(machine->gpus.driver.end(), example.driver.begin(), example.driver.end());
  return machine;
}

Result<SystemProfile> profile_of(const Example& example, const std::vector<SystemProfile>& systems) {
  const auto here = these_surroundings();
  const auto match = choose_system(systems, example.system.empty() ? "generic" : example.system, here);
  if (!match) return tl::unexpected(match.error());
  SystemProfile system = *match->system;
  if (auto kept = keep_one_partition(system, example.system, here); !kept) return tl::unexpected(kept.error());
  return system;
}

Result<Plan> plan_of(const Example& example, const std::vector<std::string>& checks, const MachineDescription& machine,
                     const SystemProfile& system, const Site& real, const std::vector<Check>& known) {
  return make_plan(known, system, select_of(example, checks), site_of(real, machine, example), all_probes());
}

}  // namespace muster
