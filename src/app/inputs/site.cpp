#include "app/inputs/site.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/agent_about.hpp"
#include "app/inputs/lines.hpp"
#include "app/inputs/site_nodes.hpp"
#include "base/environment.hpp"
#include "base/files.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "device/inventory.hpp"
#include "launchers/srun/surroundings.hpp"
#include "model/expected_node.hpp"
#include "run/data_network.hpp"
#include "run/remote_exec.hpp"
#include "run/session.hpp"
#include "system/layout.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

constexpr double ask_s = 10;
constexpr double inventory_s = 8;

Result<const LauncherSpec*> choose_launcher(const std::string& option, const SystemProfile& system,
                                            const std::optional<Allocation>& allocation) {
  auto wanted = option;
  std::string place = "--launcher";
  for (const auto& partition : system.partitions)
    if (wanted.empty() && !partition.launcher.empty()) {
      wanted = partition.launcher;
      place = fmt::format("{}: partition {}", system.file, partition.name);
    }
  if (!wanted.empty()) {
    if (const auto* found = find_launcher(wanted)) return found;
    std::vector<std::string> known;
    for (const auto* launcher : all_launchers()) known.emplace_back(launcher->name);
    return fail(ErrorKind::usage, place, fmt::format("unknown launcher \"{}\"{}", wanted, suggestion(wanted, known)));
  }
  for (const auto* name : {"srun", "mpirun", "mpiexec"}) {
    const auto* launcher = find_launcher(name);
    if (launcher == nullptr || (launcher->needs_allocation && !allocation)) continue;
    if (!find_program(launcher->program).empty()) return launcher;
  }
  return find_launcher("local");
}

bool is_promised(const SystemProfile& system) {
  return std::any_of(system.partitions.begin(), system.partitions.end(),
                     [](const PartitionProfile& partition) { return !partition.launcher.empty(); });
}

/// GPUs that Slurm granted the job on each node: ranks count these, also where the kernel shows others, or none.
void take_grant(Site& site) {
  const char* granted = std::getenv("SLURM_GPUS_ON_NODE");
  const int count = granted == nullptr ? 0 : std::atoi(granted);
  if (count > 0) site.gpus = site.gpus > 0 ? std::min(site.gpus, count) : count;
}

LostNode no_inventory(const NodeAnswer& answer, const fs::path& self) {
  if (!answer.answered) return explain_no_answer(answer.node, answer.error, self);
  return {answer.node, "gave no inventory", fmt::format("run there by hand: {} node inventory", self.string())};
}

/// The remote shell reaches them; ranks would not reach each other.
void lose_cut_off_nodes(Loop& loop, const RemoteExec& reach, std::vector<NodePlaces> places, SiteFound& found) {
  for (LostNode& lost : look_at_networks(loop, reach, found.networks, std::move(places)))
    found.lost_nodes.push_back(std::move(lost));
}

/// The smallest figures of all nodes that answer: what every node can give.
Result<void> take_inventory(SiteFound& found) {
  Loop loop;
  // Boot and own name -> name that was asked for: two machines may have one name, and nodes of one kernel two.
  std::map<std::pair<std::string, std::string>, std::string> machines;
  const RemoteExec reach{found.launcher, found.identity, found.launcher_options, own_executable()};
  std::vector<NodePlaces> places;
  bool is_first = true;
  for (const auto& answer : ask_nodes(loop, reach, found.site.nodes, {"inventory"}, inventory_s)) {
    if (!answer.answered && answer.error.rfind(srun::refusal, 0) == 0)
      return fail(ErrorKind::launch, "srun",
                  fmt::format("refuses to reach the nodes: \"{}\"; unset the variables that it names",
                              std::string_view(answer.error).substr(srun::refusal.size())));
    auto json = nlohmann::json::parse(answer.answered ? last_object(answer.out) : "", nullptr, false);
    if (!json.is_object() || !json["cores"].is_number_integer() || !json["numa_domains"].is_number_integer()) {
      found.lost_nodes.push_back(no_inventory(answer, reach.self));
      continue;
    }
    if (json["muster"] != MUSTER_VERSION) {
      const auto theirs = json["muster"].is_string() ? json["muster"].get<std::string>() : std::string();
      found.lost_nodes.push_back(of_another_version(answer.node, theirs, reach.self));
      continue;
    }
    places.push_back({answer.node, places_from_json(json["places"])});
    const int cores = std::max(1, json["cores"].get<int>());
    const int domains = std::max(1, json["numa_domains"].get<int>());
    const int gpus = json["gpus"].is_number_integer() ? json["gpus"].get<int>() : 0;
    found.site.gpus = is_first ? gpus : std::min(found.site.gpus, gpus);
    found.site.cores = is_first ? cores : std::min(found.site.cores, cores);
    found.site.numa_domains = is_first ? domains : std::min(found.site.numa_domains, domains);
    is_first = false;
    if (!json["node"].is_string()) continue;
    const std::string boot = json["boot_id"].is_string() ? json["boot_id"].get<std::string>() : std::string();
    const auto [at, is_new] = machines.emplace(std::pair(boot, json["node"].get<std::string>()), answer.node);
    if (!is_new)
      return fail(ErrorKind::usage, "--nodes",
                  fmt::format("{} and {} are one machine, {}; name it once", at->second, answer.node,
                              printable_line(at->first.second)));
  }
  lose_cut_off_nodes(loop, reach, std::move(places), found);
  take_grant(found.site);
  return {};
}

