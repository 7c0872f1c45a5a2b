// What variables choose of the interfaces and adapters, and where NCCL would start on its own.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "probes/network_interfaces/node_view.hpp"
#include "probes/network_interfaces/selection.hpp"

namespace muster::network {

namespace {

using Names = std::vector<std::string>;

/// What of a node a variable may choose: all there are, and those that work.
struct Choice {
  Names all;
  Names usable;
};

Choice choice_on(const NodeView& node, const Variable& variable) {
  Choice choice;
  const auto add = [](Names& names, const std::string& name) {
    if (!is_in(name, names)) names.push_back(name);
  };
  if (variable.names_interfaces)
    for (const Interface& one : node.interfaces) {
      add(choice.all, one.name);
      if (one.is_up && !one.addresses.empty()) add(choice.usable, one.name);
    }
  if (variable.names_adapters)
    for (const Device& nic : node.inventory.devices)
      for (const NetPort& port : nic.ports) {
        if (port.name.find('/') == port.name.npos) continue;
        add(choice.all, adapter_of(port.name));
        if (is_active(port)) add(choice.usable, adapter_of(port.name));
      }
  return choice;
}

std::string in_quotes(std::string_view text) {
  return fmt::format("\"{}\"", printable_line(text, 80));
}

/// Ranks of one node that have one value.
struct Group {
  const NodeView* node;
  std::string value;
  std::vector<const RankPlace*> ranks;
};

std::vector<Group> groups_of(const Judging& judging, std::string_view variable) {
  std::vector<Group> groups;
  const auto found = judging.settings.find(variable);
  if (found == judging.settings.end()) return groups;
  for (const Setting& one : found->second) {
    const auto node = std::find_if(judging.nodes.begin(), judging.nodes.end(),
                                   [&](const NodeView& view) { return view.index == one.place->node_index; });
    if (node == judging.nodes.end()) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.node == &*node && group.value == one.value;
    });
    if (same == groups.end())
      groups.push_back({&*node, one.value, {one.place}});
    else
      same->ranks.push_back(one.place);
  }
  return groups;
}

class Reader {
 public:
  Reader(Judging& judging, const Variable& variable) : judging_(judging), variable_(variable) {
    for (const NodeView& node : judging.nodes) choices_[&node] = choice_on(node, variable);
  }

  void judge() {
    for (const Group& group : groups_of(judging_, variable_.name)) judge_group(group);
    announce();
  }

 private:
  /// Nodes with the same thing wrong.
  struct Wrong {
    std::vector<std::string> hosts;
    std::vector<Culprit> culprits;
    std::string remedy;
  };

  void judge_group(const Group& group) {
    const Selection selection = parse_selection(variable_.grammar, group.value);
    if (selection.names.empty() || group.value.find_first_of("*[") != std::string::npos) return;
    const Choice& choice = choices_[group.node];
    const Names picked = chosen(selection, choice.usable);
    if (selection.is_exclusion) {
      if (variable_.name == "NCCL_SOCKET_IFNAME" && is_in("lo", picked) && judging_.view.ranks.back().node_index > 0)
        leaves_loopback_.insert(group.value);
      if (picked.empty() && !choice.all.empty()) add(group, "leaves no network device that is up");
      return;
    }
    bool is_explained = false;
    Names down;
    Names lacking;
    for (const std::string& entry : selection.names) {
      if (has_match(selection, entry, choice.usable)) continue;
      // Also a name that the node lacks: the finding about it has named it.
      if (explains(*group.node, selection, entry)) {
        is_explained = true;
        continue;
      }
      if (has_match(selection, entry, choice.all))
        down.push_back(entry);
      else
        lacking.push_back(entry);
    }
    if (picked.empty() && is_explained) return;
    if (picked.empty()) return add(group, nothing_chosen(group));
    if (!down.empty()) return add(group, fmt::format("names {}, which is not up on", list(down)), true);
    judge_lacking(group, selection, lacking);
  }

  void judge_lacking(const Group& group, const Selection& selection, const Names& lacking) {
    Names odd;
    for (const std::string& entry : lacking) {
      const bool is_anywhere = std::any_of(choices_.begin(), choices_.end(), [&](const auto& other) {
        return has_match(selection, entry, other.second.all);
      });
      const bool is_short = judging_.short_of_nics.count(group.node->host) != 0;
      if (variable_.grammar == Grammar::exact || (is_anywhere && !is_short))
        odd.push_back(entry);
      else if (!is_anywhere)
        idle_.insert(entry);
    }
    if (!odd.empty()) add(group, fmt::format("names {}, which does not exist on", list(odd)), true);
  }

