#include "probes/cpu_affinity/mask_line.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"

namespace muster::affinity {

namespace {

/// Ranks that share a place, and the CPUs there: one of each core.
struct Place {
  CpuMask cpus;
  std::vector<std::size_t> ranks;  ///< indices on the node
};

/// The first hardware thread of each core that is left.
CpuMask first_threads(const Layout& layout, const CpuMask& usable) {
  CpuMask first;
  for (const CpuMask& core : layout.cores)
    if (const CpuMask left = core & usable; !left.empty()) first.add(left.lowest());
  return first;
}

std::vector<Place> places_by_gpu(const Wish& wish, const CpuMask& threads) {
  std::map<std::string, Place> places;
  for (std::size_t i = 0; i < wish.near.size(); ++i) {
    Place& place = places[wish.near[i].list()];
    place.cpus = wish.near[i] & threads;
    place.ranks.push_back(i);
  }
  std::vector<Place> list;
  for (auto& entry : places) list.push_back(std::move(entry.second));
  return list;
}

std::vector<Place> places_by_domain(const Wish& wish, const CpuMask& threads) {
  std::vector<Place> places;
  for (const auto& [number, cpus] : wish.layout.domains)
    if (const CpuMask left = cpus & threads; !left.empty()) places.push_back({left, {}});
  if (places.empty()) places.push_back({threads, {}});
  for (std::size_t i = 0; i < wish.near.size(); ++i) places[i * places.size() / wish.near.size()].ranks.push_back(i);
  return places;
}

/// False: there are not enough cores.
bool share_out(const Place& place, int cores, std::vector<CpuMask>& masks) {
  const std::vector<int> cpus = place.cpus.cpus();
  if (place.ranks.empty()) return true;
  const std::size_t share = cpus.size() / place.ranks.size();
  const std::size_t width = cores > 0 ? static_cast<std::size_t>(cores) : share;
  if (width == 0 || width > share) return false;
  for (std::size_t i = 0; i < place.ranks.size(); ++i)
    for (std::size_t k = 0; k < width; ++k) masks[place.ranks[i]].add(cpus[i * share + k]);
  return true;
}

/// The numbers of the cores as hwloc counts them, which is how Open MPI does.
CpuMask core_numbers(const Layout& layout, const CpuMask& mask) {
  CpuMask numbers;
  for (std::size_t i = 0; i < layout.cores.size(); ++i)
    if (layout.cores[i].intersects(mask)) numbers.add(static_cast<int>(i));
  return numbers;
}

}  // namespace

std::vector<CpuMask> right_masks(const Wish& wish) {
  const CpuMask threads = first_threads(wish.layout, wish.usable);
  const bool has_gpus =
      std::none_of(wish.near.begin(), wish.near.end(), [](const CpuMask& near) { return near.empty(); });
  std::vector<CpuMask> masks(wish.near.size());
  for (const Place& place : has_gpus ? places_by_gpu(wish, threads) : places_by_domain(wish, threads))
    if (!share_out(place, wish.cores, masks)) return {};
  return masks;
}

std::string srun_line(const std::vector<CpuMask>& masks) {
  std::vector<std::string> hex;
  for (const CpuMask& mask : masks) hex.push_back(mask.hex());
  return "srun --cpu-bind=mask_cpu:" + join(hex, ",");
}

std::string mpirun_line(const Wish& wish, const std::vector<CpuMask>& masks, const std::vector<int>& ranks,
                        std::string_view host) {
  const bool is_plain =
      wish.usable == wish.layout.cpus() &&
      std::all_of(wish.near.begin(), wish.near.end(), [](const CpuMask& near) { return near.empty(); });
  std::map<int, int> per_domain;
  std::set<int> widths;
  for (const CpuMask& mask : masks) {
    ++per_domain[wish.layout.domains_of(mask).lowest()];
    widths.insert(mask.count());
  }
  const auto [least, most] = std::minmax_element(per_domain.begin(), per_domain.end(),
                                                 [](const auto& a, const auto& b) { return a.second < b.second; });
  if (is_plain && widths.size() == 1 && least->second == most->second &&
      (per_domain.size() == wish.layout.domains.size() || wish.layout.domains.size() < 2))
    return fmt::format("mpirun --map-by ppr:{}:{}:PE={} --bind-to core", most->second,
                       wish.layout.domains.size() > 1 ? "numa" : "node", *widths.begin());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < masks.size() && i < ranks.size(); ++i)
    lines.push_back(fmt::format("rank {}={} slot={}", ranks[i], host, core_numbers(wish.layout, masks[i]).list()));
  return "mpirun --rankfile FILE with the lines \"" + join(lines, "\", \"") + "\"";
}

}  // namespace muster::affinity