/// The profile takes precedence over detection.
void take_promises(const SystemProfile& system, Site& site) {
  for (const auto& partition : system.partitions) {
    // Ranks bound to cores that the system keeps for itself would never start.
    const int reserved = static_cast<int>(partition.node.reserved_cores.size());
    if (partition.node.cores > 0) site.cores = std::max(1, partition.node.cores - reserved);
    if (partition.node.gpus) site.gpus = partition.node.gpus->count;
  }
}

/// On a login node, this is reported instead.
Error at_login(const SystemProfile& system, Error error) {
  for (const auto& partition : system.partitions) {
    if (!is_login_node(partition.node, host_name(), false, count_gpus())) continue;
    error.what += fmt::format(": {} is a login node of {}", host_name(), system.name);
    break;
  }
  return error;
}

void take_topology(Site& site) {
  const auto topology = read_topology();
  if (!topology) return;
  site.cores = std::max(1, topology->cores);
  site.numa_domains = std::max(1, topology->numa_domains);
  site.gpus = count_gpus();
  take_grant(site);
}

void take_simulated(Site& site) {
  const auto folder = simulated_folder(site);
  if (folder.empty()) return;
  site.simulated_ranks = simulated_ranks(folder);
  if (const auto layout = read_layout((folder / "topology.xml").string())) {
    site.cores = std::max(1, static_cast<int>(layout->cores.size()));
    site.numa_domains = std::max(1, static_cast<int>(layout->domains.size()));
  }
  site.gpus = count_gpus(folder / "root");
}

bool is_here(const Site& site) {
  return std::all_of(site.nodes.begin(), site.nodes.end(), is_this_node);
}

}  // namespace

fs::path simulated_folder(const Site& site) {
  return machine_folder(site.nodes.empty() ? host_name() : site.nodes.front());
}

bool has_this_node(const Site& site) {
  return site.nodes.empty() || std::any_of(site.nodes.begin(), site.nodes.end(), is_this_node);
}

int count_gpus(const fs::path& root) {
  const auto inventory = read_inventory(root.string());
  return inventory ? inventory->count_gpus() : 0;
}

Result<LauncherIdentity> identify(const LauncherSpec& launcher, const std::string& program) {
  const auto name = std::string(launcher.name);
  if (launcher.program.empty()) return LauncherIdentity{};
  const auto path = find_program(program.empty() ? std::string(launcher.program) : program);
  if (path.empty() && !program.empty())
    return fail(ErrorKind::launch, name, fmt::format("{} is not a program on PATH", printable_line(program, 80)));
  if (path.empty())
    return fail(ErrorKind::launch, name,
                fmt::format("there is no {} on PATH; load its module, or use --launcher local", launcher.program));
  std::string printed;
  if (!launcher.ask.empty()) {
    Argv argv{path.string()};
    argv.insert(argv.end(), launcher.ask.begin(), launcher.ask.end());
    auto asked = run_program(argv, ask_s);
    if (!asked) return tl::unexpected(asked.error());
    if (asked->timed_out)
      return fail(ErrorKind::launch, path.string(), fmt::format("gave no answer to {} within {} s", argv[1], ask_s));
    printed = asked->out + asked->err;
  }
  auto identity = launcher.identify(path.string(), printed);
  if (!identity) return identity;
  for (const auto& name : identity->remote_agent_variables)
    if (const char* value = std::getenv(name.c_str()); identity->remote_agent.empty() && value != nullptr)
      identity->remote_agent = value;
  return identity;
}

Result<fs::path> find_agent(const std::string& chosen, const std::string& flavor) {
  std::string named = chosen;
  if (const char* variable = std::getenv("MUSTER_AGENT"); named.empty() && variable != nullptr) named = variable;
  if (!named.empty()) {
    const auto path = find_program(named);
    if (path.empty()) return fail(ErrorKind::launch, named, "is not a program that can be run; see --agent");
    // It is run with our rights, as a plug-in is.
    if (::geteuid() == 0)
      if (const auto own = open_trusted(path, with_installer()); !own)
        return fail(ErrorKind::launch, named, own.error().what);
    return fs::absolute(path);
  }
  const auto prefix = install_prefix();
  if (prefix.empty())
    return fail(ErrorKind::launch, "muster-rank",
                "can't be found, as /proc is not mounted here; mount it, or name it with --agent");
  const auto folder = own_executable().parent_path();
  for (const auto& place : {folder, prefix / "libexec" / "muster"})
    for (const auto& name : {"muster-rank-" + flavor, std::string("muster-rank")}) {
      const auto path = find_program((place / name).string());
      if (!path.empty()) return path;
    }
  return fail(ErrorKind::launch, "muster-rank",
              fmt::format("the agent is not beside muster in {}; build it, or name it with --agent", folder.string()));
}

