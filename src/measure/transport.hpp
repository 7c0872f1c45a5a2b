/// Which way the bytes really took, proven by the counters of network interfaces and of the rank's own TCP connections
/// around the timed part.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "measure/link_class.hpp"
#include "muster/observation.hpp"

namespace muster::p2p {

/// Bytes in and out so far, by interface: `eth0`, `lo`; `mlx5_0/1` for an InfiniBand or RoCE port, whose traffic no
/// interface counts.
using Counters = std::map<std::string, double>;

/// From /proc/net/dev, which is the calling process's own network, as the interfaces below /sys may not be.
[[nodiscard]] Counters read_counters(const fs::path& root = "/");

struct Traffic {
  Counters interfaces;            ///< of the node: all processes
  std::optional<double> sockets;  ///< of this process alone (own_socket_bytes); empty: not counted by this kernel
};

[[nodiscard]] Traffic read_traffic();
/// Ports of a fabric that MPI should prefer to sockets: active InfiniBand and RoCE ports, Slingshot devices.
[[nodiscard]] std::vector<std::string> fast_ports(const fs::path& root = "/");

/// Whether a carrier is a port of a fabric rather than an interface.
[[nodiscard]] bool is_port(std::string_view carrier);

/// The carrier of `bytes` that one rank sent and received between two readings of the counters: the interface that
/// moved at least nine tenths of them, `memory` when none moved a tenth and the ranks share a node, else `unknown`.
/// Within a node only `lo` and fabric ports can be one: what goes to an address of the node itself goes through lo.
/// Interfaces count the traffic of all processes. So an interface is the carrier only where the connections of this
/// process moved nine tenths of the bytes, and none where they moved less than a tenth (if the kernel counts
/// them). Ports of a fabric have no such proof: traffic of other ranks of the node is counted along.
[[nodiscard]] std::string carrier_of(LinkClass link, const Traffic& before, const Traffic& after, double bytes);

/// Adds up what each link class was carried by.
class Carriers {
 public:
  void add(LinkClass link, const std::string& carrier, double bytes);
  /// `transport` -> `cache memory 12.3 GB`, one per class and carrier.
  [[nodiscard]] std::vector<Fact> facts() const;

 private:
  std::map<std::pair<LinkClass, std::string>, double> bytes_;
};

}  // namespace muster::p2p
