// Interfaces and their addresses: the same ones on all nodes, under the same names, in the same networks.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "probes/network_interfaces/node_view.hpp"
#include "stats/outliers.hpp"

namespace muster::network {

namespace {

/// A network of no more than this many addresses is one link's: routed fabrics give each node its own.
bool is_link_alone(const IpAddress& address) {
  return address.prefix >= (address.text.find(':') == std::string::npos ? 31 : 126);
}

/// A card's, or one that others reach: not the way to a management controller over USB.
bool is_compared(const NodeView& node, const Interface& interface) {
  if (is_private(interface)) return false;
  const auto& devices = node.inventory.devices;
  return !routed_addresses(interface).empty() || std::any_of(devices.begin(), devices.end(), [&](const Device& nic) {
    return to_string(nic.address) == interface.behind;
  });
}

std::set<std::string> names_on(const NodeView& node) {
  std::set<std::string> names;
  for (const Interface& one : node.interfaces)
    if (is_compared(node, one)) names.insert(one.name);
  return names;
}

std::set<std::string> all_names(const Judging& judging) {
  std::set<std::string> names;
  for (const NodeView& node : judging.nodes) names.merge(names_on(node));
  return names;
}

Culprit interface_culprit(const NodeView& node, const std::string& name) {
  return {CulpritKind::device, "interface " + printable_line(name, 40), node.host, -1};
}

/// Of two nodes the one that has less is the outlier; nodes whose names have nothing in common are of two kinds.
bool is_odd(const Judging& judging, const NodeView& node, const std::string& name) {
  const std::set<std::string> own = names_on(node);
  std::size_t have = 0;
  bool is_less = false;
  for (const NodeView& other : judging.nodes) {
    const std::set<std::string> names = names_on(other);
    if (names.count(name) == 0) continue;
    ++have;
    is_less = is_less || std::includes(names.begin(), names.end(), own.begin(), own.end());
  }
  const std::size_t lack = judging.nodes.size() - have;
  return have > lack || (have == lack && is_less);
}

void judge_lacking(Judging& judging) {
  for (const std::string& name : all_names(judging)) {
    std::vector<const NodeView*> odd;
    for (const NodeView& node : judging.nodes) {
      if (find_interface(node, name) != nullptr || judging.is_explained(node.host, name)) continue;
      if (judging.short_of_nics.count(node.host) != 0 || !is_odd(judging, node, name)) continue;
      odd.push_back(&node);
    }
    if (odd.empty()) continue;
    Finding finding;
    std::vector<std::string> hosts;
    for (const NodeView* node : odd) {
      hosts.push_back(node->host);
      finding.culprits.push_back(interface_culprit(*node, name));
      judging.explained.insert({node->host, name});
    }
    finding.reason =
        fmt::format("{} {} no interface {}, which {} {}", human_list(hosts, 4), odd.size() == 1 ? "has" : "have",
                    printable_line(name, 40), counted(judging.nodes.size() - odd.size(), "other node"),
                    judging.nodes.size() - odd.size() == 1 ? "has" : "have");
    finding.remedy =
        "see what the interface is called there (ip -br link) and whether its device is there (lspci); names should be "
        "alike on all nodes";
    judging.find(std::move(finding));
  }
}

/// Where each interface's device is on the bus.
using Map = std::map<std::string, std::string>;

Map places_on(const NodeView& node) {
  Map places;
  for (const Interface& one : node.interfaces)
    if (!one.behind.empty()) places[one.name] = one.behind;
  return places;
}

/// What most nodes have; of two as frequent, the first node's.
Map usual_places(const Judging& judging) {
  std::map<std::string, std::vector<std::pair<int, std::string>>> votes;
  for (const NodeView& node : judging.nodes)
    for (const auto& at : places_on(node)) {
      auto& list = votes[at.first];
      const auto same =
          std::find_if(list.begin(), list.end(), [&](const auto& vote) { return vote.second == at.second; });
      if (same == list.end())
        list.emplace_back(1, at.second);
      else
        ++same->first;
    }
  Map usual;
  for (const auto& [name, list] : votes)
    usual[name] = std::max_element(list.begin(), list.end(), [](const auto& a, const auto& b) {
                    return a.first < b.first;
                  })->second;
  return usual;
}

/// Names that on this node belong to a device which has another of them on most nodes.
std::vector<std::string> swapped_on(const NodeView& node, const Map& usual) {
  const Map own = places_on(node);
  std::vector<std::string> swapped;
  for (const auto& at : own) {
    if (usual.at(at.first) == at.second) continue;
    const bool is_anothers = std::any_of(usual.begin(), usual.end(), [&](const auto& other) {
      return other.first != at.first && other.second == at.second && own.count(other.first) != 0;
    });
    if (is_anothers) swapped.push_back(at.first);
  }
  return swapped.size() < 2 ? std::vector<std::string>{} : swapped;
}

bool has_networks(const Interface& interface) {
  return interface.is_up && !is_private(interface) && !routed_addresses(interface).empty();
}

/// `10.0.0.0/16 and fd00::/64`; empty: nothing to compare.
std::string networks_of(const Interface& interface) {
  std::set<std::string> networks;
  for (const IpAddress& one : routed_addresses(interface))
    if (!is_link_alone(one) && !network_of(one).empty()) networks.insert(network_of(one));
  const std::vector<std::string> list(networks.begin(), networks.end());
  return human_list(list);
}

Question ask(const Judging& judging, const std::string& name, const std::string& what, const std::string& remedy,
             std::string (*value)(const Interface&)) {
  Question question{fmt::format("{} of {}", what, printable_line(name, 40)), "other nodes", remedy, {}};
  for (const NodeView& node : judging.nodes) {
    const Interface* one = find_interface(node, name);
    if (one == nullptr || !one->is_up || !is_compared(node, *one) || judging.is_explained(node.host, name)) continue;
    question.votes.push_back({"on " + node.host, value(*one), interface_culprit(node, name)});
  }
  return question;
}

using Networks = std::map<std::string, std::string>;

Networks networks_on(const NodeView& node) {
  Networks networks;
  for (const Interface& one : node.interfaces)
    if (has_networks(one)) networks[one.name] = networks_of(one);
  return networks;
}

/// Whether `b` has `name` in a network that another interface is in on `a`, and not on `b`.
bool is_moved(const Networks& a, const Networks& b, const std::string& name) {
  const auto here = b.find(name);
  const auto there = a.find(name);
  if (here == b.end() || there == a.end() || here->second == there->second || here->second.empty()) return false;
  return std::any_of(a.begin(), a.end(), [&](const auto& other) {
    const auto own = b.find(other.first);
    return other.second == here->second && own != b.end() && own->second != here->second;
  });
}

/// Two names whose networks are each other's on some node.
bool is_exchanged(const Judging& judging, const std::string& name) {
  std::vector<Networks> all;
  for (const NodeView& node : judging.nodes) all.push_back(networks_on(node));
  // Against the first: of nodes that are all alike but some, one of any two is not.
  return std::any_of(all.begin(), all.end(), [&](const Networks& one) { return is_moved(all.front(), one, name); });
}

void judge_networks(Judging& judging, const std::string& name) {
  const Question question =
      ask(judging, name, "the network",
          "give the interface an address of the network that it is in on the other nodes, or put its cable where it "
          "belongs; where networks are routed, subnets = \"any\" in the check",
          networks_of);
  auto finding = outlier_finding(question);
  if (!finding) return;
  // A network of its own for every node is a way to build a fabric; a cable in the wrong switch is not.
  if (has_majority(question) || is_exchanged(judging, name)) return judging.find(std::move(*finding));
  judging.note(finding->reason + ": right only where these networks are routed to each other");
}

void judge_addressless(Judging& judging, const std::string& name) {
  std::vector<const NodeView*> without;
  std::size_t with = 0;
  for (const NodeView& node : judging.nodes) {
    const Interface* one = find_interface(node, name);
    if (one == nullptr || !one->is_up || judging.is_explained(node.host, name)) continue;
    if (routed_addresses(*one).empty())
      without.push_back(&node);
    else
      ++with;
  }
  if (with == 0 || without.size() > with) return;
  for (const NodeView* node : without) {
    judging.find(
        Finding{Verdict::fail,
                fmt::format("{} on {} is up without an address, on {} it has one", printable_line(name, 40), node->host,
                            counted(with, "other node")),
                {interface_culprit(*node, name)},
                "see why it got none (DHCP, the network configuration, ip addr); programs there can't be reached"});
  }
}

std::string mtu_of(const Interface& interface) {
  return interface.mtu > 0 ? std::to_string(interface.mtu) : std::string();
}

void judge_twins(Judging& judging) {
  std::map<std::string, std::vector<std::pair<const NodeView*, std::string>>> owners;
  for (const NodeView& node : judging.nodes)
    for (const Interface& one : node.interfaces)
      if (has_networks(one))
        for (const IpAddress& address : routed_addresses(one)) {
          auto& list = owners[address.text];
          // One machine under two host names has its addresses once.
          const bool is_known = std::any_of(list.begin(), list.end(), [&](const auto& owner) {
            return owner.first == &node || (!node.machine.empty() && owner.first->machine == node.machine);
          });
          if (!is_known) list.emplace_back(&node, one.name);
        }
  std::map<std::vector<std::string>, std::pair<Finding, std::vector<std::string>>> findings;
  for (const auto& [address, list] : owners) {
    if (list.size() < 2) continue;
    std::vector<std::string> who;
    for (const auto& [node, name] : list) who.push_back(fmt::format("{} on {}", printable_line(name, 40), node->host));
    auto& [finding, addresses] = findings[who];
    addresses.push_back(address);
    if (addresses.size() > 1) continue;
    for (const auto& [node, name] : list) finding.culprits.push_back(interface_culprit(*node, name));
    finding.remedy = "give each node an address of its own: replies go to either of them";
  }
  for (auto& [who, one] : findings) {
    one.first.reason = fmt::format("{} have the same address {}", human_list(who, 4), human_list(one.second, 4));
    judging.find(std::move(one.first));
  }
}

}  // namespace

void judge_names(Judging& judging) {
  if (judging.nodes.size() < 2) return;
  judge_lacking(judging);
  const Map usual = usual_places(judging);
  for (const NodeView& node : judging.nodes) {
    const auto swapped = swapped_on(node, usual);
    if (swapped.empty()) continue;
    Finding finding;
    std::vector<std::string> clauses;
    for (const std::string& name : swapped) {
      finding.culprits.push_back(interface_culprit(node, name));
      judging.explained.insert({node.host, name});
      clauses.push_back(fmt::format("{} is {} instead of {}", name, places_on(node).at(name), usual.at(name)));
    }
    finding.reason = printable_line(
        fmt::format("the names of NICs on {} are not those of other nodes: {}", node.host, human_list(clauses, 4)));
    finding.remedy =
        "give NICs names by their PCI address (udev rule, systemd link file); until then bind ranks by address, not by "
        "name";
    judging.find(std::move(finding));
  }
}

void judge_addresses(Judging& judging) {
  judge_twins(judging);
  if (judging.nodes.size() < 2) return;
  const bool is_compared_by_network = judging.view.params.text("subnets") == "same";
  for (const std::string& name : all_names(judging)) {
    judge_addressless(judging, name);
    if (is_compared_by_network) judge_networks(judging, name);
    const Question question = ask(judging, name, "MTU",
                                  "set the same MTU on all nodes and switches: large messages get lost or are cut into "
                                  "pieces where it is smaller",
                                  mtu_of);
    if (auto finding = outlier_finding(question)) judging.find(std::move(*finding));
  }
}

}  // namespace muster::network