namespace {

/// Fails where the agent is of another MPI than the launcher starts: its ranks would not find each other. One that does
/// not start here may start on the nodes, or in their container.
Result<void> fits_the_launcher(const SiteFound& found) {
  if (found.identity.flavor.empty()) return {};
  std::string flavor = flavor_in_file(found.agent);
  if (flavor.empty())
    if (const auto about = ask_agent(found.agent)) flavor = about->flavor;
  if ((flavor != "openmpi" && flavor != "mpich") || flavor == found.identity.flavor) return {};
  return fail(
      ErrorKind::launch, found.agent.string(),
      fmt::format("agent built for {}, launched by {} ({}); build muster-rank-{} with that MPI, or load the module of "
                  "the MPI that the agent was built for",
                  flavor == "mpich" ? "MPICH" : "Open MPI", found.identity.banner, found.identity.path,
                  found.identity.flavor));
}

}  // namespace

Result<void> take_launcher(SiteFound& found, const std::string& chosen_agent) {
  if (found.launcher->needs_allocation && !found.allocation && !found.line)
    return fail(ErrorKind::launch, std::string(found.launcher->name),
                "needs an allocation; start muster in one (salloc, sbatch)");
  auto identity = identify(*found.launcher, found.line ? found.line->argv[found.line->launcher] : "");
  if (!identity) return tl::unexpected(identity.error());
  found.identity = std::move(*identity);
  // In the container of a line there may be paths that are not here.
  if (found.line && !chosen_agent.empty() && chosen_agent.front() == '/') {
    found.agent = chosen_agent;
    return {};
  }
  auto agent = find_agent(chosen_agent, found.identity.flavor);
  if (!agent) return tl::unexpected(agent.error());
  found.agent = *agent;
  if (found.identity.mpi_types.empty()) return found.line ? Result<void>() : fits_the_launcher(found);
  auto about = ask_agent(found.agent);
  if (!about) return tl::unexpected(about.error());
  found.identity.flavor = about->flavor;
  return {};
}

void look_here(Site& site) {
  if (is_here(site)) take_topology(site);
  take_simulated(site);
}

Result<SiteFound> find_site(const SiteOptions& options, const SystemProfile& system) {
  SiteFound found;
  auto allocation = find_allocation();
  if (!allocation) return tl::unexpected(allocation.error());
  if (!options.launch.empty()) {
    auto line = read_launch_option(options.launch);
    if (!line) return tl::unexpected(line.error());
    found.line = std::move(*line);
  }
  auto launcher = found.line ? line_launcher(*found.line, options.launcher, "--launch")
                             : choose_launcher(options.launcher, system, *allocation);
  if (!launcher) return tl::unexpected(launcher.error());
  auto nodes = found.line ? std::vector<std::string>() : choose_nodes(options.nodes, **launcher, *allocation);
  if (!nodes) return tl::unexpected(nodes.error());
  found.launcher = *launcher;
  found.launcher_options = options.launcher_options;
  for (const auto& partition : system.partitions)
    found.launcher_options.insert(found.launcher_options.begin(), partition.launcher_options.begin(),
                                  partition.launcher_options.end());
  std::vector<std::string> networks;
  for (const auto& partition : system.partitions)
    networks.insert(networks.end(), partition.networks.begin(), partition.networks.end());
  found.networks = choose_networks(networks, found.line, found.launcher_options, environment_text);
  found.site.launcher = found.launcher->name;
  found.site.launcher_most_ranks = found.launcher->most_ranks;
  if (found.launcher->most_ranks > 0 && options.launcher.empty() && !is_promised(system))
    found.site.launcher_why = "there is no mpirun and no mpiexec on PATH";
  found.site.nodes = std::move(*nodes);
  found.site.host = host_name();
  if (*allocation) found.site.tasks_per_node = (*allocation)->tasks_per_node;
  found.allocation = std::move(*allocation);
  if (auto taken = take_launcher(found, options.agent); !taken)
    found.no_launch = found.allocation ? taken.error() : at_login(system, taken.error());
  else if (!found.site.launcher_why.empty())
    found.identity.banner = found.site.launcher_why;
  look_here(found.site);
  take_promises(system, found.site);
  return found;
}

Result<void> ask_the_nodes(SiteFound& found, const SystemProfile& system) {
  if (is_here(found.site) || found.no_launch || found.line) return {};
  if (auto taken = take_inventory(found); !taken) return taken;
  take_simulated(found.site);
  take_promises(system, found.site);
  return {};
}

}  // namespace muster
