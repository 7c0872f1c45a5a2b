// PCIe links of GPUs and NICs.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "measure/node_devices.hpp"
#include "probes/device_visibility/symptoms.hpp"

namespace muster::visibility {

namespace {

constexpr std::string_view remedy_link =
    "power-cycle the node; if the link stays so, have the card or its riser reseated, then replaced";

std::string lanes(const PciLink& link) {
  return fmt::format("PCIe x{} where {} can do x{}", link.width, link.is_one_ended ? "the card" : "both ends",
                     link.width_able);
}

/// Only NICs: a GPU lowers the speed of its link when it is idle.
bool is_slow(const Device& device, const PciLink& link) {
  return device.kind == DeviceKind::nic && link.speed > 0 && link.speed < link.speed_able;
}

/// In the order in which their runtime counts them; that of the bus where it is unknown.
std::vector<const Device*> in_compute_order(const NodeView& node) {
  std::vector<const Device*> gpus = devices_of(node, DeviceKind::gpu);
  if (std::all_of(gpus.begin(), gpus.end(), [](const Device* gpu) { return gpu->compute_order > 0; }))
    std::stable_sort(gpus.begin(), gpus.end(),
                     [](const Device* a, const Device* b) { return a->compute_order < b->compute_order; });
  return gpus;
}

int links_up(const Device& from, const Device& to) {
  int up = 0;
  for (const PeerLink& peer : from.peers)
    if (peer.to == to.address && peer.kind != "pcie") up += peer.up;
  return up;
}

}  // namespace

std::string judge_gpu_links(const CaseView& view, const NodeView& node, Findings& findings) {
  const auto gpus = in_compute_order(node);
  // Old drivers report neighbours, and not the number of links to them.
  const bool is_reported = std::any_of(gpus.begin(), gpus.end(), [](const Device* gpu) {
    return std::any_of(gpu->peers.begin(), gpu->peers.end(),
                       [](const PeerLink& peer) { return peer.kind != "pcie" && peer.up + peer.down > 0; });
  });
  // With another number of GPUs than promised the GPUs can't be matched; judge_counts reports that.
  if (view.node.gpu_links.empty() || !is_reported || !view.node.gpus ||
      gpus.size() != static_cast<std::size_t>(view.node.gpus->count))
    return {};
  const std::size_t before = findings.size();
  int links = 0;
  for (const GpuLinkExpectation& pair : view.node.gpu_links) {
    const Device& first = *gpus[static_cast<std::size_t>(pair.first)];
    const Device& second = *gpus[static_cast<std::size_t>(pair.second)];
    const int up = std::min(links_up(first, second), links_up(second, first));
    links += up;
    if (up >= pair.links) continue;
    findings.push_back(about(node, {&first, &second},
                             fmt::format("{} have {} of the {} links between them that the profile promises",
                                         subject(node, {&first, &second}), up, pair.links),
                             "reset the GPUs, or power-cycle the node; if links stay down, have the board looked at"));
    soften(view.node, "gpu_links", findings.back());
  }
  if (findings.size() > before) return {};
  return fmt::format("{} between GPUs of {}, as the profile promises", counted(static_cast<std::size_t>(links), "link"),
                     node.host);
}

/// A link whose other end is not visible may be as wide as its slot; unless a device of its model has more lanes.
bool is_width_open(const NodeView& node, const PciLink& link, const std::vector<const Device*>& devices) {
  if (!link.is_one_ended) return false;
  return std::none_of(node.inventory.devices.begin(), node.inventory.devices.end(), [&](const Device& like) {
    return like.kind == devices[0]->kind && like.vendor_id == devices[0]->vendor_id &&
           like.device_id == devices[0]->device_id && !like.links.empty() && like.links[0].width > link.width;
  });
}

void judge_links(const NodeView& node, Findings& findings) {
  // A switch's link is on the way of several devices; it is reported once, with all of them.
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
    const std::string what =
        fmt::format("{} {} {}{}", subject(node, devices), devices.size() == 1 ? "has" : "have", lanes(link), where);
    if (is_width_open(node, link, devices))
      findings.push_back(make_note(what + "; the other end of the link is not visible (a virtual machine)"));
    else
      findings.push_back(about(node, devices, what, std::string(remedy_link)));
  }
}

}  // namespace muster::visibility
