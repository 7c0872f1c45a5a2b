// What muster does on a node by itself, without MPI. Started by the driver; prints for it to read.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/options.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "model/json.hpp"
#include "run/autopsy.hpp"
#include "system/system.hpp"

namespace muster {

int node_autopsy_command(const NodeOptions& options) {
  fmt::print("{}\n", dump(to_json(look_at_this_node(options.tag))));
  return 0;
}

int node_clean_command(const NodeOptions& options) {
  for (const int pid : clean_this_node(options.tag, options.grace_s)) fmt::print("{}\n", pid);
  return 0;
}

int node_inventory_command() {
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
                               {"muster", MUSTER_VERSION}};
  fmt::print("{}\n", dump(json));
  return 0;
}

}  // namespace muster
