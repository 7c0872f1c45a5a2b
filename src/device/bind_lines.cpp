#include "device/bind_lines.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

/// The GPU of each rank, or `0,1`; empty where one has none.
std::vector<std::string> gpus_of(const Placement& placement) {
  std::vector<std::string> gpus;
  for (const RankPlacement& seat : placement.ranks) {
    std::vector<std::string> numbers;
    for (const int gpu : gpus_of(seat)) numbers.push_back(std::to_string(gpu));
    if (!numbers.empty()) gpus.push_back(join(numbers, ","));
  }
  return gpus.size() == placement.ranks.size() ? gpus : std::vector<std::string>();
}

bool are_in_order(const std::vector<std::string>& gpus) {
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (gpus[i] != std::to_string(i)) return false;
  return true;
}

/// Whether ranks of one domain take core after core, from its first.
bool are_packed(const NodeParts& node, const Placement& placement, int width) {
  int last = -1;
  int next = 0;
  for (const RankPlacement& seat : placement.ranks) {
    const CpuMask domains = node.layout.domains_of(seat.cpus);
    if (domains.count() > 1 || domains.lowest() < last) return false;
    if (domains.lowest() != last && !domains.empty())
      next = core_numbers(node.layout, node.layout.domains.at(domains.lowest())).lowest();
    last = domains.lowest();
    const CpuMask cores = core_numbers(node.layout, seat.cpus);
    if (cores.lowest() != next || cores.highest() != next + width - 1 || cores.count() != width) return false;
    next += width;
  }
  return true;
}

}  // namespace

std::string srun_masks(const Placement& placement) {
  std::vector<std::string> masks;
  for (const RankPlacement& seat : placement.ranks) masks.push_back(seat.cpus.hex());
  return "--cpu-bind=mask_cpu:" + join(masks, ",");
}

std::string srun_gpus(const Placement& placement) {
  const auto gpus = gpus_of(placement);
  if (gpus.empty()) return {};
  const auto has_several = [](const RankPlacement& seat) { return !seat.more_gpus.empty(); };
  if (std::none_of(placement.ranks.begin(), placement.ranks.end(), has_several))
    return "--gpu-bind=map_gpu:" + join(gpus, ",");
  std::vector<std::string> masks;
  for (const RankPlacement& seat : placement.ranks) {
    CpuMask mask;
    for (const int gpu : gpus_of(seat)) mask.add(gpu);
    masks.push_back(mask.hex());
  }
  return "--gpu-bind=mask_gpu:" + join(masks, ",");
}

std::string_view visible_variable(std::string_view vendor) {
  return terms_of_vendor(vendor).visible_variable;
}

std::string gpu_wrapper(const Placement& placement, std::string_view variable, std::string_view local_rank) {
  const auto gpus = gpus_of(placement);
  if (gpus.empty() || variable.empty()) return {};
  std::string order;
  if (const GpuVendor* vendor = vendor_by_visible_variable(variable))
    for (const std::string_view setting : vendor->order_settings) order += std::string(setting) + " ";
  if (are_in_order(gpus)) return fmt::format("bash -c '{}{}=${} exec \"$0\" \"$@\"'", order, variable, local_rank);
  return fmt::format("bash -c 'gpus=({}); {}{}=${{gpus[${}]}} exec \"$0\" \"$@\"'", join(gpus, " "), order, variable,
                     local_rank);
}

std::vector<std::string> rankfile(const Layout& layout, const Placement& placement, const std::vector<int>& ranks,
                                  std::string_view host) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < placement.ranks.size() && i < ranks.size(); ++i)
    lines.push_back(
        fmt::format("rank {}={} slot={}", ranks[i], host, core_numbers(layout, placement.ranks[i].cpus).list()));
  return lines;
}

std::string mpirun_mapping(const NodeParts& node, const Placement& placement) {
  const Layout& layout = node.layout;
  const bool has_gpus = std::any_of(placement.ranks.begin(), placement.ranks.end(),
                                    [](const RankPlacement& seat) { return seat.gpu >= 0; });
  if (placement.ranks.empty() || has_gpus || node.usable() != layout.cpus()) return {};
  const int width = core_numbers(layout, placement.ranks[0].cpus).count();
  const std::size_t domains = std::max<std::size_t>(1, layout.domains.size());
  const std::size_t each = placement.ranks.size() / domains;
  if (each * domains != placement.ranks.size() || !are_packed(node, placement, width)) return {};
  for (const auto& [number, cpus] : layout.domains) {
    std::size_t here = 0;
    for (const RankPlacement& seat : placement.ranks) here += seat.cpus.intersects(cpus);
    if (here != each) return {};
  }
  return fmt::format("--map-by ppr:{}:{}:PE={} --bind-to core", each, layout.domains.size() > 1 ? "numa" : "node",
                     width);
}

RankBinding rank_binding(const NodeParts& node, const RankPlacement& seat) {
  RankBinding rank{seat.cpus.list(), seat.cpus.hex(), seat.gpu};
  if (seat.nic >= 0) rank.nic = node.nics[static_cast<std::size_t>(seat.nic)].name;
  rank.cores = core_numbers(node.layout, seat.cpus).list();
  return rank;
}

std::string omp_places(const Layout& layout, const CpuMask& cpus) {
  std::vector<CpuMask> places;
  for (const CpuMask& core : layout.cores)
    if (const CpuMask part = core & cpus; !part.empty()) places.push_back(part);
  if (places.empty()) return {};
  const auto text = [](const CpuMask& place) {
    std::vector<std::string> numbers;
    for (const int cpu : place.cpus()) numbers.push_back(std::to_string(cpu));
    return "{" + join(numbers, ",") + "}";
  };
  if (places.size() == 1) return text(places[0]);
  // The short form: a place, how many there are, and how far each is from the one before.
  const int stride = places[1].lowest() - places[0].lowest();
  bool is_even = stride > 0;
  for (std::size_t i = 1; i < places.size(); ++i) {
    CpuMask moved;
    for (const int cpu : places[i - 1].cpus()) moved.add(cpu + stride);
    is_even &= moved == places[i];
  }
  if (is_even)
    return fmt::format("{}:{}{}", text(places[0]), places.size(), stride == 1 ? "" : fmt::format(":{}", stride));
  std::vector<std::string> all;
  for (const CpuMask& place : places) all.push_back(text(place));
  return join(all, ",");
}

}  // namespace muster
