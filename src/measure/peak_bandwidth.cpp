#include "measure/peak_bandwidth.hpp"

#include <algorithm>
#include <optional>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/device_models.hpp"
#include "measure/node_devices.hpp"
#include "model/series.hpp"
#include "stats/stats.hpp"

namespace muster::gpu_copy {

namespace {

const DeviceModel* model_of(const SeenGpu& gpu) {
  return find_device_model(gpu.about().name, gpu.about().multiprocessors);
}

int vendor_number(const Device& device, const char* key) {
  const auto found = device.values.find(key);
  return found == device.values.end() ? 0 : leading_number<int>(found->second).value_or(0);
}

/// The narrowest link on the way, as wide and fast as both its ends can be.
double narrowest(const Device& device) {
  double least = 0;
  for (const PciLink& link : device.links) {
    const double rate = pcie_rate(link.is_one_ended ? link.width : link.width_able, link.speed_able);
    if (rate <= 0) return 0;
    least = least == 0 ? rate : std::min(least, rate);
  }
  return least;
}

/// GB/s of a path other than PCIe, from KFD: `xgmi 36 GB/s`.
double host_link(const Device& device) {
  const auto found = device.values.find("host_link");
  if (found == device.values.end() || found->second.rfind("xgmi ", 0) != 0) return 0;
  return std::strtod(found->second.c_str() + 5, nullptr);
}

/// A figure beside what was measured.
void add_beside(Observation& seen, std::string metric, Labels where, double value, int peer_rank) {
  if (value <= 0) return;
  std::sort(where.begin(), where.end());
  seen.readings.push_back({std::move(metric), std::move(where), summarize(std::span(&value, 1)), peer_rank});
}

const PeerLink* link_to(const Device& from, const PciAddress& to) {
  for (const PeerLink& link : from.peers)
    if (link.to == to && link.up > 0 && !link.kind.empty() && link.kind != "pcie") return &link;
  return nullptr;
}

/// An NVLink that leads to no GPU. A third GPU that two others are linked to is not a way between them.
bool is_to_switch(const Inventory& node, const PeerLink& link) {
  return link.kind == "nvlink" && link.up > 0 &&
         std::none_of(node.devices.begin(), node.devices.end(), [&](const Device& device) {
           return device.kind == DeviceKind::gpu && device.address == link.to;
         });
}

/// GB/s that both have to the same switches between GPUs; nullopt: they share none.
std::optional<double> by_switches(const Inventory& node, const Device& from, const Device& to) {
  std::optional<double> rate;
  for (const PeerLink& link : from.peers)
    if (const PeerLink* other = is_to_switch(node, link) ? link_to(to, link.to) : nullptr)
      rate = rate.value_or(0) + std::min(link.rate, other->rate);
  return rate;
}

/// KFD has no bandwidth for an xGMI path over a third GPU.
bool is_routed(const Device& from, const PciAddress& to) {
  return std::any_of(from.peers.begin(), from.peers.end(),
                     [&](const PeerLink& link) { return link.kind == "xgmi" && link.to == to && link.up == 0; });
}

/// GB/s of all xGMI links of a GPU.
double rate_of_links(const Device& gpu) {
  double rate = 0;
  for (const PeerLink& link : gpu.peers)
    if (link.kind == "xgmi" && link.up > 0) rate += link.rate;
  return rate;
}

}  // namespace

HostWay host_way(const SeenGpu& gpu, const Device* device) {
  HostWay way;
  way.kind = "PCIe";
  const DeviceModel* model = model_of(gpu);
  if (device != nullptr) {
    way.rate = narrowest(*device) * 1e-9;
    // In a virtual machine /sys shows made-up ports above the GPU; the management library knows its own link.
    way.most = std::max(way.rate, 1e-9 * pcie_rate(vendor_number(*device, "pcie_width_able"),
                                                   pcie_speed(vendor_number(*device, "pcie_generation_able"))));
    if (const double rate = host_link(*device); rate > 0) way = {rate, std::max(way.most, rate), "xGMI"};
  }
  if (model != nullptr && model->host > 0)
    way = {model->host, std::max(way.most, model->host), std::string(model->host_way)};
  // An MI300A has no memory but its host's: copies go over no link.
  if (model != nullptr && model->name == "MI300A") way.most = 0;
  return way;
}

double memory_rate(const SeenGpu& gpu) {
  const DeviceModel* model = model_of(gpu);
  const double rate = model != nullptr ? model->memory : gpu.about().memory_rate() * 1e-9;
  // A partition alone may have more than its share, never less.
  return gpu.parts > 1 ? rate / gpu.parts : rate;
}

double possible_memory_rate(const SeenGpu& gpu, double traffic, double saved) {
  const DeviceModel* model = find_whole_model(gpu.about().name);
  return model == nullptr ? 0 : most_of_memory(*model, traffic, saved * model->cache * (1U << 20));
}

std::string link_between(const Inventory& node, const Device* from, const Device* to, bool reaches) {
  if (!reaches) return "staged";
  if (from == nullptr || to == nullptr) return "unknown";
  if (from == to) return "same_gpu";
  if (const PeerLink* link = link_to(*from, to->address)) return printable_line(link->kind, 20);
  if (by_switches(node, *from, *to)) return "nvlink";
  if (is_routed(*from, to->address)) return "xgmi_routed";
  if (!visibility::are_links_known(*from) || !visibility::are_links_known(*to)) return "unknown";
  for (std::size_t i = 1; i < from->links.size(); ++i)
    for (std::size_t k = 1; k < to->links.size(); ++k)
      if (from->links[i].at == to->links[k].at) return "switch";
  return "pcie";
}

PeerWay peer_way(const Inventory& node, const Device* from, const Device* to, const std::string& link) {
  if (from == nullptr || to == nullptr || from == to || link == "staged" || link == "unknown") return {};
  // How many links lead from one to the next, and which GPUs are between, is not known.
  if (link == "xgmi_routed") return {0, 0, std::min(rate_of_links(*from), rate_of_links(*to))};
  if (const PeerLink* direct = link_to(*from, to->address))
    return {direct->rate, direct->kind == "xgmi" ? direct->rate / direct->up : direct->rate, direct->rate};
  if (link == "nvlink") {
    const double rate = by_switches(node, *from, *to).value_or(0);
    return {rate, rate, rate};
  }
  const double rate = 1e-9 * std::min(narrowest(*from), narrowest(*to));
  return {rate, rate, 0};
}

double most_to_peer(const PeerWay& way, const std::string& link, const HostWay& from, const HostWay& to) {
  if (way.most > 0) return way.most;
  // Where nothing shows the links there may be an NVLink. Root complexes and switches add nothing to the links of both.
  const bool is_by_host = link == "pcie" || link == "switch" || link == "staged";
  return is_by_host ? std::min(from.most, to.most) : 0;
}

void add_pages(int near, const std::string& pages, Labels& where) {
  if (near < 0 || pages.empty() || pages == std::to_string(near)) return;
  where.emplace_back("pages", pages);
  std::sort(where.begin(), where.end());
}

void add_model(const SeenGpu& gpu, Labels& where) {
  const std::string label = model_label(gpu.about().name, gpu.about().multiprocessors);
  if (label.empty()) return;
  where.emplace_back("model", label);
  std::sort(where.begin(), where.end());
}

void add_capable(Observation& seen, std::string_view metric, Labels where, double rate, int peer_rank) {
  add_beside(seen, std::string(metric) + std::string(capable_suffix), std::move(where), rate, peer_rank);
}

void add_possible(Observation& seen, std::string_view metric, Labels where, double best, int peer_rank) {
  add_beside(seen, std::string(metric) + std::string(possible_suffix), std::move(where), best, peer_rank);
}

}  // namespace muster::gpu_copy
