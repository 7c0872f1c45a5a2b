/// Connections on which a launcher, a daemon or a rank waits for the rest of a handshake. Any host of the network can
/// make one: Open MPI reads handshakes one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "run/tcp_connections.hpp"

namespace muster {

/// A connection of which one side has sent data, and the other none.
struct IncompleteHandshake {
  SocketAddress from;
  SocketAddress to;
  unsigned user = 0;  ///< of the socket on the node that lists it
  friend bool operator==(const IncompleteHandshake&, const IncompleteHandshake&) = default;
};

/// What a node lists of them.
struct IncompleteHandshakes {
  std::vector<std::string> hosts;             ///< addresses of the node, without those that are the same on others
  std::vector<IncompleteHandshake> received;  ///< from other hosts, by processes of the launch; nothing of it is unread
  std::vector<IncompleteHandshake> sent;      ///< to other hosts, by other users
  /// A user of those whose handshakes are left out of `sent`, of which there are too many.
  std::optional<unsigned> one_of_too_many = {};
  friend bool operator==(const IncompleteHandshakes&, const IncompleteHandshakes&) = default;
};

/// Addresses of this node, without those that are the same on others.
[[nodiscard]] std::vector<std::string> own_hosts();

/// `inodes`, `ports`: sockets of processes of the launch, and ports at which they listen. `is_foreign`: by number of
/// the user. At most 4,096 of each kind. Pure.
[[nodiscard]] IncompleteHandshakes find_incomplete_handshakes(const std::vector<TcpConnection>& connections,
                                                              const std::vector<std::string>& hosts,
                                                              const std::set<std::string>& inodes,
                                                              const std::set<int>& ports,
                                                              bool (*is_foreign)(unsigned user));
/// Of this node, where processes of the launch have these sockets.
[[nodiscard]] IncompleteHandshakes incomplete_handshakes_of(const std::vector<TcpConnection>& connections,
                                                            const std::set<std::string>& inodes);

/// Who made a launch wait.
struct FarCaller {
  std::string host;    ///< address from which it called
  std::string node;    ///< that has the address; empty: none of the launch
  unsigned user = 0;   ///< where `node` is known
  std::string called;  ///< node; empty: the driver's
  int port = 0;        ///< there
  friend bool operator==(const FarCaller&, const FarCaller&) = default;
};

/// What nodes list, by their names; empty: the driver's. `are_all_known`: the launch has no other nodes. A connection
/// from a node of the launch counts only where that node lists it as another user's, or has
/// too many of other users to list them all. Pure.
[[nodiscard]] std::optional<FarCaller> find_far_caller(const std::map<std::string, IncompleteHandshakes>& nodes,
                                                       bool are_all_known);

[[nodiscard]] nlohmann::json to_json(const IncompleteHandshakes& handshakes);
/// Throws a std::exception that names the fault.
[[nodiscard]] IncompleteHandshakes incomplete_handshakes_from_json(const nlohmann::json& json);

}  // namespace muster
