/// TCP connections of this node, as the kernel lists and counts them (sock_diag).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace muster {

struct SocketAddress {
  std::string host;  ///< `10.77.1.3`, `2001:db8::3`; IPv4 also where it was mapped into IPv6
  int port = 0;
  friend auto operator<=>(const SocketAddress&, const SocketAddress&) = default;
};

/// `2001:db8::3`; IPv4 addresses also where they are mapped into IPv6. `address`: in_addr or in6_addr.
[[nodiscard]] std::string host_text(int family, const void* address);

/// An established TCP connection, or one that only the other side has closed, as the kernel lists it.
struct TcpConnection {
  SocketAddress local;
  SocketAddress remote;
  unsigned user = 0;
  std::uint64_t inode = 0;         ///< 0: not accepted yet
  std::uint64_t unread = 0;        ///< bytes
  std::uint64_t received = 0;      ///< bytes
  std::uint64_t segments_in = 0;   ///< with data
  std::uint64_t segments_out = 0;  ///< with data
  std::uint64_t sent = 0;          ///< segments in all, those sent again included
  std::uint64_t resent = 0;        ///< of these, lost; 0 where none had data (kernels before 4.19: less three)
  bool is_unanswered = false;      ///< something was sent that the other side has not acknowledged
  friend bool operator==(const TcpConnection&, const TcpConnection&) = default;
};

/// Of one answer of the kernel (inet_diag, with tcp_info); those that it does not count completely are left out. True:
/// more answers follow. Pure.
bool parse_connections(std::span<const std::byte> answer, std::vector<TcpConnection>& found);
/// Of this process's network. Empty: none, or the kernel does not list them.
[[nodiscard]] std::vector<TcpConnection> tcp_connections();
/// Inodes of the sockets of these processes, those in another network left out.
[[nodiscard]] std::set<std::string> sockets_in_this_network(const std::vector<int>& pids);

}  // namespace muster
