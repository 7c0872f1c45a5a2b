/// Packets that the kernel had to send again, of TCP connections of ranks: a link that loses packets delays ranks at
/// its other end as well.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/record.hpp"
#include "run/tcp_connections.hpp"

namespace muster {

/// All connections of a node's ranks between two addresses.
struct PathLoss {
  std::string local;
  std::string remote;
  std::uint64_t sent = 0;    ///< segments, those that were sent again included
  std::uint64_t resent = 0;  ///< of them
  friend bool operator==(const PathLoss&, const PathLoss&) = default;
};

/// Of the connections with these sockets in which something sent is not acknowledged yet: what was lost before, nothing
/// waits for. Up to three segments of each that were sent again are those of its opening. Pure.
[[nodiscard]] std::vector<PathLoss> losses_of(const std::vector<TcpConnection>& connections,
                                              const std::set<std::string>& inodes);

[[nodiscard]] nlohmann::json to_json(const std::vector<PathLoss>& losses);
/// Throws what nlohmann::json does, and std::invalid_argument.
[[nodiscard]] std::vector<PathLoss> path_losses_from_json(const nlohmann::json& array);

struct NodeLosses {
  std::string node;
  std::vector<PathLoss> paths;
};

/// The one node with which all lossy connections begin or end, of at least two others, with its links; or the link,
/// where there is one pair of nodes. A connection is lossy where at least 10 segments, and 10 %, were sent again.
/// nullopt: there are none, or several nodes have some without it. Pure.
[[nodiscard]] std::optional<Finding> explain_losses(const std::vector<NodeLosses>& nodes);

}  // namespace muster
