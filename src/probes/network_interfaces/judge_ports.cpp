// Ports: up, at their rate, without new errors.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "base/text.hpp"
#include "base/units.hpp"
#include "probes/network_interfaces/node_view.hpp"

namespace muster::network {

namespace {

/// Ports of at least this (Gbit/s) belong to the fabric that jobs use; a slower one without a cable may be unused.
constexpr double fabric_rate = 40;

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
  /// RoCE: the interface of the same function has it as well.
  [[nodiscard]] bool is_reported_by_interface() const {
    return port->layer != "InfiniBand" && port->name.find('/') != std::string::npos &&
           std::any_of(device->ports.begin(), device->ports.end(), [&](const NetPort& other) {
             return other.name.find('/') == std::string::npos && !is_active(other);
           });
  }
};

std::vector<Place> places_of(const std::vector<NodeView>& nodes) {
  std::vector<Place> places;
  for (const NodeView& node : nodes)
    for (const Device& device : node.inventory.devices)
      for (std::size_t i = 0; i < device.ports.size(); ++i) places.push_back({&node, &device, &device.ports[i], i});
  return places;
}

/// Whether this port is expected to work.
bool is_missed(const Place& down, const std::vector<Place>& all) {
  const auto is_like_and_up = [&](const Place& one) { return one.like() == down.like() && is_active(*one.port); };
  const auto is_fabric_like = [&](const Place& one) { return is_like_and_up(one) && one.port->rate >= fabric_rate; };
  if (down.port->layer != "InfiniBand") return std::any_of(all.begin(), all.end(), is_fabric_like);
  // Trained, but not activated: never by choice.
  if (down.port->phys_state == "LinkUp") return true;
  if (std::any_of(all.begin(), all.end(), is_like_and_up)) return true;
  // The second port of a card that is unused everywhere.
  return std::none_of(all.begin(), all.end(),
                      [&](const Place& one) { return one.is_on_card_of(down) && is_active(*one.port); });
}

std::string remedy_for_state(const NetPort& port) {
  if (port.layer == "InfiniBand" && port.phys_state == "LinkUp")
    return "see whether the subnet manager runs and reaches this port (sminfo, ibdiagnet)";
  if (port.phys_state == "Disabled") return "enable the port (ibportstate), or on the switch";
  return "check the cable and the switch port at its other end; drain the node while it is down";
}

Finding down_finding(const Place& place) {
  const NetPort& port = *place.port;
  const std::string phys = port.phys_state.empty() ? "" : fmt::format(", link {}", port.phys_state);
  const std::string reason = fmt::format("port {} of {} is {}{}", port.name, subject(*place.node, *place.device),
                                         port.state.empty() ? "in no known state" : port.state, phys);
  return about(*place.node, *place.device, printable_line(reason), remedy_for_state(port));
}

/// The rate that most of them have; of two as frequent, the higher.
double usual_rate(const std::vector<const Place*>& likes) {
  std::map<double, int> votes;
  for (const Place* place : likes) ++votes[place->port->rate];
  return std::max_element(
             votes.begin(), votes.end(),
             [](const auto& a, const auto& b) { return std::pair(a.second, a.first) < std::pair(b.second, b.first); })
      ->first;
}

/// Less than this of what is promised is not what was promised.
constexpr double enough = 0.99;

void judge_rates(Judging& judging, const std::vector<Place>& places) {
  constexpr const char* remedy =
      "check the cable and the switch port at its other end: lanes that did not train, or a setting";
  using Like = decltype(std::declval<Place>().like());
  std::map<Like, std::vector<const Place*>> likes;
  for (const Place& place : places)
    if (is_active(*place.port) && place.port->rate > 0) likes[place.like()].push_back(&place);
  for (const auto& [like, alike] : likes) {
    const double usual = usual_rate(alike);
    for (const Place* place : alike) {
      const bool is_ours = is_promised(judging.view, *place->node, *place->device);
      const double promised = is_ours ? judging.view.node.nics->rate : 0;
      const std::string who =
          fmt::format("port {} of {}", printable_line(place->port->name, 40), subject(*place->node, *place->device));
      if (promised > 0 && place->port->rate < promised * enough) {
        Finding finding = about(
            *place->node, *place->device,
            fmt::format("{} runs at {} Gbit/s, the profile promises {}", who, place->port->rate, promised), remedy);
        // Where another one runs at the profile's rate, that one is right.
        if (usual < promised * enough) soften(judging.view.node, "nics", finding);
        judging.find(std::move(finding));
      } else if (place->port->rate < usual)
        judging.find(about(*place->node, *place->device,
                           fmt::format("{} runs at {} Gbit/s, others like it at {}", who, place->port->rate, usual),
                           remedy));
      else if (place->port->lanes == 1)
        judging.find(about(*place->node, *place->device,
                           fmt::format("{} runs on one lane, at {} Gbit/s", who, place->port->rate), remedy));
    }
  }
}

/// Bound to the driver that shows ports of others like it, but with none: it is unusable.
void judge_portless(Judging& judging, const std::vector<Place>& places) {
  for (const NodeView& node : judging.nodes)
    for (const Device& nic : node.inventory.devices) {
      if (!nic.ports.empty() || nic.is_lost || nic.driver.empty()) continue;
      const bool is_expected = std::any_of(places.begin(), places.end(), [&](const Place& place) {
        const Device& other = *place.device;
        return std::tie(other.vendor_id, other.device_id, other.driver, other.address.function) ==
               std::tie(nic.vendor_id, nic.device_id, nic.driver, nic.address.function);
      });
      if (!is_expected) continue;
      judging.short_of_nics.insert(node.host);
      const std::string driver = printable_line(nic.driver, 40);
      judging.find(about(
          node, nic, fmt::format("{} is bound to {} but shows no port, others like it do", subject(node, nic), driver),
          fmt::format(
              "see in the kernel log of {} why the driver gave it no port (dmesg: {}); drain the node until then",
              node.host, driver)));
    }
}

void explain(Judging& judging, const Place& down) {
  for (const std::string& name : names_of(*down.node, *down.device)) judging.explained.insert({down.node->host, name});
}

/// The port that a counter is of; nullptr: of none that is known.
const Place* place_of(const std::vector<Place>& places, const NodeView& node, const std::string& port) {
  const auto found = std::find_if(places.begin(), places.end(),
                                  [&](const Place& place) { return place.node == &node && place.port->name == port; });
  return found == places.end() ? nullptr : &*found;
}

bool is_of_fabric(const Judging& judging, const Place& place) {
  return place.port->layer == "InfiniBand" || place.port->rate >= fabric_rate ||
         is_promised(judging.view, *place.node, *place.device);
}

}  // namespace

