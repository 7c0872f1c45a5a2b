#include "measure/network.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "device/interfaces.hpp"
#include "system/this_machine.hpp"

namespace muster::environment {

namespace {

std::string address_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr || ::inet_ntop(address->sa_family, bytes, text, sizeof text) == nullptr) return {};
  return text;
}

/// Shared with a thread that may outlive the question.
struct Lookup {
  std::mutex mutex;
  std::condition_variable answered;
  bool is_answered = false;
  Resolved resolved;
};

/// 0 or the error of taking the port on every address of one family. `reuse`: beside connections that have ended.
int try_port(int family, int port, bool reuse) {
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  const int on = 1;
  if (reuse) (void)::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int status = 0;
  if (family == AF_INET6) {
    (void)::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    status = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&any), sizeof any);
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<std::uint16_t>(port));
    status = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&any), sizeof any);
  }
  // Two sockets may be bound with reuse; only one may listen.
  if (status == 0 && reuse) status = ::listen(descriptor, 1);
  const int error = status == 0 ? 0 : errno;
  ::close(descriptor);
  return error;
}

}  // namespace

Resolved ask_resolver(const std::string& name) {
  Resolved resolved;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
  if (error != 0) {
    resolved.error = error == EAI_SYSTEM ? std::generic_category().message(errno) : ::gai_strerror(error);
    return resolved;
  }
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    std::string text = address_text(one->ai_addr);
    auto& all = resolved.addresses;
    if (!text.empty() && !is_in(text, all)) all.push_back(std::move(text));
  }
  ::freeaddrinfo(found);
  if (resolved.addresses.empty()) resolved.error = "no address of a known kind";
  return resolved;
}

Resolved resolve(const std::string& name, double seconds, Resolved (*ask)(const std::string&)) {
  auto question = std::make_shared<Lookup>();
  try {
    std::thread([question, name, ask] {
      Resolved resolved = ask(name);
      const std::lock_guard lock(question->mutex);
      question->resolved = std::move(resolved);
      question->is_answered = true;
      question->answered.notify_all();
    }).detach();
  } catch (const std::system_error& refused) {
    return {{}, fmt::format("no thread to ask with: {}", refused.what())};
  }
  std::unique_lock lock(question->mutex);
  if (question->answered.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return question->is_answered; }))
    return question->resolved;
  return {{}, fmt::format("the resolver gave no answer within {} s", seconds)};
}

std::vector<InterfaceAddress> interfaces_up() {
  std::vector<InterfaceAddress> found;
  if (!this_machine().simulated.empty()) {
    for (const auto& [name, inet, is_up] : this_machine().interfaces)
      if (is_up) found.push_back({printable_line(name), printable_line(inet.substr(0, inet.find('/')))});
    found.push_back({"lo", "127.0.0.1"});
    // Names of nodes resolve to addresses of the real network, over which ranks talk.
    for (const ListedAddress& reported : addresses_here())
      if (reported.is_up && !is_loopback(reported.address.text))
        found.push_back({reported.interface, reported.address.text});
    return found;
  }
  for (const ListedAddress& reported : addresses_here())
    if (reported.is_up) found.push_back({reported.interface, reported.address.text});
  std::sort(found.begin(), found.end(), [](const InterfaceAddress& a, const InterfaceAddress& b) {
    return std::tie(a.name, a.address) < std::tie(b.name, b.address);
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string to_text(const std::vector<InterfaceAddress>& interfaces) {
  std::vector<std::string> words;
  for (const InterfaceAddress& one : interfaces) words.push_back(one.name + "=" + one.address);
  return join(words, ",");
}

std::vector<InterfaceAddress> parse_interfaces(std::string_view text) {
  std::vector<InterfaceAddress> interfaces;
  for (const std::string& word : split(text, ',')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    interfaces.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return interfaces;
}

bool is_loopback(std::string_view address) {
  return address == "::1" || address.substr(0, 4) == "127.";
}

std::optional<int> parse_port(std::string_view text) {
  return parse_number_from(text, 1, 65535);
}

std::string port_state(int port) {
  for (const int family : {AF_INET6, AF_INET}) {
    const int error = try_port(family, port, false);
    if (error == 0 || error == EAFNOSUPPORT || error == EADDRNOTAVAIL) continue;
    if (error != EADDRINUSE) return std::generic_category().message(error);
    return try_port(family, port, true) == 0 ? "lingering" : "in use";
  }
  return "free";
}

}  // namespace muster::environment