  bool has_match(const Selection& selection, const std::string& entry, const Names& names) const {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return matches(selection, entry, name); });
  }

  bool explains(const NodeView& node, const Selection& selection, const std::string& entry) const {
    return std::any_of(judging_.explained.begin(), judging_.explained.end(), [&](const auto& pair) {
      return pair.first == node.host && matches(selection, entry, pair.second);
    });
  }

  std::string nothing_chosen(const Group& group) const {
    const Choice& choice = choices_.at(group.node);
    const std::string what = variable_.names_interfaces ? "network interface" : "RDMA device";
    return fmt::format("chooses no {} that is up: {} has {}", what, group.node->host,
                       choice.usable.empty() ? "none" : list(choice.usable));
  }

  static std::string list(const Names& names) { return printable_line(human_list(names, 8), 200); }

  /// `is_of_host`: the sentence goes on with the node.
  void add(const Group& group, const std::string& what, bool is_of_host = false) {
    Wrong& wrong = wrongs_[{fmt::format("{} is {}", variable_.name, in_quotes(group.value)), what, is_of_host}];
    wrong.hosts.push_back(group.node->host);
    const int rank = group.ranks.size() == 1 && group.ranks[0]->local_size > 1 ? group.ranks[0]->rank : -1;
    wrong.culprits.push_back({CulpritKind::setting, std::string(variable_.name), group.node->host, rank});
  }

  void announce() {
    for (auto& [key, wrong] : wrongs_) {
      const auto& [setting, what, is_of_host] = key;
      Finding finding;
      const std::string hosts = human_list(wrong.hosts, 4);
      finding.reason = is_of_host ? fmt::format("{} and {} {}", setting, what, hosts)
                                  : fmt::format("{} on {} and {}", setting, hosts, what);
      finding.culprits = std::move(wrong.culprits);
      finding.remedy = remedy();
      judging_.find(std::move(finding));
    }
    if (!idle_.empty())
      judging_.note(
          fmt::format("{} names {}, which exists on no node", variable_.name, list(Names(idle_.begin(), idle_.end()))));
    if (!leaves_loopback_.empty())
      judging_.note(fmt::format("{}={} permits NCCL to start on lo: exclude it as well (^lo,...)", variable_.name,
                                printable_line(*leaves_loopback_.begin(), 60)));
  }

  std::string remedy() const {
    if (variable_.names_interfaces && !variable_.names_adapters)
      return fmt::format("export {} with interfaces that are up on every node (ip -br addr), or unset it",
                         variable_.name);
    return fmt::format("export {} with devices whose ports are active on every node (ibstat, ucx_info -d), or unset it",
                       variable_.name);
  }

  Judging& judging_;
  const Variable& variable_;
  std::map<const NodeView*, Choice> choices_;
  std::map<std::tuple<std::string, std::string, bool>, Wrong> wrongs_;
  std::set<std::string> idle_;
  std::set<std::string> leaves_loopback_;
};

bool is_slingshot(const NodeView& node) {
  return std::any_of(node.interfaces.begin(), node.interfaces.end(),
                     [](const Interface& one) { return one.name.rfind("hsn", 0) == 0; });
}

/// In the order in which NCCL looks at them: those of InfiniBand, then all but containers' and loopback.
std::vector<const Interface*> candidates_on(const NodeView& node) {
  std::vector<const Interface*> found;
  for (const bool is_infiniband : {true, false}) {
    for (const Interface& one : node.interfaces)
      if (one.is_up && !is_private(one) && !routed_addresses(one).empty() &&
          (one.name.rfind("ib", 0) == 0) == is_infiniband)
        found.push_back(&one);
  }
  return found;
}

std::string first_network(const Interface& interface) {
  return network_of(routed_addresses(interface).front());
}

/// An interface that every node has in one and the same network; of those the fastest kind. Empty: none.
std::string common_interface(const Judging& judging) {
  std::map<std::pair<std::string, std::string>, std::size_t> nodes_with;
  Names order;
  for (const NodeView& node : judging.nodes)
    for (const Interface* one : candidates_on(node)) {
      if (++nodes_with[{one->name, first_network(*one)}] == judging.nodes.size()) order.push_back(one->name);
    }
  const auto fabric = std::find_if(order.begin(), order.end(), [](const std::string& name) {
    return name.rfind("hsn", 0) == 0 || name.rfind("ib", 0) == 0;
  });
  return fabric != order.end() ? *fabric : order.empty() ? std::string() : order.front();
}

/// Nodes without the variable would start on networks that don't meet.
void judge_start(Judging& judging) {
  std::map<std::string, Names> starts;
  bool has_choice = false;
  for (const NodeView& node : judging.nodes) {
    const auto candidates = candidates_on(node);
    if (candidates.empty()) return;
    has_choice = has_choice || candidates.size() > 1;
    const Interface& first = *candidates.front();
    starts[fmt::format("{} ({})", printable_line(first.name, 40), first_network(first))].push_back(node.host);
  }
  std::set<std::string> networks;
  for (const NodeView& node : judging.nodes) networks.insert(first_network(*candidates_on(node).front()));
  if (!has_choice || networks.size() < 2) return;
  Names clauses;
  for (const auto& [start, hosts] : starts) clauses.push_back(fmt::format("{} on {}", start, human_list(hosts, 4)));
  const std::string common = common_interface(judging);
  judging.note(fmt::format("NCCL_SOCKET_IFNAME is not set, and NCCL would start on different networks: {}; {}",
                           human_list(clauses, 4),
                           common.empty() ? "no interface is in one network on all nodes"
                                          : fmt::format("export NCCL_SOCKET_IFNAME={}", common)));
}

void judge_unset(Judging& judging) {
  if (judging.nodes.size() < 2 || judging.settings.count("NCCL_SOCKET_IFNAME") != 0) return;
  if (!std::any_of(judging.nodes.begin(), judging.nodes.end(), is_slingshot)) return judge_start(judging);
  Names fabric;
  for (const Interface& one : judging.nodes.front().interfaces)
    if (one.name.rfind("hsn", 0) == 0) fabric.push_back(printable_line(one.name, 20));
  judging.note(
      fmt::format("NCCL_SOCKET_IFNAME is not set: NCCL and RCCL may start on a network that does not reach all "
                  "nodes; export NCCL_SOCKET_IFNAME={}, or hsn0 alone if that hangs",
                  fabric.empty() ? "hsn0" : join(fabric, ",")));
}

}  // namespace

void judge_selections(Judging& judging) {
  for (const Variable& variable : variables) Reader(judging, variable).judge();
  judge_unset(judging);
}

}  // namespace muster::network
