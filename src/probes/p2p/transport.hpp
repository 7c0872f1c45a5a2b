/// Which way the bytes really took, proven by the counters of network interfaces around the timed part.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "muster/observation.hpp"
#include "probes/p2p/link_class.hpp"

namespace muster::p2p {

/// Bytes in and out so far, by interface: `eth0`, `lo`; `mlx5_0/1` for an InfiniBand or RoCE port, whose traffic no
/// interface counts.
using Traffic = std::map<std::string, double>;

/// From /proc/net/dev, which is the calling process's own network, as the interfaces below /sys may not be.
[[nodiscard]] Traffic read_traffic(const fs::path& root = "/");
/// Ports of a fabric that MPI should prefer to sockets: active InfiniBand and RoCE ports, Slingshot devices.
[[nodiscard]] std::vector<std::string> fast_ports(const fs::path& root = "/");

/// Whether a carrier is a port of a fabric rather than an interface.
[[nodiscard]] bool is_port(std::string_view carrier);

/// The carrier of `bytes` that one rank sent and received between two readings of the counters: the interface that
/// moved at least nine tenths of them, `memory` when none moved a tenth and the ranks share a node, else `unknown`.
/// Within a node only `lo` and fabric ports can be one: what goes to an address of the node itself goes through lo.
/// Traffic of other ranks of the node is counted along, which can hide a carrier but not invent `memory`.
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
