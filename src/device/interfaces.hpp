/// Network interfaces and their addresses, and the errors that ports count. Below a root folder, as all readers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/machine.hpp"

namespace muster {

struct IpAddress {
  std::string text;  ///< `10.0.0.5`, `2001:db8::5`
  int prefix = 0;    ///< bits of the network; 0: unknown
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};
/// `10.0.0.0/24`; empty where address or prefix are none.
[[nodiscard]] std::string network_of(const IpAddress& address);
/// Of one machine or link alone, and the same on others: 127.0.0.0/8, ::1, 169.254.0.0/16, fe80::/10.
[[nodiscard]] bool is_local(std::string_view address);

struct Interface {
  std::string name;
  int index = 0;       ///< the kernel's number, in which order it names them; 0: unknown
  bool is_up = false;  ///< can carry traffic now
  std::string state;   ///< of the link: `up`, `down`, `lowerlayerdown`, ...; empty: unknown
  int mtu = 0;         ///< 0: unknown
  int kind = 0;        ///< ARPHRD: 1 Ethernet, 32 InfiniBand, 772 loopback; 0: unknown
  std::string behind;  ///< PCI address of its device; empty: none (a bond, a container's)
  std::vector<IpAddress> addresses;
  friend bool operator==(const Interface&, const Interface&) = default;
};

/// In the kernel's order. Addresses of this machine's own network come from getifaddrs, those of a simulated machine
/// from its description, those of another root folder from its /proc/net.
[[nodiscard]] std::vector<Interface> read_interfaces(const fs::path& root);
/// One line, and back; nullopt: it is none.
[[nodiscard]] std::string to_text(const Interface& interface);
[[nodiscard]] std::optional<Interface> parse_interface(std::string_view text);

/// An address from some source.
struct ListedAddress {
  std::string interface;
  IpAddress address;   ///< empty text: an interface without one
  bool is_up = false;  ///< of the interface
  friend bool operator==(const ListedAddress&, const ListedAddress&) = default;
};
/// Of this process's network, by getifaddrs; interfaces without address, too.
[[nodiscard]] std::vector<ListedAddress> addresses_here();
/// /proc/net/fib_trie knows which IPv4 addresses are the machine's own, /proc/net/route in which interface's network
/// each is. Only addresses of interfaces that are up are there.
[[nodiscard]] std::vector<ListedAddress> parse_addresses(std::string_view fib_trie, std::string_view route);
/// /proc/net/if_inet6.
[[nodiscard]] std::vector<ListedAddress> parse_addresses6(std::string_view if_inet6);

/// What a port has counted since its driver was loaded: (`mlx5_0/1`, `link_downed`) -> 2. Only counters of a bad link;
/// those of interfaces only where a device is behind them.
using PortErrors = std::map<std::pair<std::string, std::string>, std::uint64_t>;
[[nodiscard]] PortErrors read_port_errors(const fs::path& root);

}  // namespace muster
