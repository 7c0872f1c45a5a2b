// NICs: on the bus, with a driver, as many as promised, alike on all nodes.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/number.hpp"
#include "base/text.hpp"
#include "probes/network_interfaces/node_view.hpp"
#include "stats/outliers.hpp"

namespace muster::network {

namespace {

bool is_idle(const Device& nic) {
  return !nic.is_lost && nic.driver.empty() && nic.is_seen_by("pci");
}

void judge_broken(Judging& judging, const NodeView& node) {
  for (const Device& nic : node.inventory.devices) {
    if (nic.is_lost || is_idle(nic)) judging.short_of_nics.insert(node.host);  // its interfaces are gone with it
    if (nic.is_lost)
      judging.find(about(
          node, nic, fmt::format("{} has fallen off the bus: PCI configuration space reads 0xffff", subject(node, nic)),
          fmt::format("drain {} and power-cycle it; if the card comes back, look for the cause in its "
                      "kernel log (PCIe errors), else have it reseated or replaced",
                      node.host)));
    else if (is_idle(nic))
      judging.find(about(node, nic, fmt::format("{} has no driver bound", subject(node, nic)),
                         fmt::format("load the driver on {}; see dmesg there for the reason", node.host)));
  }
}

/// `hsn` and 2 of `hsn2`.
std::optional<std::pair<std::string, int>> numbered(const std::string& name) {
  const auto end = name.find_last_not_of("0123456789") + 1;
  const auto number = parse_number_from(std::string_view(name).substr(end), 0, 4096);
  if (end == 0 || !number) return std::nullopt;
  return std::pair(name.substr(0, end), *number);
}

/// The gaps in hsn0, hsn1, hsn3, where four are counted from 0. Empty where names do not count so.
std::vector<std::string> gaps_in(const std::vector<std::string>& names, int count) {
  std::set<int> numbers;
  std::string stem;
  for (const std::string& name : names) {
    const auto parts = numbered(name);
    if (!parts || (!stem.empty() && parts->first != stem) || parts->second >= count) return {};
    stem = parts->first;
    numbers.insert(parts->second);
  }
  std::vector<std::string> gaps;
  for (int number = 0; !stem.empty() && number < count; ++number)
    if (numbers.count(number) == 0) gaps.push_back(fmt::format("{}{}", stem, number));
  return gaps;
}

/// What people call it: of a NIC with an interface that, else the adapter.
std::string short_name(const Device& nic) {
  return nic.ports.empty() ? to_string(nic.address) : printable_line(adapter_of(nic.ports.front().name), 40);
}

Finding shortfall(const std::vector<const NodeView*>& nodes, const std::vector<std::string>& names,
                  const std::vector<std::string>& missing, const NicExpectation& promised) {
  std::vector<std::string> hosts;
  Finding finding;
  for (const NodeView* node : nodes) {
    hosts.push_back(node->host);
    for (const std::string& name : missing)
      finding.culprits.push_back({CulpritKind::device, "NIC " + name, node->host, -1});
    if (missing.empty()) finding.culprits.push_back(culprit_of(*node));
  }
  const std::string there = names.empty() ? "" : fmt::format(" ({})", human_list(names));
  finding.reason = fmt::format("{}{} on {}, {} expected by the profile{}",
                               names.empty() ? "no NIC" : counted(names.size(), "NIC"), there, human_list(hosts),
                               promised.count, missing.empty() ? "" : ": " + human_list(missing) + " is missing");
  finding.remedy = names.empty()
                       ? "run on a compute node, not on a login node; in a container, see whether /sys shows its NICs"
                       : "see whether lspci shows the card on the node; drain the node and power-cycle it, then have "
                         "the card reseated or replaced";
  return finding;
}

void judge_counts(Judging& judging) {
  if (!judging.view.node.nics || judging.view.node.nics->count == 0) return;
  const NicExpectation& promised = *judging.view.node.nics;
  std::map<std::pair<std::vector<std::string>, std::vector<std::string>>, std::vector<const NodeView*>> groups;
  for (const NodeView& node : judging.nodes) {
    std::vector<std::string> names;
    std::size_t broken = 0;
    for (const Device& nic : node.inventory.devices) {
      const bool is_broken = nic.is_lost || is_idle(nic);
      broken += is_broken;
      if (!is_broken && is_promised(judging.view, node, nic)) names.push_back(short_name(nic));
    }
    std::sort(names.begin(), names.end());
    if (static_cast<int>(names.size() + broken) >= promised.count) continue;
    judging.short_of_nics.insert(node.host);
    groups[{names, gaps_in(names, promised.count)}].push_back(&node);
  }
  std::size_t short_nodes = 0;
  for (const auto& [key, nodes] : groups) short_nodes += nodes.size();
  for (const auto& [key, nodes] : groups) {
    for (const NodeView* node : nodes)
      for (const std::string& name : key.second) judging.explained.insert({node->host, name});
    Finding finding = shortfall(nodes, key.first, key.second, promised);
    // Where another node matches the profile, that node is right.
    if (short_nodes == judging.nodes.size()) soften(judging.view.node, "nics", finding);
    judging.find(std::move(finding));
  }
}

/// `4x ConnectX-7`, by ids: names depend on their source.
std::string models_on(const NodeView& node) {
  std::map<std::string, std::pair<int, std::string>> models;
  for (const Device& nic : node.inventory.devices) {
    auto& [count, name] = models[nic.vendor_id + ":" + nic.device_id];
    ++count;
    name = printable_line(model_of(nic), 60);
  }
  std::vector<std::string> texts;
  for (const auto& [ids, model] : models) texts.push_back(fmt::format("{}x {}", model.first, model.second));
  return texts.empty() ? "no NIC" : join(texts, " + ");
}

void judge_sets(Judging& judging) {
  Question question{"the set of NICs",
                    "other nodes",
                    "run on nodes that are alike; where they should be, see which card is missing or strange",
                    {}};
  for (const NodeView& node : judging.nodes)
    if (node.inventory.has_source("pci") && judging.short_of_nics.count(node.host) == 0)
      question.votes.push_back({"on " + node.host, models_on(node), culprit_of(node)});
  auto finding = outlier_finding(question);
  if (!finding) return;
  for (const Culprit& culprit : finding->culprits) judging.short_of_nics.insert(culprit.node);
  judging.find(std::move(*finding));
}

}  // namespace

void judge_nics(Judging& judging) {
  judge_counts(judging);
  for (const NodeView& node : judging.nodes) judge_broken(judging, node);
  judge_sets(judging);
}

}  // namespace muster::network
