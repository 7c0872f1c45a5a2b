/// What the network of a node can carry at most.
#pragma once

#include <vector>

#include "device/inventory.hpp"
#include "measure/link_class.hpp"

namespace muster::p2p {

/// GB/s in one direction of all ports of network devices that are up, together; 0: there is none, or one does not
/// report its rate. Pure.
[[nodiscard]] double network_rate(const Inventory& node);

/// Surely on two machines: nodes may be containers of one, and their messages go through its memory. Pure.
[[nodiscard]] bool are_apart(const Spot& a, const Spot& b);

/// The rate of this node where a spot of another machine is among `spots`, else 0. Reads files of the node.
[[nodiscard]] double own_network_rate(const std::vector<Spot>& spots, std::size_t self);

/// The lower of two maxima between GPUs of two machines, of which each may be unknown (0): their links, and the
/// network. `end_in_node`: the links reach no other machine; otherwise the network is one way of several. Pure.
[[nodiscard]] double across_machines(double links, double network, bool end_in_node);

/// GB/s that a rank's part of a sum over all ranks can't exceed, where all other nodes are other machines: what a node
/// brings has to leave it once. 0: not so, or not known.
[[nodiscard]] double network_limit_of_all(const std::vector<Spot>& spots, std::size_t self);

}  // namespace muster::p2p
