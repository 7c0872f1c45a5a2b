// What muster does on a node by itself, without MPI. Started by the driver; prints for it to read.
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/binding/node_parts.hpp"
#include "app/inputs/options.hpp"
#include "app/inputs/site.hpp"
#include "base/files.hpp"
#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "model/json.hpp"
#include "run/autopsy.hpp"
#include "run/data_network.hpp"
#include "run/tagged_lines.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

/// Signed, where others answer through the same pipe.
int answer(const NodeOptions& options, const std::string& text) {
  const char* name = options.sign.empty() ? nullptr : std::getenv(options.sign.c_str());
  const std::string node = name == nullptr || *name == '\0' ? host_name() : name;
  fmt::print("{}", options.sign.empty() ? text : tag_lines(node, text));
  return 0;
}

}  // namespace

int node_autopsy_command(const NodeOptions& options) {
  return answer(
      options,
      dump(to_json(look_at_this_node(options.tag, {options.launcher_ports.begin(), options.launcher_ports.end()}))) +
          "\n");
}

int node_clean_command(const NodeOptions& options) {
  std::string survivors;
  CleanOptions clean{options.launcher_has_ended, options.ends_daemons};
  clean.launcher.hosts = options.launcher_hosts;
  clean.launcher.ports = {options.launcher_ports.begin(), options.launcher_ports.end()};
  clean.launcher.age_s = options.launcher_age_s;
  for (const int pid : clean_this_node(options.tag, options.grace_s, clean)) survivors += fmt::format("{}\n", pid);
  return answer(options, survivors);
}

int node_inventory_command(const NodeOptions& options) {
  const auto topology = read_topology();
  if (!topology) {
    fmt::print(stderr, "{}\n", to_string(topology.error()));
    return 2;
  }
  const auto boot = read_file("/proc/sys/kernel/random/boot_id");
  const nlohmann::json json = {{"node", host_name()},
                               {"boot_id", boot ? std::string(trim(*boot)) : std::string()},
                               {"cores", topology->cores},
                               {"cpus", topology->cpus},
                               {"numa_domains", topology->numa_domains},
                               {"gpus", count_gpus()},
                               {"places", to_json(network_places())},
                               {"muster", MUSTER_VERSION}};
  return answer(options, dump(json) + "\n");
}

int node_network_command(const NodeOptions& options) {
  const auto places = network_places();
  std::vector<std::vector<std::string>> networks;
  for (const std::string& text : options.among)
    if (auto addresses = expand_hostlist(text)) networks.push_back(std::move(*addresses));
  auto calls = calls_of(places, networks, options.driver);
  make_calls(calls);
  nlohmann::json json = {{"calls", nlohmann::json::array()}};
  for (const NetworkCall& call : calls)
    json["calls"].push_back({{"from", call.from}, {"to", call.to}, {"answered", call.is_answered}});
  return answer(options, dump(json) + "\n");
}

int node_parts_command(const NodeOptions& options) {
  return answer(options, parts_in_json(options.machine) + "\n");
}

}  // namespace muster
