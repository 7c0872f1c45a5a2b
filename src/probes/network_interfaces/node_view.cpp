#include "probes/network_interfaces/node_view.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "model/expected_node.hpp"
#include "model/fact_fields.hpp"

namespace muster::network {

namespace {

void take_fact(const Fact& fact, NodeView& node, std::vector<std::string>& faults) {
  const auto take = [&](auto parsed, auto& list) {
    if (parsed)
      list.push_back(std::move(*parsed));
    else
      faults.push_back(fmt::format("{} {}", fact.key, printable_line(fact.value, 80)));
  };
  if (fact.key == "interface") take(parse_interface(fact.value), node.interfaces);
  if (fact.key == "counter") take(read_fact<Counted>(fact.value), node.counted);
  if (fact.key == "machine") node.machine = fact.value;
}

Finding unclear(const std::string& host, std::string reason, std::string remedy) {
  return {Verdict::unmeasured, std::move(reason), {node_culprit(host)}, std::move(remedy)};
}

void read_node(const RankPlace& place, const Observation& seen, Judging& judging) {
  if (const std::string* why = seen.fact("no_root")) {
    Finding finding = unclear(place.host, printable_line(fmt::format("on {}: {}", place.host, *why)),
                              "give a folder with the /sys and /proc of a machine in it: -S CHECK.root=FOLDER");
    finding.verdict = Verdict::error;
    finding.culprits = {{CulpritKind::setting, "root", "", -1}};
    return judging.find(std::move(finding));
  }
  NodeView node;
  node.host = place.host;
  node.index = place.node_index;
  std::vector<std::string> faults;
  node.inventory = parse_inventory(seen.facts, faults);
  for (const Fact& fact : seen.facts) take_fact(fact, node, faults);
  if (!faults.empty())
    return judging.find(unclear(place.host, fmt::format("{} reported malformed data: {}", place.host, faults[0]),
                                "report this: the observation is damaged"));
  if (node.interfaces.empty())
    return judging.find(unclear(place.host, fmt::format("{} shows no network interface, not even lo", place.host),
                                "see whether /sys and /proc are mounted there; a container may hide them"));
  judging.nodes.push_back(std::move(node));
}

}  // namespace

void Judging::note(std::string sentence) {
  find(make_note(std::move(sentence)));
}

void read_case(Judging& judging) {
  const CaseView& view = judging.view;
  std::set<int> known;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    for (const Fact& fact : seen->facts)
      if (fact.key.rfind("env.", 0) == 0) judging.settings[fact.key.substr(4)].push_back({&view.ranks[i], fact.value});
    // Of several ranks of a node one looks at it.
    if (seen->fact("speaks") != nullptr && known.insert(view.ranks[i].node_index).second)
      read_node(view.ranks[i], *seen, judging);
  }
}

Culprit culprit_of(const NodeView& node) {
  return node_culprit(node.host);
}

Culprit culprit_of(const NodeView& node, const Device& nic) {
  return {CulpritKind::device, printable_line(label_of(nic), 80), node.host, -1};
}

std::string subject(const NodeView& node, const Device& nic) {
  return fmt::format("{} on {}", printable_line(label_of(nic), 80), node.host);
}

Finding about(const NodeView& node, const Device& nic, std::string reason, std::string remedy) {
  return {Verdict::fail, std::move(reason), {culprit_of(node, nic)}, std::move(remedy)};
}

std::string adapter_of(std::string_view port) {
  return std::string(port.substr(0, port.find('/')));
}

std::vector<std::string> names_of(const NodeView& node, const Device& nic) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (!is_in(name, names)) names.push_back(std::move(name));
  };
  for (const NetPort& port : nic.ports) {
    add(port.name);
    add(adapter_of(port.name));
  }
  for (const Interface& one : node.interfaces)
    if (one.behind == to_string(nic.address)) add(one.name);
  return names;
}

bool is_promised(const CaseView& view, const NodeView& node, const Device& nic) {
  if (!view.node.nics) return false;
  if (view.node.nics->name.empty()) return true;
  const auto names = names_of(node, nic);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return matches_profile(name, view.node.nics->name); });
}

bool is_active(const NetPort& port) {
  return port.state == "ACTIVE" || port.state == "up";
}

bool is_private(const Interface& interface) {
  constexpr int loopback = 772;
  if (interface.kind == loopback || interface.name == "lo") return true;
  if (!interface.behind.empty()) return false;
  constexpr std::string_view prefixes[] = {"docker",  "podman", "cni",  "virbr", "br-", "veth",  "lxc",         "lxd",
                                           "flannel", "cali",   "kube", "tun",   "tap", "dummy", "nodelocaldns"};
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](std::string_view prefix) {
    return std::string_view(interface.name).substr(0, prefix.size()) == prefix;
  });
}

std::vector<IpAddress> routed_addresses(const Interface& interface) {
  std::vector<IpAddress> found;
  for (const IpAddress& one : interface.addresses)
    if (!is_local(one.text)) found.push_back(one);
  return found;
}

const Interface* find_interface(const NodeView& node, std::string_view name) {
  const auto found = std::find_if(node.interfaces.begin(), node.interfaces.end(),
                                  [&](const Interface& one) { return one.name == name; });
  return found == node.interfaces.end() ? nullptr : &*found;
}

}  // namespace muster::network
