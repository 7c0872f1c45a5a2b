// IP addresses: of this process's network, and from /proc/net.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "device/interfaces.hpp"

namespace muster {

namespace {

struct Bits {
  std::array<unsigned char, 16> bytes{};
  int family = AF_UNSPEC;
  [[nodiscard]] std::size_t size() const { return family == AF_INET ? 4 : 16; }
};

std::optional<Bits> bits_of(std::string_view text) {
  const std::string copy(text);
  Bits bits;
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, copy.c_str(), bits.bytes.data()) != 1) continue;
    bits.family = family;
    return bits;
  }
  return std::nullopt;
}

std::string text_of(const Bits& bits) {
  char text[INET6_ADDRSTRLEN] = {};
  return ::inet_ntop(bits.family, bits.bytes.data(), text, sizeof text) == nullptr ? std::string() : std::string(text);
}

/// An address of the kernel's; its length follows from the family.
Bits bits_of(const sockaddr* address) {
  Bits bits;
  if (address == nullptr) return bits;
  bits.family = address->sa_family;
  if (bits.family == AF_INET)
    std::memcpy(bits.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
  else if (bits.family == AF_INET6)
    std::memcpy(bits.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
  else
    bits.family = AF_UNSPEC;
  return bits;
}

int prefix_of(const Bits& mask) {
  int prefix = 0;
  for (std::size_t i = 0; mask.family != AF_UNSPEC && i < mask.size(); ++i)
    prefix += std::popcount(static_cast<unsigned>(mask.bytes[i]));
  return prefix;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string spaced(line);
  std::replace(spaced.begin(), spaced.end(), '\t', ' ');
  for (std::string& word : split(spaced, ' '))
    if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::optional<std::uint32_t> hex_of(std::string_view text) {
  return parse_number<std::uint32_t>(text, 16);
}

/// /proc/net/route prints the bytes of the network as a number of a little-endian machine.
std::uint32_t host_order(std::uint32_t reported) {
  return reported >> 24 | (reported >> 8 & 0xff00) | (reported << 8 & 0xff0000) | reported << 24;
}

struct Route {
  std::string interface;
  std::uint32_t network = 0;
  std::uint32_t mask = 0;
};

/// Networks that an interface is in itself: those without a gateway.
std::vector<Route> parse_routes(std::string_view text) {
  std::vector<Route> routes;
  for (const std::string_view line : lines(text)) {
    const auto words = words_of(line);
    if (words.size() < 8) continue;
    const auto network = hex_of(words[1]);
    const auto gateway = hex_of(words[2]);
    const auto mask = hex_of(words[7]);
    if (network && mask && *mask != 0 && gateway == 0u)
      routes.push_back({words[0], host_order(*network), host_order(*mask)});
  }
  return routes;
}

std::vector<std::uint32_t> local_addresses(std::string_view fib_trie) {
  std::vector<std::uint32_t> found;
  std::optional<std::uint32_t> last;
  for (const std::string_view line : lines(fib_trie)) {
    const std::string_view rest = trim(line);
    if (rest.substr(0, 3) == "|--") {
      const auto bits = bits_of(trim(rest.substr(3)));
      last.reset();
      if (!bits || bits->family != AF_INET) continue;
      last = std::uint32_t{bits->bytes[0]} << 24 | std::uint32_t{bits->bytes[1]} << 16 |
             std::uint32_t{bits->bytes[2]} << 8 | std::uint32_t{bits->bytes[3]};
    } else if (last && rest == "/32 host LOCAL") {
      // The table is printed once for each of two views.
      if (!is_in(*last, found)) found.push_back(*last);
    }
  }
  return found;
}

std::string text_of(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 0xff, address >> 8 & 0xff, address & 0xff);
}

}  // namespace

std::string network_of(const IpAddress& address) {
  auto bits = bits_of(address.text);
  if (!bits || address.prefix <= 0 || address.prefix > static_cast<int>(bits->size() * 8)) return {};
  for (std::size_t i = 0; i < bits->size(); ++i) {
    const int kept = std::clamp(address.prefix - static_cast<int>(i) * 8, 0, 8);
    bits->bytes[i] = static_cast<unsigned char>(bits->bytes[i] & (0xff00 >> kept));
  }
  return fmt::format("{}/{}", text_of(*bits), address.prefix);
}

bool is_local(std::string_view address) {
  const auto bits = bits_of(address);
  if (!bits) return false;
  const auto& bytes = bits->bytes;
  if (bits->family == AF_INET) return bytes[0] == 127 || (bytes[0] == 169 && bytes[1] == 254);
  return address == "::1" || (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80);
}

std::vector<ListedAddress> addresses_here() {
  std::vector<ListedAddress> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const Bits bits = bits_of(one->ifa_addr);
    // An IPv4 address may have a label, `eth0:1`, which stands in the place of the name; no name has a colon.
    const std::string_view label = one->ifa_name;
    ListedAddress reported{printable_line(label.substr(0, label.find(':')), 60), {}, (one->ifa_flags & IFF_UP) != 0};
    if (bits.family != AF_UNSPEC) reported.address = {text_of(bits), prefix_of(bits_of(one->ifa_netmask))};
    found.push_back(std::move(reported));
  }
  ::freeifaddrs(all);
  return found;
}

std::vector<ListedAddress> parse_addresses(std::string_view fib_trie, std::string_view route) {
  const std::vector<Route> routes = parse_routes(route);
  std::vector<ListedAddress> found;
  for (const std::uint32_t address : local_addresses(fib_trie)) {
    if (address >> 24 == 127) {
      found.push_back({"lo", {text_of(address), 8}, true});
      continue;
    }
    const Route* best = nullptr;
    for (const Route& one : routes)
      if ((address & one.mask) == one.network && (best == nullptr || one.mask > best->mask)) best = &one;
    if (best != nullptr) found.push_back({best->interface, {text_of(address), std::popcount(best->mask)}, true});
  }
  return found;
}

std::vector<ListedAddress> parse_addresses6(std::string_view if_inet6) {
  std::vector<ListedAddress> found;
  for (const std::string_view line : lines(if_inet6)) {
    const auto words = words_of(line);
    if (words.size() != 6 || words[0].size() != 32) continue;
    Bits bits;
    bits.family = AF_INET6;
    bool is_hex = true;
    for (std::size_t i = 0; i < 16; ++i) {
      const auto byte = hex_of(std::string_view(words[0]).substr(2 * i, 2));
      is_hex = is_hex && byte.has_value();
      bits.bytes[i] = static_cast<unsigned char>(byte.value_or(0));
    }
    const auto prefix = hex_of(words[2]);
    if (is_hex && prefix && *prefix <= 128)
      found.push_back({words[5], {text_of(bits), static_cast<int>(*prefix)}, true});
  }
  return found;
}

}  // namespace muster
