#include "app/binding/node_parts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/loop.hpp"
#include "model/json.hpp"
#include "run/remote_exec.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

constexpr double parts_s = 8;

std::optional<NodeParts> parts_with_gpus(Layout layout, const Inventory& inventory, CpuMask may) {
  NodeParts node = parts_of(std::move(layout), inventory);
  if (node.gpus.empty()) return std::nullopt;
  node.may = std::move(may);
  return node;
}

fs::path root_below(const fs::path& machine) {
  return machine.empty() ? fs::path("/") : machine / "root";
}

Result<Layout> layout_below(const fs::path& machine) {
  return read_layout(machine.empty() ? std::string() : (machine / "topology.xml").string());
}

std::vector<std::string> devices_in(const Layout& layout) {
  std::vector<std::string> addresses;
  for (const auto& near : layout.nearby) addresses.push_back(near.first);
  return addresses;
}

}  // namespace

std::optional<NodeParts> parts_of_this_node(const fs::path& machine) {
  const auto inventory = read_inventory(root_below(machine).string());
  // Where no GPU is, hwloc need not read the devices: that takes longer than everything else before a launch.
  if (!inventory || inventory->count_gpus() == 0) return std::nullopt;
  auto layout = layout_below(machine);
  if (!layout) return std::nullopt;
  return parts_with_gpus(std::move(*layout), *inventory, node_cpus(root_below(machine)));
}

std::optional<NodeParts> cores_of_this_node(const fs::path& machine) {
  auto layout = layout_below(machine);
  if (!layout) return std::nullopt;
  NodeParts node;
  node.layout = std::move(*layout);
  node.may = node_cpus(root_below(machine));
  return node;
}

std::string parts_in_json(const fs::path& machine) {
  nlohmann::json json = {{"facts", nlohmann::json::array()}, {"may", node_cpus(root_below(machine)).list()}};
  const auto add = [&](const std::vector<Fact>& facts) {
    for (const Fact& fact : facts) json["facts"].push_back({fact.key, fact.value});
  };
  if (const auto layout = layout_below(machine)) add(to_facts(*layout, devices_in(*layout)));
  if (const auto inventory = read_inventory(root_below(machine).string())) add(to_facts(*inventory));
  return dump(json);
}

std::optional<NodeParts> parse_parts(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("facts") || !json["facts"].is_array() || !json.contains("may") ||
      !json["may"].is_string())
    return std::nullopt;
  std::vector<Fact> facts;
  for (const auto& pair : json["facts"]) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) return std::nullopt;
    facts.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
  }
  auto may = CpuMask::parse_list(json["may"].get<std::string>());
  std::vector<std::string> faults;
  const auto inventory = parse_inventory(facts, faults);
  auto layout = parse_layout(facts);
  if (layout.empty() || !faults.empty()) return std::nullopt;
  return parts_with_gpus(std::move(layout), inventory, may ? std::move(*may) : CpuMask());
}

std::optional<NodeParts> ask_for_parts(const SiteFound& found) {
  const auto is_lost = [&](const std::string& node) {
    return std::any_of(found.lost_nodes.begin(), found.lost_nodes.end(),
                       [&](const auto& lost) { return lost.node == node; });
  };
  const auto node = std::find_if_not(found.site.nodes.begin(), found.site.nodes.end(), is_lost);
  if (node == found.site.nodes.end()) return std::nullopt;
  Argv words{"parts"};
  if (const auto machine = machine_folder(*node); !machine.empty()) words.push_back("--machine=" + machine.string());
  Loop loop;
  const RemoteExec reach{found.launcher, found.identity, found.launcher_options, own_executable()};
  const auto answers = ask_nodes(loop, reach, {*node}, words, parts_s);
  return answers.front().answered ? parse_parts(last_object(answers.front().out)) : std::nullopt;
}

}  // namespace muster
