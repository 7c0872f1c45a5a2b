#include "measure/rails.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/interfaces.hpp"
#include "measure/own_sockets.hpp"
#include "measure/transport.hpp"

namespace muster::p2p {

namespace {

constexpr std::string_view counted_word = "counted";
constexpr std::string_view near_word = "near";

double rate_of_nic(const Device& nic) {
  double rate = 0;
  for (const NetPort& port : nic.ports)
    if (port.state == "ACTIVE" || port.state == "up") rate = std::max(rate, port.rate);
  return rate;
}

/// Those that are up, the slower ones (of storage, management) left out.
std::vector<const Device*> fastest_nics(const Inventory& node) {
  double most = 0;
  for (const Device& device : node.devices)
    if (device.kind == DeviceKind::nic) most = std::max(most, rate_of_nic(device));
  std::vector<const Device*> nics;
  for (const Device& device : node.devices)
    if (device.kind == DeviceKind::nic && most > 0 && rate_of_nic(device) == most) nics.push_back(&device);
  return nics;
}

/// `mlx5_0` of its port `mlx5_0/1`.
std::string name_of_nic(const Device& nic) {
  const std::string& port = nic.ports.front().name;
  return printable_line(port.substr(0, port.find('/')), 40);
}

std::optional<double> number_of(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

double bytes_since(const std::string& nic, const BytesByNic& before, const BytesByNic& after) {
  const auto now = after.find(nic);
  const auto then = before.find(nic);
  return (now == after.end() ? 0 : now->second) - (then == before.end() ? 0 : then->second);
}

bool holds(int domain, const CpuMask& mask, const fs::path& root) {
  const auto list = read_file(root / fmt::format("sys/devices/system/node/node{}/cpulist", domain), 4096);
  if (!list) return false;
  const auto cpus = CpuMask::parse_list(trim(*list));
  return cpus && mask.intersects(*cpus) && (mask & *cpus) == mask;
}

}  // namespace

std::string to_text(const Rail& rail) {
  return fmt::format("{} {}", rail.is_counted ? counted_word : near_word, join(rail.nics, ","));
}

std::optional<Rail> parse_rail(std::string_view text) {
  const auto space = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, space);
  const auto names = trim(text.substr(space));
  if (names.empty() || (word != counted_word && word != near_word)) return std::nullopt;
  Rail rail{split(names, ','), word == counted_word};
  for (std::string& nic : rail.nics) nic = printable_line(nic, 40);
  return rail;
}

BytesByNic bytes_by_nic() {
  std::map<std::string, std::string> nic_of;
  for (const ListedAddress& listed : addresses_here()) nic_of[listed.address.text] = listed.interface;
  BytesByNic bytes;
  for (const OwnConnection& one : own_connections()) {
    const auto nic = nic_of.find(one.local);
    // Within the node the kernel takes lo, whatever the addresses.
    if (nic != nic_of.end() && nic_of.count(one.remote) == 0) bytes[nic->second] += one.bytes;
  }
  return bytes;
}

std::optional<Rail> counted_rail(const BytesByNic& before, const BytesByNic& after, double moved) {
  BytesByNic carried;
  double sum = 0;
  for (const auto& [nic, now] : after) {
    const auto then = before.find(nic);
    sum += carried[nic] = now - (then == before.end() ? 0 : then->second);
  }
  if (moved <= 0 || sum < 0.9 * moved) return std::nullopt;
  Rail rail{{}, true};
  for (const auto& [nic, bytes] : carried)
    if (bytes >= 0.9 * sum) rail.nics = {nic};
  if (!rail.nics.empty()) return rail;
  for (const auto& [nic, bytes] : carried)
    if (bytes >= 0.1 * sum) rail.nics.push_back(nic);
  return rail;
}

std::string to_text(const RailBytes& bytes) {
  return fmt::format("{:.0f} of {:.0f}", bytes.moved, bytes.shown);
}

std::optional<RailBytes> parse_rail_bytes(std::string_view text) {
  constexpr std::string_view of = " of ";
  const auto at = text.find(of);
  if (at == std::string_view::npos) return std::nullopt;
  const auto moved = number_of(text.substr(0, at));
  const auto shown = number_of(text.substr(at + of.size()));
  return moved && shown ? std::optional(RailBytes{*moved, *shown}) : std::nullopt;
}

NicBytes read_nic_bytes() {
  return {bytes_by_nic(), read_counters()};
}

std::optional<RailBytes> rail_bytes(const std::string& nic, const NicBytes& before, const NicBytes& after) {
  // An address with a label, `eth0:1`, is one of eth0.
  const std::string interface = nic.substr(0, nic.find(':'));
  if (after.counters.count(interface) == 0) return std::nullopt;
  return RailBytes{bytes_since(nic, before.by_address, after.by_address),
                   std::max(0.0, bytes_since(interface, before.counters, after.counters))};
}

std::optional<Rail> near_rail_of(std::string_view list) {
  if (list.empty()) return std::nullopt;
  constexpr std::string_view last = " and ";
  const auto names = list.substr(0, list.rfind(", "));
  Rail rail;
  for (const std::string& part : split(names, ',')) {
    const std::string_view name = trim(part);
    const auto at = name.find(last);
    rail.nics.emplace_back(name.substr(0, at));
    if (at != std::string_view::npos) rail.nics.emplace_back(name.substr(at + last.size()));
  }
  const std::string& end = rail.nics.back();
  constexpr std::string_view more = " more";
  if (end.size() > more.size() && end.substr(end.size() - more.size()) == more) return std::nullopt;
  std::sort(rail.nics.begin(), rail.nics.end());
  return rail;
}

std::optional<Rail> near_rail(const Inventory& node, const CpuMask& mask, const fs::path& root) {
  const auto nics = fastest_nics(node);
  std::set<std::string> near;
  for (const Device* nic : nics)
    if (nic->numa_node >= 0 && holds(nic->numa_node, mask, root)) near.insert(name_of_nic(*nic));
  if (near.empty() || near.size() == nics.size()) return std::nullopt;
  return Rail{{near.begin(), near.end()}, false};
}

}  // namespace muster::p2p
