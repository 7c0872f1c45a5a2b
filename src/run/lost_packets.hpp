/// Packets that the kernel had to send again, of TCP connections of ranks and their daemons: a link that loses packets
/// delays ranks at its other end as well.
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

/// All connections of a launch between two addresses, of one node.
struct PathLoss {
  std::string local;
  std::string remote;
  std::uint64_t sent = 0;    ///< segments, those that were sent again included
  std::uint64_t resent = 0;  ///< of them
  bool is_waiting = false;   ///< a connection that sent some again has sent something that is not acknowledged yet
  friend bool operator==(const PathLoss&, const PathLoss&) = default;
};

/// Of the connections with these sockets: up to 512 with most segments that were sent again, and the sum of all others
/// for each address of the node, with `others` as the other end. Pure.
[[nodiscard]] std::vector<PathLoss> losses_of(const std::vector<TcpConnection>& connections,
                                              const std::set<std::string>& inodes);

[[nodiscard]] nlohmann::json to_json(const std::vector<PathLoss>& losses);
/// Throws what nlohmann::json does, and std::invalid_argument.
[[nodiscard]] std::vector<PathLoss> path_losses_from_json(const nlohmann::json& array);

struct NodeLosses {
  std::string node;
  std::vector<std::string> hosts;  ///< addresses of the node, beside those of its paths
  std::vector<PathLoss> paths;
};

/// The one node, with its links, on whose connections segments were sent again: 8 at least, and 1 % of what was sent,
/// or 4 and 20 %; to several hosts, or to the only one it has connections to, if others have some to it. The
/// connections that do not involve it resent at most a tenth as many, at most at a fifth of its rate, and so many were
/// sent that at its rate five would have been sent again. Or, by the same counts without the last, the one link.
/// nullopt: neither, or nothing waits for an answer there. Pure.
[[nodiscard]] std::optional<Finding> explain_losses(const std::vector<NodeLosses>& nodes);

/// `4 of 13 segments were sent again` of a node's connections, where these are 3 and 10 % at least and the share of the
/// others is a fifth of that at most; else empty. It supports a finding about the node and is none: nothing has to
/// wait. Pure.
[[nodiscard]] std::string loss_words(const std::vector<NodeLosses>& nodes, const std::string& node);

}  // namespace muster
