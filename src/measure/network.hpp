/// Names, addresses and ports as this rank sees them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::environment {

/// Either addresses, as text without a scope, or an error in words.
struct Resolved {
  std::vector<std::string> addresses;
  std::string error;
};
/// The system's resolver, as long as it takes.
[[nodiscard]] Resolved ask_resolver(const std::string& name);
/// Asks it; returns after `seconds` at the latest, with an error, also when that hangs: the thread
/// that waits for it is then left behind.
[[nodiscard]] Resolved resolve(const std::string& name, double seconds,
                               Resolved (*ask)(const std::string&) = ask_resolver);

struct InterfaceAddress {
  std::string name;
  std::string address;  ///< empty: it has none
  friend bool operator==(const InterfaceAddress&, const InterfaceAddress&) = default;
};
/// Every address of every interface that is up, loopback too.
[[nodiscard]] std::vector<InterfaceAddress> interfaces_up();
/// `eth0=10.0.0.1,lo=127.0.0.1`, and back.
[[nodiscard]] std::string to_text(const std::vector<InterfaceAddress>& interfaces);
[[nodiscard]] std::vector<InterfaceAddress> parse_interfaces(std::string_view text);

[[nodiscard]] bool is_loopback(std::string_view address);

/// A TCP port from 1 to 65535, nothing else around it.
[[nodiscard]] std::optional<int> parse_port(std::string_view text);
/// `free`, `in use`, `lingering` (only by connections that ended a moment ago), or why it is unknown.
[[nodiscard]] std::string port_state(int port);

}  // namespace muster::environment
