#include "measure/own_sockets.hpp"

#include <arpa/inet.h>
#include <cstddef>
#include <filesystem>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>

#include "base/number.hpp"

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

/// False: they cannot be listed.
template <class Act>
bool each_descriptor(Act act) {
  std::error_code problem;
  std::filesystem::directory_iterator entry("/proc/self/fd", problem);
  for (const std::filesystem::directory_iterator end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (const auto descriptor = leading_number<int>(name)) act(*descriptor);
  }
  return !problem;
}

/// By getsockname or getpeername; empty: neither IPv4 nor IPv6.
template <class Ask>
std::string address_by(Ask ask, int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (ask(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = {};
  const void* bytes = nullptr;
  if (address.ss_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  if (address.ss_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (bytes == nullptr || ::inet_ntop(address.ss_family, bytes, text, sizeof text) == nullptr) return {};
  const std::string_view mapped = "::ffff:";
  const std::string name = text;
  return name.rfind(mapped, 0) == 0 && name.find('.') != std::string::npos ? name.substr(mapped.size()) : name;
}

}  // namespace

std::optional<double> own_socket_bytes() {
  std::optional<double> sum = 0;
  const bool is_listed = each_descriptor([&](int descriptor) {
    const auto bytes = connection_bytes(descriptor);
    sum = sum && bytes ? std::optional(*sum + *bytes) : std::nullopt;
  });
  return is_listed ? sum : std::nullopt;
}

std::vector<OwnConnection> own_connections() {
  std::vector<OwnConnection> connections;
  each_descriptor([&](int descriptor) {
    const double bytes = connection_bytes(descriptor).value_or(0);
    if (bytes > 0)
      connections.push_back({address_by(::getsockname, descriptor), address_by(::getpeername, descriptor), bytes});
  });
  return connections;
}

}  // namespace muster::p2p
