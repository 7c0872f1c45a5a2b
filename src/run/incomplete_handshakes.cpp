#include "run/incomplete_handshakes.hpp"

#include <ifaddrs.h>
#include <limits>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "run/listening_ports.hpp"

namespace muster {

namespace {

constexpr std::size_t most_listed = 4096;

bool is_of_one_machine(const std::string& host) {
  return host.empty() || host.starts_with("127.") || host == "::1" || host.starts_with("fe80:") ||
         host.starts_with("169.254.");
}

}  // namespace

std::vector<std::string> own_hosts() {
  std::vector<std::string> hosts;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return hosts;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    const void* address = nullptr;
    if (family == AF_INET) address = &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr;
    if (family == AF_INET6) address = &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    if (const std::string host = address == nullptr ? "" : host_text(family, address); !is_of_one_machine(host))
      hosts.push_back(host);
  }
  freeifaddrs(list);
  return hosts;
}

IncompleteHandshakes find_incomplete_handshakes(const std::vector<TcpConnection>& connections,
                                                const std::vector<std::string>& hosts,
                                                const std::set<std::string>& inodes, const std::set<int>& ports,
                                                bool (*is_foreign)(unsigned user)) {
  IncompleteHandshakes found{hosts, {}, {}, {}};
  const auto is_own = [&](const std::string& host) { return is_of_one_machine(host) || is_in(host, hosts); };
  for (const TcpConnection& one : connections) {
    if (is_own(one.remote.host)) continue;
    const bool is_of_the_launch = ports.count(one.local.port) > 0 && inodes.count(std::to_string(one.inode)) > 0;
    const bool has_half = one.received > 0 && one.unread == 0 && one.segments_out == 0;
    const bool is_unanswered = one.segments_out > 0 && one.segments_in == 0;
    if (is_of_the_launch && has_half && found.received.size() < most_listed)
      found.received.push_back({one.remote, one.local, one.user});
    if (!is_unanswered || !is_foreign(one.user)) continue;
    if (found.sent.size() < most_listed)
      found.sent.push_back({one.local, one.remote, one.user});
    else if (!found.one_of_too_many)
      found.one_of_too_many = one.user;
  }
  return found;
}

IncompleteHandshakes incomplete_handshakes_of(const std::vector<TcpConnection>& connections,
                                              const std::set<std::string>& inodes) {
  const std::set<int> ports = inodes.empty() ? std::set<int>() : listening_ports(::getpid(), inodes);
  return find_incomplete_handshakes(connections, own_hosts(), inodes, ports, is_other_user);
}

namespace {

/// Who has which address, and who sent what from there.
class Senders {
 public:
  explicit Senders(const std::map<std::string, IncompleteHandshakes>& nodes) {
    for (const auto& [name, listed] : nodes) {
      for (const std::string& host : listed.hosts) node_of_[host] = {name, listed.one_of_too_many};
      for (const IncompleteHandshake& sent : listed.sent) users_[{sent.from, sent.to}] = sent.user;
    }
  }
  /// nullopt: a process of the launch, or it is unknown whether. `are_all_known`: other hosts are not of the launch.
  [[nodiscard]] std::optional<FarCaller> find(const IncompleteHandshake& received, bool are_all_known) const {
    const auto node = node_of_.find(received.from.host);
    FarCaller caller{received.from.host, {}, 0, {}, received.to.port};
    if (node == node_of_.end()) return are_all_known ? std::optional(caller) : std::nullopt;
    const auto user = users_.find({received.from, received.to});
    if (user == users_.end() && !node->second.one_of_too_many) return std::nullopt;
    caller.node = node->second.name;
    caller.user = user != users_.end() ? user->second : *node->second.one_of_too_many;
    return caller;
  }

 private:
  struct Node {
    std::string name;
    std::optional<unsigned> one_of_too_many;
  };
  std::map<std::string, Node> node_of_;
  std::map<std::pair<SocketAddress, SocketAddress>, unsigned> users_;
};

}  // namespace

std::optional<FarCaller> find_far_caller(const std::map<std::string, IncompleteHandshakes>& nodes, bool are_all_known) {
  const Senders senders(nodes);
  for (const auto& [called, listed] : nodes)
    for (const IncompleteHandshake& received : listed.received) {
      auto caller = senders.find(received, are_all_known);
      if (!caller) continue;
      caller->called = called;
      return caller;
    }
  return std::nullopt;
}

// JSON ---------------------------------------------------------------------------------------------------------

namespace {

using nlohmann::json;

json to_json(const std::vector<IncompleteHandshake>& handshakes) {
  json array = json::array();
  for (const auto& [from, to, user] : handshakes) array.push_back({from.host, from.port, to.host, to.port, user});
  return array;
}

std::string host_in(const json& value) {
  return printable_line(value.get<std::string>(), 60);
}

// nlohmann would take a fraction, or a number out of range, for some integer.
std::uint32_t number_in(const json& value, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    throw std::invalid_argument("incomplete_handshakes has a number out of range");
  return value.get<std::uint32_t>();
}

SocketAddress address_in(const json& host, const json& port) {
  return {host_in(host), static_cast<int>(number_in(port, 65535))};
}

std::vector<IncompleteHandshake> handshakes_in(const json& array) {
  std::vector<IncompleteHandshake> found;
  for (const json& one : array.get<std::vector<json>>())
    found.push_back({address_in(one.at(0), one.at(1)), address_in(one.at(2), one.at(3)),
                     number_in(one.at(4), std::numeric_limits<std::uint32_t>::max())});
  return found;
}

}  // namespace

json to_json(const IncompleteHandshakes& handshakes) {
  json object{
      {"hosts", handshakes.hosts}, {"received", to_json(handshakes.received)}, {"sent", to_json(handshakes.sent)}};
  if (handshakes.one_of_too_many) object["one_of_too_many"] = *handshakes.one_of_too_many;
  return object;
}

IncompleteHandshakes incomplete_handshakes_from_json(const json& object) {
  IncompleteHandshakes handshakes;
  for (const json& host : object.at("hosts").get<std::vector<json>>()) handshakes.hosts.push_back(host_in(host));
  handshakes.received = handshakes_in(object.at("received"));
  handshakes.sent = handshakes_in(object.at("sent"));
  if (const auto one = object.find("one_of_too_many"); one != object.end())
    handshakes.one_of_too_many = number_in(*one, std::numeric_limits<std::uint32_t>::max());
  return handshakes;
}

}  // namespace muster
