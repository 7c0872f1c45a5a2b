/// NCCL's and RCCL's log of their connections: the lines that NCCL_DEBUG=INFO makes them write. Reading is pure; who
/// collects is collectives.cpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Between two ranks of the communicator.
struct Connection {
  int from = -1;
  int to = -1;
  std::string way;
  friend auto operator<=>(const Connection&, const Connection&) = default;
};

/// Counted from one rank's lines. Empty without lines: then nothing is known.
struct Connections {
  /// By way, without numbers of devices: `P2P/CUMEM`, `P2P/IPC`, `SHM`, `NET/IB/GDRDMA`, `NET/Socket`.
  std::map<std::string, int> ways;
  std::set<Connection> between;
  std::string network;   ///< of `Using network IB`; empty: not given
  std::string provider;  ///< of libfabric, where that is the network: `cxi`, `efa`, `tcp`
  std::string plugin;    ///< of `Using aws-ofi-rccl 1.4.0`: name and version; empty: not given
  friend bool operator==(const Connections&, const Connections&) = default;
};

[[nodiscard]] Connections read_connections(std::string_view log);
/// `2 P2P/CUMEM, 1 NET/IB/GDRDMA (network IB)`; `unknown`.
[[nodiscard]] std::string describe(const Connections& connections);
/// Data between nodes goes through libfabric by another provider than Slingshot's, though the node has a device of it
/// among `ports` (`cxi0`).
[[nodiscard]] bool misses_slingshot(const Connections& connections, const std::vector<std::string>& ports);
/// `NET/Socket`: the kernel's sockets carry what a fabric could.
[[nodiscard]] bool is_socket(std::string_view way);

}  // namespace muster
