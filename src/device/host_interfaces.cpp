// Interfaces as /sys/class/net shows them, with their addresses; error counters of ports.
#include <algorithm>
#include <fmt/format.h>
#include <net/if.h>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "device/interfaces.hpp"
#include "device/parse.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

// Counters of a link that is bad. Left out: what a busy receiver drops, and what a packet's sender did wrong.
constexpr const char* infiniband_errors[] = {
    "symbol_error",    "link_error_recovery",         "link_downed",
    "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors"};
constexpr const char* interface_errors[] = {"statistics/rx_errors", "statistics/tx_errors", "statistics/rx_crc_errors",
                                            "statistics/tx_carrier_errors", "carrier_down_count"};
/// Prefix of a description's addresses without one.
constexpr int described_prefix = 16;

int number_of(std::string_view text) {
  return parse_number_from(text, 0).value_or(0);
}

IpAddress parse_ip(std::string_view text, int otherwise) {
  const auto slash = text.find('/');
  return {std::string(text.substr(0, slash)), slash == text.npos ? otherwise : number_of(text.substr(slash + 1))};
}

std::vector<ListedAddress> described_addresses() {
  std::vector<ListedAddress> found;
  for (const SimulatedInterface& one : this_machine().interfaces)
    if (!one.inet.empty()) found.push_back({one.name, parse_ip(one.inet, described_prefix), one.is_up});
  found.push_back({"lo", {"127.0.0.1", 8}, true});
  return found;
}

bool is_of_this_kernel(const fs::path& root) {
  return root == "/" && this_machine().simulated.empty();
}

std::vector<ListedAddress> addresses_of(const fs::path& root, const Machine& machine) {
  if (!this_machine().simulated.empty() && root == this_machine().root) return described_addresses();
  if (is_of_this_kernel(root)) return addresses_here();
  auto found = parse_addresses(machine.text("proc/net/fib_trie"), machine.text("proc/net/route"));
  for (ListedAddress& one : parse_addresses6(machine.text("proc/net/if_inet6"))) found.push_back(std::move(one));
  return found;
}

/// Of `unknown` (loopback, tunnels) only the flags show whether it carries anything.
bool is_up_by(const std::string& state, const std::string& flags, bool otherwise) {
  if (state == "up") return true;
  if (!state.empty() && state != "unknown") return false;
  const auto bits = flags.starts_with("0x") ? parse_number<unsigned>(flags.substr(2), 16) : std::nullopt;
  return bits ? (*bits & 1) != 0 : otherwise;
}

void read_entry(const Machine& machine, Interface& one) {
  const std::string entry = "sys/class/net/" + one.name;
  if (!machine.has(entry)) return;
  const int index = number_of(machine.text(entry + "/ifindex"));
  // A /sys that was mounted for another network shows an interface that only has the same name.
  if (one.index != 0 && one.index != index) return;
  one.index = index;
  one.state = machine.text(entry + "/operstate");
  one.is_up = is_up_by(one.state, machine.text(entry + "/flags"), one.is_up);
  one.mtu = number_of(machine.text(entry + "/mtu"));
  one.kind = number_of(machine.text(entry + "/type"));
  if (const auto path = machine.pci_path(entry + "/device"); !path.empty()) one.behind = to_string(path[0]);
}

void add_error(const Machine& machine, const std::string& file, const std::string& port, PortErrors& errors) {
  const auto count = parse_number<std::uint64_t>(machine.text(file));
  if (count) errors[{port, file.substr(file.rfind('/') + 1)}] = *count;
}

}  // namespace

std::vector<Interface> read_interfaces(const fs::path& root) {
  const Machine machine(root);
  std::vector<Interface> found;
  const auto named = [&](const std::string& name) -> Interface& {
    const auto at = std::find_if(found.begin(), found.end(), [&](const Interface& one) { return one.name == name; });
    if (at != found.end()) return *at;
    found.emplace_back();
    found.back().name = name;
    return found.back();
  };
  const bool is_own = is_of_this_kernel(root);
  for (const std::string& name : is_own ? std::vector<std::string>() : machine.names("sys/class/net"))
    if (machine.has("sys/class/net/" + name + "/type") || machine.has("sys/class/net/" + name + "/operstate"))
      named(name);
  for (const ListedAddress& reported : addresses_of(root, machine)) {
    Interface& one = named(reported.interface);
    one.is_up = one.is_up || reported.is_up;
    const auto& have = one.addresses;
    if (!reported.address.text.empty() && !is_in(reported.address, have)) one.addresses.push_back(reported.address);
  }
  for (Interface& one : found) {
    if (is_own) one.index = static_cast<int>(::if_nametoindex(one.name.c_str()));
    read_entry(machine, one);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Interface& a, const Interface& b) { return a.index < b.index; });
  return found;
}

std::string to_text(const Interface& interface) {
  const auto word = [](std::string_view text) {
    std::string line = printable_line(text, 60);
    for (char& letter : line)
      if (letter == ';' || letter == ' ') letter = '_';
    return line;
  };
  std::string line = word(interface.name);
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty() && value != "0") line += fmt::format("; {} {}", key, word(value));
  };
  add("index", std::to_string(interface.index));
  add("up", interface.is_up ? "yes" : "");
  add("state", interface.state);
  add("mtu", std::to_string(interface.mtu));
  add("kind", std::to_string(interface.kind));
  add("behind", interface.behind);
  for (const IpAddress& one : interface.addresses) add("inet", fmt::format("{}/{}", one.text, one.prefix));
  return line;
}

std::optional<Interface> parse_interface(std::string_view text) {
  const auto fields = split(text, ';');
  if (fields.empty() || trim(fields[0]).empty()) return std::nullopt;
  Interface one;
  one.name = trim(fields[0]);
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::string_view field = trim(fields[i]);
    const auto space = field.find(' ');
    if (space == field.npos) return std::nullopt;
    const std::string_view key = field.substr(0, space);
    const std::string_view value = field.substr(space + 1);
    bool is_read = true;
    if (key == "index")
      is_read = read_number(value, one.index);
    else if (key == "mtu")
      is_read = read_number(value, one.mtu);
    else if (key == "kind")
      is_read = read_number(value, one.kind);
    else if (key == "up")
      one.is_up = true;
    else if (key == "state")
      one.state = value;
    else if (key == "behind")
      one.behind = value;
    else if (key == "inet")
      one.addresses.push_back(parse_ip(value, 0));
    else
      is_read = false;
    if (!is_read) return std::nullopt;
  }
  return one;
}

PortErrors read_port_errors(const fs::path& root) {
  const Machine machine(root);
  PortErrors errors;
  for (const std::string& name : machine.names("sys/class/infiniband"))
    for (const std::string& number : machine.names("sys/class/infiniband/" + name + "/ports"))
      for (const char* counter : infiniband_errors)
        add_error(machine, fmt::format("sys/class/infiniband/{}/ports/{}/counters/{}", name, number, counter),
                  fmt::format("{}/{}", name, number), errors);
  for (const std::string& name : machine.names("sys/class/net")) {
    const std::string entry = "sys/class/net/" + name;
    if (machine.pci_path(entry + "/device").empty()) continue;
    for (const char* counter : interface_errors) add_error(machine, entry + "/" + counter, name, errors);
  }
  return errors;
}

}  // namespace muster
