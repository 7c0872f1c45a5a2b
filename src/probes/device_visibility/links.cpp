// PCIe links, and the ports of NICs.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "base/text.hpp"
#include "probes/device_visibility/node_view.hpp"

namespace muster::visibility {

namespace {

constexpr std::string_view remedy_link =
    "power-cycle the node; if the link stays so, have the card or its riser reseated, then replaced";

/// Ports of at least this belong to the fabric that jobs use; a slower one without a cable may be unused.
constexpr double fabric_rate = 40;

std::string lanes(const PciLink& link) {
  return fmt::format("PCIe x{} where both ends can do x{}", link.width, link.width_able);
}

/// Only NICs: a GPU lowers the speed of its link when it is idle.
bool is_slow(const Device& device, const PciLink& link) {
  return device.kind == DeviceKind::nic && link.speed > 0 && link.speed < link.speed_able;
}

/// A port with its place; like ports are the same one of the same model.
struct Place {
  const NodeView* node;
  const Device* device;
  const NetPort* port;
  std::size_t index;  ///< among the ports of its device

  [[nodiscard]] auto like() const {
    return std::tuple(device->vendor_id, device->device_id, device->address.function, index, port->layer);
  }
  [[nodiscard]] bool is_on_card_of(const Place& other) const {
    const PciAddress& a = device->address;
    const PciAddress& b = other.device->address;
    return node == other.node && std::tie(a.domain, a.bus, a.device) == std::tie(b.domain, b.bus, b.device);
  }
};

bool is_active(const NetPort& port) {
  return port.state == "ACTIVE" || port.state == "up";
}

std::vector<Place> places_of(const Nodes& nodes) {
  std::vector<Place> places;
  for (const NodeView& node : nodes)
    for (const Device& device : node.inventory.devices)
      for (std::size_t i = 0; i < device.ports.size(); ++i) places.push_back({&node, &device, &device.ports[i], i});
  return places;
}

/// Whether somebody would miss this port.
bool is_missed(const Place& down, const std::vector<Place>& all) {
  const auto is_like_and_up = [&](const Place& one) { return one.like() == down.like() && is_active(*one.port); };
  const auto is_fabric_like = [&](const Place& one) { return is_like_and_up(one) && one.port->rate >= fabric_rate; };
  if (down.port->layer != "InfiniBand") return std::any_of(all.begin(), all.end(), is_fabric_like);
  // Trained, but nobody made it active: never by choice.
  if (down.port->phys_state == "LinkUp") return true;
  if (std::any_of(all.begin(), all.end(), is_like_and_up)) return true;
  // The second port of a card that nobody uses anywhere.
  return std::none_of(all.begin(), all.end(),
                      [&](const Place& one) { return one.is_on_card_of(down) && is_active(*one.port); });
}

std::string remedy_for(const NetPort& port) {
  if (port.layer == "InfiniBand" && port.phys_state == "LinkUp")
    return "see whether the subnet manager runs and reaches this port (sminfo, ibdiagnet)";
  if (port.phys_state == "Disabled") return "enable the port (ibportstate), or on the switch";
  return "check the cable and the switch port at its other end; drain the node while it is down";
}

Finding down_finding(const Place& place) {
  const NetPort& port = *place.port;
  const std::string phys = port.phys_state.empty() ? "" : fmt::format(", link {}", port.phys_state);
  const std::string reason = fmt::format("port {} of {} is {}{}", port.name, subject(*place.node, {place.device}),
                                         port.state.empty() ? "in no known state" : port.state, phys);
  return about(*place.node, {place.device}, printable_line(reason), remedy_for(port));
}

using Likes =
    std::map<std::tuple<std::string, std::string, std::uint32_t, std::size_t, std::string>, std::vector<const Place*>>;

/// The rate that most of them have; of two as frequent, the higher.
double usual_rate(const std::vector<const Place*>& likes) {
  std::map<double, int> votes;
  for (const Place* place : likes) ++votes[place->port->rate];
  return std::max_element(
             votes.begin(), votes.end(),
             [](const auto& a, const auto& b) { return std::pair(a.second, a.first) < std::pair(b.second, b.first); })
      ->first;
}

void judge_rates(const Likes& likes, Findings& findings) {
  for (const auto& [like, places] : likes) {
    const double usual = usual_rate(places);
    for (const Place* place : places)
      if (place->port->rate < usual)
        findings.push_back(about(
            *place->node, {place->device},
            fmt::format("port {} of {} runs at {} Gbit/s, others like it at {}", printable_line(place->port->name, 40),
                        subject(*place->node, {place->device}), place->port->rate, usual),
            "check the cable and the switch port at its other end: lanes that did not train, or a "
            "setting"));
  }
}

/// Bound to the driver that shows ports of others like it, but with none: nobody can use it.
void judge_portless(const Nodes& nodes, const std::vector<Place>& places, Findings& findings) {
  for (const NodeView& node : nodes)
    for (const Device* nic : devices_of(node, DeviceKind::nic)) {
      if (!nic->ports.empty() || nic->is_lost || nic->driver.empty()) continue;
      const bool is_missed = std::any_of(places.begin(), places.end(), [&](const Place& place) {
        const Device& other = *place.device;
        return std::tie(other.vendor_id, other.device_id, other.driver, other.address.function) ==
               std::tie(nic->vendor_id, nic->device_id, nic->driver, nic->address.function);
      });
      if (!is_missed) continue;
      findings.push_back(
          about(node, {nic},
                fmt::format("{} is bound to {} but shows no port, others like it do", subject(node, {nic}),
                            printable_line(nic->driver, 40)),
                fmt::format(
                    "see in the kernel log of {} why the driver gave it no port (dmesg: {}); drain the node until then",
                    node.host, printable_line(nic->driver, 40))));
    }
}

}  // namespace

void judge_links(const NodeView& node, Findings& findings) {
  // A switch's link is on the way of several devices; it is told once, with all of them.
  std::map<PciAddress, std::pair<PciLink, std::vector<const Device*>>> narrow;
  for (const Device& device : node.inventory.devices) {
    for (const PciLink& link : device.links)
      if (link.width > 0 && link.width < link.width_able) {
        auto& [seen, above] = narrow[link.at];
        seen = link;
        above.push_back(&device);
      }
    if (!device.links.empty() && device.links[0].width >= device.links[0].width_able &&
        is_slow(device, device.links[0]))
      findings.push_back(about(node, {&device},
                               fmt::format("{} has a link of {} GT/s where both ends can do {}",
                                           subject(node, {&device}), device.links[0].speed, device.links[0].speed_able),
                               std::string(remedy_link)));
  }
  for (const auto& [at, one] : narrow) {
    const auto& [link, devices] = one;
    const bool is_own = devices.size() == 1 && devices[0]->address == at;
    const std::string where = is_own ? "" : fmt::format(" at bridge {}", to_string(at));
    findings.push_back(about(
        node, devices,
        fmt::format("{} {} {}{}", subject(node, devices), devices.size() == 1 ? "has" : "have", lanes(link), where),
        std::string(remedy_link)));
  }
}

void judge_ports(const Nodes& nodes, Findings& findings) {
  const std::vector<Place> places = places_of(nodes);
  Likes likes;
  for (const Place& place : places) {
    if (is_active(*place.port)) {
      if (place.port->rate > 0) likes[place.like()].push_back(&place);
    } else if (is_missed(place, places)) {
      findings.push_back(down_finding(place));
    }
  }
  judge_portless(nodes, places, findings);
  judge_rates(likes, findings);
}

}  // namespace muster::visibility
