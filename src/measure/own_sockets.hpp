/// Bytes through the TCP connections of the calling process, as the kernel counts them for each connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster::p2p {

/// Acknowledged and received bytes of all TCP connections that this process has open (`tcpi_bytes_acked`,
/// `tcpi_bytes_received` of TCP_INFO, linux/tcp.h; since Linux 4.1). Empty: the kernel does not count them, or the list
/// of descriptors cannot be read. Connections of other processes are never included.
[[nodiscard]] std::optional<double> own_socket_bytes();

struct OwnConnection {
  std::string local;  ///< address, as text; an IPv4 address that IPv6 maps as such
  std::string remote;
  double bytes = 0;
};
/// Those of this process one by one; none where the kernel does not count.
[[nodiscard]] std::vector<OwnConnection> own_connections();

}  // namespace muster::p2p
