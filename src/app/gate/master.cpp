#include "app/gate/master.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/per_node.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

bool is_address(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == text.npos;
}

/// Names of hosts have no case.
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// `nid004` of `nid004:29500`.
std::string without_port(const std::string& value) {
  const auto colon = value.find(':');
  const bool is_one = colon != value.npos && value.find(':', colon + 1) == value.npos;
  return is_one && value.find_first_not_of("0123456789", colon + 1) == value.npos ? value.substr(0, colon) : value;
}

/// The node that the value names, with or without a port; nullopt: none of them.
std::optional<std::string> node_named(const std::string& given, const std::vector<std::string>& nodes,
                                      std::vector<std::string> (*addresses_of)(const std::string&)) {
  const std::string value = lower(without_port(given));
  for (const auto& node : nodes)
    if (is_same_node(lower(node), value) || value.starts_with(lower(node) + "-")) return node;
  if (!is_address(value)) return std::nullopt;
  for (const auto& node : nodes)
    if (is_in(value, addresses_of(node))) return node;
  return std::nullopt;
}

bool is_this_machine(const std::string& value) {
  return value == "localhost" || value.starts_with("127.");
}

}  // namespace

Result<GateMaster> choose_master(const MasterAsked& asked, const std::vector<std::string>& nodes,
                                 const std::vector<std::string>& chosen,
                                 std::vector<std::string> (*addresses_of)(const std::string& name)) {
  if (!asked.set || asked.set->empty()) return asked.stays ? GateMaster{} : GateMaster{chosen.front(), ""};
  const auto node = node_named(*asked.set, nodes, addresses_of);
  // torch.distributed takes no port here.
  const bool has_port = without_port(*asked.set) != *asked.set;
  if (node && is_in(*node, chosen) && (asked.stays || !has_port)) return GateMaster{};
  if (nodes.size() == 1 && is_this_machine(*asked.set)) return GateMaster{};
  const auto shown = printable_line(*asked.set, 100);
  if (asked.stays) {
    if (node)
      return fail(ErrorKind::usage, "--no-master",
                  fmt::format("MASTER_ADDR={} names {}, which the gate did not choose; leave --no-master out, so that "
                              "it is set to {}",
                              shown, *node, chosen.front()));
    return fail(ErrorKind::usage, "--no-master",
                fmt::format("MASTER_ADDR={} names no node of the gate; leave --no-master out, so that it is set to {}, "
                            "or set another address behind --: env MASTER_ADDR={} COMMAND",
                            shown, chosen.front(), shown));
  }
  return GateMaster{chosen.front(), fmt::format("MASTER_ADDR is {}, not {}{}", chosen.front(), shown,
                                                !node                   ? ", which names no chosen node"
                                                : !is_in(*node, chosen) ? ", which was not chosen"
                                                                        : ": the port is for MASTER_PORT")};
}

namespace {

std::string numeric(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> text{};
  const bool is_known = ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  return is_known ? text.data() : "";
}

/// Of all interfaces: a name resolves to one of them only.
void add_own_addresses(std::vector<std::string>& found) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next)
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET)
      found.push_back(numeric(one->ifa_addr, sizeof(sockaddr_in)));
  ::freeifaddrs(list);
}

}  // namespace

std::vector<std::string> resolved_addresses(const std::string& name) {
  std::vector<std::string> found;
  if (is_same_node(name, host_name())) add_own_addresses(found);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) return found;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next)
    found.push_back(numeric(one->ai_addr, one->ai_addrlen));
  ::freeaddrinfo(list);
  return found;
}

}  // namespace muster
