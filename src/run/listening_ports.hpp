/// Whether other processes keep a launcher from listening: any user can connect to its ports.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace muster {

/// A listening port of the process with so many connections that those of ranks may be lost among them.
struct OverloadedPort {
  int port = 0;
  std::size_t connections = 0;
  friend bool operator==(const OverloadedPort&, const OverloadedPort&) = default;
};

/// Of the text of /proc/net/tcp: among the listening sockets `inodes` the one with the most connections, those that
/// wait to be accepted included, if they are more than `most`.
[[nodiscard]] std::optional<OverloadedPort> parse_overloaded_port(std::string_view tcp,
                                                                  const std::set<std::string>& inodes,
                                                                  std::size_t most);
/// A connection of another user of this node to a listening port of the process. A launcher that reads handshakes one
/// after the other waits for the rest of an incomplete one.
struct ForeignCaller {
  int port = 0;
  unsigned user = 0;
  friend bool operator==(const ForeignCaller&, const ForeignCaller&) = default;
};

/// Of the text of /proc/net/tcp. `is_foreign`: by number of the user.
[[nodiscard]] std::optional<ForeignCaller> parse_foreign_caller(std::string_view tcp,
                                                                const std::set<std::string>& inodes,
                                                                bool (*is_foreign)(uid_t user));
/// Of any of these processes of this node; of those in one network the tables are read once.
[[nodiscard]] std::optional<ForeignCaller> find_foreign_caller(const std::vector<int>& pids);
/// Whether a command line names one of the ports, as those of a launcher's daemons do: `tcp://10.78.1.1:41753`,
/// `--control-port nid001:41753`. Pure.
[[nodiscard]] bool has_any_port(std::string_view command_line, const std::set<int>& ports);
/// Its own command line does; false where it is gone. With `hosts`: in an argument with one of these names or
/// addresses.
[[nodiscard]] bool is_called_with(int pid, const std::set<int>& ports);
[[nodiscard]] bool is_called_with(int pid, const std::vector<std::string>& hosts, const std::set<int>& ports);
/// Of these, those at which nothing listens on this node.
[[nodiscard]] std::set<int> free_ports(std::set<int> ports);
/// Inodes of its sockets.
[[nodiscard]] std::set<std::string> sockets_of(int pid);
/// Where it is not this process's, its ports are those of another one.
[[nodiscard]] bool has_network_of_this_node(int pid);
/// As that of another node that shares processes with this one. False where this user may not see it.
[[nodiscard]] bool has_another_network(int pid);
/// TCP ports at which the process listens.
[[nodiscard]] std::set<int> listening_ports(int pid);
/// TCP ports of these sockets that listen, in the network of the process. Reads its tables once, which can be long.
[[nodiscard]] std::set<int> listening_ports(int pid, const std::set<std::string>& inodes);

/// As parse_overloaded_port(), of a process of this node. A launcher has a connection for each node and for each rank
/// of its own node.
[[nodiscard]] std::optional<OverloadedPort> find_overloaded_port(int pid, std::size_t most);

}  // namespace muster
