#include "measure/network_limit.hpp"

#include <algorithm>

#include "system/this_machine.hpp"

namespace muster::p2p {

namespace {

bool is_up(const NetPort& port) {
  return port.state == "ACTIVE" || port.state == "up";
}

}  // namespace

double network_rate(const Inventory& node) {
  constexpr double gigabytes = 0.125;  // of a Gbit
  double sum = 0;
  for (const Device& device : node.devices) {
    if (device.kind != DeviceKind::nic) continue;
    for (const NetPort& port : device.ports) {
      if (!is_up(port)) continue;
      if (port.rate <= 0) return 0;
      sum += port.rate * gigabytes;
    }
  }
  return sum;
}

bool are_apart(const Spot& a, const Spot& b) {
  return a.node != b.node && a.kernel != 0 && b.kernel != 0 && a.kernel != b.kernel;
}

double own_network_rate(const std::vector<Spot>& spots, std::size_t self) {
  const bool has_others =
      std::any_of(spots.begin(), spots.end(), [&](const Spot& one) { return are_apart(one, spots[self]); });
  if (!has_others) return 0;
  const auto inventory = read_inventory(root_of("/"));
  return inventory ? network_rate(*inventory) : 0;
}

double across_machines(double links, double network, bool end_in_node) {
  if (!end_in_node || network <= 0) return links;
  return links > 0 ? std::min(links, network) : network;
}

double network_limit_of_all(const std::vector<Spot>& spots, std::size_t self) {
  const bool are_all = std::all_of(spots.begin(), spots.end(), [&](const Spot& one) {
    return one.node == spots[self].node || are_apart(one, spots[self]);
  });
  return are_all ? own_network_rate(spots, self) : 0;
}

}  // namespace muster::p2p
