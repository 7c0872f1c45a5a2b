#include "app/site.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hostlist.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "run/reach.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr double ask_s = 10;
constexpr double inventory_s = 8;

Result<const LauncherSpec*> choose_launcher(const std::string& option, const SystemProfile& system) {
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
  const auto* mpirun = find_launcher("mpirun");
  if (mpirun != nullptr && !find_program(mpirun->program).empty()) return mpirun;
  return find_launcher("local");
}

bool is_promised(const SystemProfile& system) {
  return std::any_of(system.partitions.begin(), system.partitions.end(),
                     [](const PartitionProfile& partition) { return !partition.launcher.empty(); });
}

Result<std::vector<std::string>> nodes_of(const std::string& text) {
  if (text.empty()) return std::vector<std::string>{};
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
    return fail(
        ErrorKind::usage, "--nodes",
        fmt::format("\"{}\" is a count, which needs a scheduler to choose nodes; name them: --nodes nid[001-004]",
                    text));
  auto hosts = expand_hostlist(text);
  if (!hosts) return fail(ErrorKind::usage, "--nodes", hosts.error().what);
  if (hosts->empty()) return fail(ErrorKind::usage, "--nodes", "no node is named; write for example nid[001-004]");
  std::set<std::string> seen;
  std::string here;
  for (const auto& host : *hosts) {
    // It would be taken for an option by what goes there.
    if (host.front() == '-')
      return fail(ErrorKind::usage, "--nodes", fmt::format("\"{}\" is no host name", printable_line(host)));
    if (!seen.insert(host).second)
      return fail(ErrorKind::usage, "--nodes", fmt::format("{} is named twice", printable_line(host)));
    if (!is_this_node(host)) continue;
    if (!here.empty())
      return fail(ErrorKind::usage, "--nodes",
                  fmt::format("{} and {} are one machine, this one; name it once", here, printable_line(host)));
    here = printable_line(host);
  }
  return hosts;
}

void take_topology(Site& site) {
  const auto topology = read_topology();
  if (!topology) return;
  site.cores = std::max(1, topology->cores);
  site.numa_domains = std::max(1, topology->numa_domains);
}

/// The smallest figures of all nodes that answer: what every node can give.
Result<void> take_inventory(SiteFound& found) {
  Loop loop;
  std::map<std::string, std::string> machines;  // own name -> name that was asked for
  const Reach reach{found.launcher, found.identity, found.launcher_options, own_executable()};
  bool is_first = true;
  for (const auto& answer : ask_nodes(loop, reach, found.site.nodes, {"inventory"}, inventory_s)) {
    auto json = nlohmann::json::parse(answer.answered ? last_object(answer.out) : "", nullptr, false);
    if (!json.is_object() || !json["cores"].is_number_integer() || !json["numa_domains"].is_number_integer()) {
      found.lost_nodes.emplace_back(answer.node,
                                    answer.answered ? "gave no inventory" : "does not answer: " + answer.error);
      continue;
    }
    const int cores = std::max(1, json["cores"].get<int>());
    const int domains = std::max(1, json["numa_domains"].get<int>());
    found.site.cores = is_first ? cores : std::min(found.site.cores, cores);
    found.site.numa_domains = is_first ? domains : std::min(found.site.numa_domains, domains);
    is_first = false;
    if (!json["node"].is_string()) continue;
    const auto [at, is_new] = machines.emplace(json["node"].get<std::string>(), answer.node);
    if (!is_new)
      return fail(ErrorKind::usage, "--nodes",
                  fmt::format("{} and {} are one machine, {}; name it once", at->second, answer.node,
                              printable_line(at->first)));
  }
  return {};
}

/// What a profile says goes before what is found.
void take_promises(const SystemProfile& system, Site& site) {
  for (const auto& partition : system.partitions) {
    if (partition.node.cores > 0) site.cores = partition.node.cores;
    if (partition.node.gpus) site.gpus = partition.node.gpus->count;
  }
}

bool is_here(const Site& site) {
  return std::all_of(site.nodes.begin(), site.nodes.end(), is_this_node);
}

}  // namespace

Result<LauncherIdentity> identify(const LauncherSpec& launcher) {
  const auto name = std::string(launcher.name);
  if (launcher.program.empty()) return LauncherIdentity{};
  const auto path = find_program(launcher.program);
  if (path.empty())
    return fail(ErrorKind::launch, name,
                fmt::format("there is no {} on PATH; load the MPI module, or use --launcher local", launcher.program));
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
    if (path.empty()) return fail(ErrorKind::launch, named, "is no program that can be run; see --agent");
    return fs::absolute(path);
  }
  const auto folder = own_executable().parent_path();
  for (const auto& place : {folder, folder.parent_path() / "libexec" / "muster"})
    for (const auto& name : {"muster-rank-" + flavor, std::string("muster-rank")}) {
      const auto path = find_program((place / name).string());
      if (!path.empty()) return path;
    }
  return fail(ErrorKind::launch, "muster-rank",
              fmt::format("the agent is not beside muster in {}; build it, or name it with --agent", folder.string()));
}

Result<SiteFound> find_site(const SiteOptions& options, const SystemProfile& system) {
  SiteFound found;
  auto launcher = choose_launcher(options.launcher, system);
  if (!launcher) return tl::unexpected(launcher.error());
  auto nodes = nodes_of(options.nodes);
  if (!nodes) return tl::unexpected(nodes.error());
  found.launcher = *launcher;
  found.launcher_options = options.launcher_options;
  for (const auto& partition : system.partitions)
    found.launcher_options.insert(found.launcher_options.begin(), partition.launcher_options.begin(),
                                  partition.launcher_options.end());
  found.site.launcher = found.launcher->name;
  found.site.launcher_most_ranks = found.launcher->most_ranks;
  if (found.launcher->most_ranks > 0 && options.launcher.empty() && !is_promised(system))
    found.site.launcher_why = "there is no mpirun on PATH";
  found.site.nodes = std::move(*nodes);
  auto identity = identify(*found.launcher);
  if (identity) {
    found.identity = std::move(*identity);
    if (!found.site.launcher_why.empty()) found.identity.banner = found.site.launcher_why;
  } else {
    found.no_launch = identity.error();
  }
  if (!found.no_launch) {
    auto agent = find_agent(options.agent, found.identity.flavor);
    if (agent)
      found.agent = *agent;
    else
      found.no_launch = agent.error();
  }
  if (is_here(found.site)) take_topology(found.site);
  take_promises(system, found.site);
  return found;
}

Result<void> ask_the_nodes(SiteFound& found, const SystemProfile& system) {
  if (is_here(found.site) || found.no_launch) return {};
  if (auto taken = take_inventory(found); !taken) return taken;
  take_promises(system, found.site);
  return {};
}

}  // namespace muster
