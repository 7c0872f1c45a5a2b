// The part of data_network.hpp that touches the network: addresses of this machine, calls, and the question to all
// nodes.
#include <arpa/inet.h>
#include <cerrno>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "run/data_network.hpp"

namespace muster {

namespace {

constexpr std::uint16_t silent_port = 9;  // discard: nothing listens there, and what refuses is there
constexpr double calls_s = 1.3;           // of a call, with one repetition of a lost packet after 1 s
constexpr double answer_s = 5;

std::string text_of(const sockaddr* address) {
  char text[INET_ADDRSTRLEN] = {};
  const auto* of = reinterpret_cast<const sockaddr_in*>(address);
  return inet_ntop(AF_INET, &of->sin_addr, text, sizeof text) == nullptr ? "" : text;
}

int prefix_of(const sockaddr* mask) {
  return mask == nullptr ? 0 : __builtin_popcount(reinterpret_cast<const sockaddr_in*>(mask)->sin_addr.s_addr);
}

bool fill_in(const std::string& text, std::uint16_t port, sockaddr_in& address) {
  address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return inet_pton(AF_INET, text.c_str(), &address.sin_addr) == 1;
}

/// A socket on its way; -1: the call has its result.
int begin_call(NetworkCall& call) {
  sockaddr_in from{};
  sockaddr_in to{};
  if (!fill_in(call.from, 0, from) || !fill_in(call.to, silent_port, to)) return -1;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0) {
    const int done = ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (done != 0 && errno == EINPROGRESS) return socket;
    call.is_answered = done == 0 || errno == ECONNREFUSED;
  }
  ::close(socket);
  return -1;
}

void end_call(int socket, NetworkCall& call) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0)
    call.is_answered = error == 0 || error == ECONNREFUSED || error == ECONNRESET;
}

}  // namespace

std::vector<NetworkPlace> network_places() {
  std::vector<NetworkPlace> places;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return places;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    const std::string address = text_of(entry->ifa_addr);
    if (address.empty() || address.starts_with("127.") || address.starts_with("169.254.")) continue;
    const bool is_up = (entry->ifa_flags & IFF_UP) != 0;
    const char* state = !is_up ? "down" : (entry->ifa_flags & IFF_RUNNING) == 0 ? "no carrier" : "";
    const std::string_view label = entry->ifa_name;  // `eth0:1` of eth0
    places.push_back(
        {printable_line(label.substr(0, label.find(':')), 60), address, prefix_of(entry->ifa_netmask), state});
  }
  freeifaddrs(list);
  return places;
}

void make_calls(std::vector<NetworkCall>& calls) {
  std::vector<pollfd> open(calls.size());
  std::size_t left = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    open[i] = {begin_call(calls[i]), POLLOUT, 0};
    if (open[i].fd >= 0) ++left;
  }
  const double until = monotonic_seconds() + calls_s;
  while (left > 0) {
    const auto left_ms = static_cast<int>((until - monotonic_seconds()) * 1e3);
    if (left_ms <= 0) break;
    ::poll(open.data(), open.size(), left_ms);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      end_call(open[i].fd, calls[i]);
      ::close(open[i].fd);
      open[i].fd = -1;
      --left;
    }
  }
  for (const pollfd& one : open)
    if (one.fd >= 0) ::close(one.fd);
}

namespace {

nlohmann::json answer_in(const NodeAnswer& answer) {
  return nlohmann::json::parse(answer.answered ? last_object(answer.out) : "", nullptr, false);
}

std::vector<NetworkCall> calls_in(const nlohmann::json& json) {
  std::vector<NetworkCall> calls;
  if (!json.is_object() || !json.contains("calls") || !json["calls"].is_array()) return calls;
  for (const auto& one : json["calls"])
    if (one.is_object() && one.value("from", nlohmann::json()).is_string() &&
        one.value("to", nlohmann::json()).is_string())
      calls.push_back({one["from"].get<std::string>(), one["to"].get<std::string>(),
                       one.value("answered", nlohmann::json()) == true});
  return calls;
}

}  // namespace

std::vector<LostNode> look_at_networks(Loop& loop, const RemoteExec& reach, const NetworkChoice& choice,
                                       std::vector<NodePlaces> places) {
  if (places.size() < 2) return {};
  keep_chosen(choice, places);
  Argv words{"network"};
  for (const auto& network : shared_networks(places)) words.push_back("--among=" + compress_hostlist(network));
  if (words.size() == 1) return {};
  for (const NetworkPlace& place : network_places()) words.push_back("--driver=" + place.address);
  std::vector<std::string> asked;
  for (const NodePlaces& one : places) asked.push_back(one.node);
  std::vector<NetworkCall> calls;
  for (const auto& answer : ask_nodes(loop, reach, asked, words, calls_s + answer_s, calls_s + 1.5)) {
    auto of_node = calls_in(answer_in(answer));
    keep_own_calls(places, answer.node, of_node);
    calls.insert(calls.end(), of_node.begin(), of_node.end());
  }
  std::vector<LostNode> lost;
  for (const CutOffNode& one : find_cut_off(places, calls)) lost.push_back(lost_to_network(one));
  return lost;
}

}  // namespace muster
