/// The network reported by one node, and the texts that all findings about it share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/interfaces.hpp"
#include "device/inventory.hpp"
#include "muster/probe.hpp"

namespace muster::network {

/// A counter of a port: what it stood at, and by how much it grew during the case.
struct Counted {
  std::string port;
  std::string counter;
  std::uint64_t stands = 0;
  std::uint64_t grew = 0;
};
template <class Io>
void fields(Io& io, Counted& fact) {
  io(fact.port);
  io(fact.counter);
  io(fact.stands);
  io(fact.grew);
}

struct NodeView {
  std::string host;
  int index = 0;
  std::string machine;  ///< the same for two host names of one machine
  Inventory inventory;  ///< NICs alone
  std::vector<Interface> interfaces;
  std::vector<Counted> counted;
};

/// A variable of one rank.
struct Setting {
  const RankPlace* place;
  std::string value;
};

/// All that the judges share, and what they have found.
struct Judging {
  const CaseView& view;
  std::vector<NodeView> nodes;
  std::map<std::string, std::vector<Setting>, std::less<>> settings;  ///< by variable
  ProbeJudgement judgement;
  std::set<std::pair<std::string, std::string>> explained;  ///< (host, port or interface): its absence has a cause
  std::set<std::string> short_of_nics;                      ///< hosts with such a finding

  void find(Finding finding) { judgement.findings.push_back(std::move(finding)); }
  void note(std::string sentence);
  [[nodiscard]] bool is_explained(const std::string& host, const std::string& name) const {
    return explained.count({host, name}) != 0;
  }
};

/// One view for each node, from its first rank; what can't be understood is a finding.
void read_case(Judging& judging);

[[nodiscard]] Culprit culprit_of(const NodeView& node);
[[nodiscard]] Culprit culprit_of(const NodeView& node, const Device& nic);
/// `NIC mlx5_0 (0000:15:00.0) on nid001`.
[[nodiscard]] std::string subject(const NodeView& node, const Device& nic);
[[nodiscard]] Finding about(const NodeView& node, const Device& nic, std::string reason, std::string remedy);
/// Interfaces, adapters and ports of this device: `hsn0`; `mlx5_0`, `mlx5_0/1`, `ib0`.
[[nodiscard]] std::vector<std::string> names_of(const NodeView& node, const Device& nic);
/// Whether the profile's NICs are like this one; without a pattern all are.
[[nodiscard]] bool is_promised(const CaseView& view, const NodeView& node, const Device& nic);
[[nodiscard]] bool is_active(const NetPort& port);
[[nodiscard]] std::string adapter_of(std::string_view port);
/// Loopback, containers' bridges, tunnels: each node has its own, and they may be alike.
[[nodiscard]] bool is_private(const Interface& interface);
/// Addresses that others can reach.
[[nodiscard]] std::vector<IpAddress> routed_addresses(const Interface& interface);
[[nodiscard]] const Interface* find_interface(const NodeView& node, std::string_view name);

// In the order in which they are called, so that causes come before their consequences.
void judge_nics(Judging& judging);
void judge_ports(Judging& judging);
void judge_errors(Judging& judging);
void judge_names(Judging& judging);
void judge_addresses(Judging& judging);
void judge_selections(Judging& judging);

}  // namespace muster::network
