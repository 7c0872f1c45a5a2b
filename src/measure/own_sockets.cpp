#include "measure/own_sockets.hpp"

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <system_error>

namespace muster::p2p {

namespace {

/// Length of what a kernel fills in that counts both directions.
constexpr socklen_t both_counted = offsetof(tcp_info, tcpi_bytes_received) + sizeof(tcp_info::tcpi_bytes_received);

/// Of one descriptor; 0 for anything but a TCP connection, empty where the kernel has no count.
std::optional<double> connection_bytes(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  if (size < both_counted) return std::nullopt;
  return static_cast<double>(info.tcpi_bytes_acked) + static_cast<double>(info.tcpi_bytes_received);
}

}  // namespace

std::optional<double> own_socket_bytes() {
  double sum = 0;
  std::error_code problem;
  std::filesystem::directory_iterator entry("/proc/self/fd", problem);
  for (const std::filesystem::directory_iterator end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    int descriptor = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), descriptor).ec != std::errc()) continue;
    const auto bytes = connection_bytes(descriptor);
    if (!bytes) return std::nullopt;
    sum += *bytes;
  }
  if (problem) return std::nullopt;
  return sum;
}

}  // namespace muster::p2p