void judge_ports(Judging& judging) {
  const std::vector<Place> places = places_of(judging.nodes);
  for (const Place& place : places) {
    if (is_active(*place.port) || place.is_reported_by_interface()) continue;
    // What the profile names is missed also where nothing like it is up.
    const bool is_named = judging.view.node.nics && !judging.view.node.nics->name.empty() &&
                          is_promised(judging.view, *place.node, *place.device);
    if (!is_named && !is_missed(place, places)) continue;
    explain(judging, place);
    judging.find(down_finding(place));
  }
  judge_portless(judging, places);
  judge_rates(judging, places);
}

void judge_errors(Judging& judging) {
  const std::vector<Place> places = places_of(judging.nodes);
  const std::string interval = format_duration(judging.view.params.duration("interval"));
  std::vector<std::string> standing;
  for (const NodeView& node : judging.nodes)
    for (const Counted& one : node.counted) {
      const Place* place = place_of(places, node, one.port);
      if (place == nullptr) continue;
      const std::string what = printable_line(fmt::format("{} of {}", one.counter, one.port), 100);
      const std::string grown = fmt::format("{} on {} grew by {} within {}", what, node.host, one.grew, interval);
      if (one.grew > 0 && is_of_fabric(judging, *place) && is_active(*place->port))
        judging.find(about(node, *place->device, grown,
                           "check the cable and the switch port at its other end, and clean or replace them; drain the "
                           "node while the counter grows"));
      else if (one.grew > 0)
        judging.note(grown);
      else if (is_of_fabric(judging, *place))
        standing.push_back(fmt::format("{} on {} is {}", what, node.host, one.stands));
    }
  if (!standing.empty())
    judging.note(fmt::format("counted since the drivers were loaded, and not now: {}", human_list(standing, 4)));
}

}  // namespace muster::network
