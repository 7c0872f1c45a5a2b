#include "device/placement.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "base/names.hpp"
#include "base/text.hpp"
#include "device/core_assignment.hpp"

namespace muster {

namespace {

constexpr std::string_view policy_names[] = {"gpu", "cores", "spread", "compact"};

std::string named(std::string_view word, const CpuMask& set) {
  return fmt::format("{}{} {}", word, set.count() == 1 ? "" : "s", set.list());
}

std::string gpu_name(const NodeParts& node, int gpu) {
  const std::string& address = node.gpus[static_cast<std::size_t>(gpu)].address;
  return address.empty() ? fmt::format("GPU {}", gpu) : fmt::format("GPU {} ({})", gpu, printable_line(address, 20));
}

tl::unexpected<Error> refuse(std::string what) {
  return fail(ErrorKind::usage, "binding", std::move(what));
}

/// GPUs in the order in which their CPUs come.
std::vector<int> by_place(const std::vector<NearDevice>& gpus) {
  std::vector<int> order(gpus.size());
  std::iota(order.begin(), order.end(), 0);
  const auto lowest = [&](int gpu) {
    const CpuMask& near = gpus[static_cast<std::size_t>(gpu)].near;
    return near.empty() ? 65536 : near.lowest();
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lowest(a) < lowest(b); });
  return order;
}

bool gives_gpus(const NodeParts& node, const PlacementRequest& request) {
  return (request.policy == BindPolicy::gpu || request.policy == BindPolicy::cores) && !node.gpus.empty();
}

/// `some` of them in their order: of GPUs that are cut in partitions, which share an address, first one partition of
/// each, then the second ones.
std::vector<int> spread_over_gpus(const std::vector<NearDevice>& gpus, const std::vector<int>& order,
                                  std::size_t some) {
  std::map<std::string, std::size_t> seen;
  std::vector<std::pair<std::size_t, std::size_t>> rounds;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string& address = gpus[static_cast<std::size_t>(order[i])].address;
    rounds.emplace_back(address.empty() ? 0 : seen[address]++, i);
  }
  std::sort(rounds.begin(), rounds.end());
  rounds.resize(std::min(some, rounds.size()));
  std::sort(rounds.begin(), rounds.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<int> chosen;
  for (const auto& [round, place] : rounds) chosen.push_back(order[place]);
  return chosen;
}

/// Those of each rank; none: it has no GPU.
std::vector<std::vector<int>> choose_gpus(const NodeParts& node, const PlacementRequest& request) {
  const auto ranks = static_cast<std::size_t>(request.ranks);
  std::vector<std::vector<int>> gpus(ranks);
  if (!request.gpu_of_rank.empty()) {
    for (std::size_t i = 0; i < ranks; ++i)
      if (request.gpu_of_rank[i] >= 0) gpus[i] = {request.gpu_of_rank[i]};
    return gpus;
  }
  if (!gives_gpus(node, request)) return gpus;
  std::vector<int> order = by_place(node.gpus);
  if (request.policy == BindPolicy::gpu) std::iota(order.begin(), order.end(), 0);
  if (request.gpus_per_rank > 1) {
    const auto each = static_cast<std::size_t>(request.gpus_per_rank);
    for (std::size_t i = 0; i < ranks * each; ++i) gpus[i / each].push_back(order[i]);
    return gpus;
  }
  const std::vector<int> some = spread_over_gpus(node.gpus, order, ranks);
  for (std::size_t i = 0; i < ranks; ++i) gpus[i] = {some[i * some.size() / ranks]};
  return gpus;
}

/// The CPUs that each rank should stay near to.
std::vector<CpuMask> homes_of(const NodeParts& node, const PlacementRequest& request,
                              const std::vector<std::vector<int>>& gpus) {
  const CpuMask usable = node.usable();
  const bool none = std::all_of(gpus.begin(), gpus.end(), [](const auto& some) { return some.empty(); });
  if (none) return spread_homes(node.layout, usable, gpus.size(), request.cores);
  std::vector<CpuMask> homes;
  for (const std::vector<int>& some : gpus) {
    CpuMask near;
    for (const int gpu : some) near = near | node.gpus[static_cast<std::size_t>(gpu)].near;
    homes.push_back(near.empty() ? node.layout.cpus() : node.layout.whole_cores(near));
  }
  return homes;
}

std::string few_cores(const NodeParts& node, std::size_t left) {
  const std::size_t all = node.layout.cores.size();
  return fmt::format("{} of its {} can be used{}", left, counted(all, "core"),
                     node.reserved.empty() ? "" : " (the others are reserved, or not ours)");
}

/// What no binding can give, before any is tried.
Result<void> check_numbers(const NodeParts& node, const PlacementRequest& request) {
  const std::size_t left = free_cores(node.layout, node.usable()).size();
  const auto ranks = static_cast<std::size_t>(std::max(1, request.ranks));
  if (left == 0) return refuse(fmt::format("no core is left on this node: {}; reserve less", few_cores(node, left)));
  if (ranks > left)
    return refuse(fmt::format("{} need a core each, but {}; request at most {} ranks per node", counted(ranks, "rank"),
                              few_cores(node, left), left));
  const auto each = static_cast<std::size_t>(std::max(1, request.gpus_per_rank));
  if (each > 1 && gives_gpus(node, request) && each * ranks > node.gpus.size())
    return refuse(fmt::format(
        "{} with {} GPUs each are {}, but this node has {}; request at most {} GPUs per rank{}", counted(ranks, "rank"),
        each, each * ranks, node.gpus.size(), std::max<std::size_t>(1, node.gpus.size() / ranks),
        each > node.gpus.size() ? std::string()
                                : fmt::format(", or for {}", counted(node.gpus.size() / each, "rank"))));
  const auto wide = static_cast<std::size_t>(std::max(0, request.cores));
  if (wide * ranks <= left) return {};
  const std::string instead = wide > left ? std::string() : fmt::format(", or for at most {} ranks", left / wide);
  return refuse(fmt::format("{} of {} are {}, but {}; request at most {} per rank{}", counted(ranks, "rank"),
                            counted(wide, "core"), counted(wide * ranks, "core"), few_cores(node, left),
                            counted(left / ranks, "core"), instead));
}

/// Why no seats could be found: ranks whose GPUs have, all together, fewer cores in their NUMA domains than there are
/// ranks of them.
tl::unexpected<Error> explain(const NodeParts& node, const PlacementRequest& request,
                              const std::vector<std::vector<int>>& gpus, const std::vector<CpuMask>& homes) {
  const std::vector<std::size_t> crowded = crowded_ranks({node.layout, node.usable(), homes});
  CpuMask around;
  CpuMask theirs;
  for (const std::size_t rank : crowded) {
    around = around | domains_around(node.layout, homes[rank]);
    for (const int gpu : gpus[rank]) theirs.add(gpu);
  }
  const auto users = static_cast<std::size_t>(std::count_if(homes.begin(), homes.end(), [&](const CpuMask& home) {
    return domains_around(node.layout, home).is_subset_of(around);
  }));
  if (theirs.empty())
    return refuse(fmt::format("{}{} can't be placed on the cores that are left; request fewer",
                              counted(homes.size(), "rank"),
                              request.cores > 0 ? fmt::format(" of {} cores", request.cores) : ""));
  const std::size_t cores = free_cores(node.layout, around & node.usable()).size();
  const bool is_one = theirs.count() == 1;
  return refuse(
      fmt::format("{} {} left near {}: of {}, {} can be used, for {}; request fewer ranks per node, reserve fewer "
                  "cores, or assign no GPUs: --policy spread",
                  is_one ? gpu_name(node, theirs.lowest()) + " has" : fmt::format("GPUs {} have", theirs.list()),
                  cores == 0 ? "no core" : "too few cores", is_one ? "it" : "them", named("CPU", around),
                  counted(cores, "core"), counted(users, "rank")));
}

/// The nearest of the fastest: a slow card is for administration.
int nearest_nic(const NodeParts& node, const CpuMask& at, std::size_t turn) {
  double fastest = 0;
  for (const NearDevice& nic : node.nics) fastest = std::max(fastest, nic.rate);
  const CpuMask around = domains_around(node.layout, at);
  for (const CpuMask& reach : {at, around}) {
    std::vector<int> found;
    int least = 65536;
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
      const NearDevice& nic = node.nics[i];
      if (nic.rate < fastest / 2 || nic.near.empty() || !nic.near.intersects(reach) || nic.near.count() > least)
        continue;
      if (nic.near.count() < least) found.clear();
      least = nic.near.count();
      found.push_back(static_cast<int>(i));
    }
    if (!found.empty()) return found[turn % found.size()];
  }
  return -1;
}

void remark_shared(const NodeParts& node, Placement& placement) {
  std::map<int, std::vector<std::string>> users;
  for (std::size_t i = 0; i < placement.ranks.size(); ++i)
    for (const int gpu : gpus_of(placement.ranks[i])) users[gpu].push_back(std::to_string(i));
  for (const auto& [gpu, ranks] : users)
    if (ranks.size() > 1)
      placement.remarks.push_back(fmt::format("ranks {} share {}", human_list(ranks), gpu_name(node, gpu)));
}

void remark_far(const NodeParts& node, const std::vector<CpuMask>& homes, Placement& placement) {
  const Layout& layout = node.layout;
  for (std::size_t i = 0; i < placement.ranks.size(); ++i) {
    const RankPlacement& seat = placement.ranks[i];
    const CpuMask home = layout.domains_of(homes[i]);
    const CpuMask beyond = layout.domains_of(seat.cpus) - home;
    if (seat.gpu >= 0 && !beyond.empty())
      placement.remarks.push_back(fmt::format("rank {} leaves {}, where {} is: it gets cores of {} too", i,
                                              named("NUMA domain", home), gpu_name(node, seat.gpu),
                                              named("NUMA domain", beyond)));
    else if (seat.gpu < 0 && layout.domains_of(seat.cpus).count() > 1)
      placement.remarks.push_back(
          fmt::format("rank {} spans {}", i, named("NUMA domain", layout.domains_of(seat.cpus))));
  }
}

/// `, nor any core of NUMA domains 1-3`.
std::string idle_domains(const NodeParts& node, const CpuMask& taken) {
  CpuMask idle;
  for (const auto& [number, cpus] : node.layout.domains)
    if (cpus.intersects(node.usable()) && !cpus.intersects(taken)) idle.add(number);
  return idle.empty() ? std::string() : fmt::format(", nor any core of {}", named("NUMA domain", idle));
}

std::string more_per_rank(const NodeParts& node, std::size_t ranks) {
  const std::size_t each = node.gpus.size() / ranks;
  return each > 1 ? fmt::format("; --gpus-per-rank {} assigns all of them", each) : std::string();
}

void remark_idle(const NodeParts& node, const PlacementRequest& request, Placement& placement) {
  if (node.gpus.empty()) return;
  CpuMask idle;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) idle.add(static_cast<int>(i));
  CpuMask taken;
  for (const RankPlacement& seat : placement.ranks) {
    for (const int gpu : gpus_of(seat)) idle.remove(gpu);
    taken = taken | seat.cpus;
  }
  const bool no_gpus = idle.count() == static_cast<int>(node.gpus.size());
  if (no_gpus)
    placement.remarks.push_back(fmt::format("policy {} gives no GPU to any rank, though there {} {}",
                                            to_string(request.policy), node.gpus.size() == 1 ? "is" : "are",
                                            node.gpus.size()));
  else if (!idle.empty())
    placement.remarks.push_back(fmt::format("no rank uses {}{}{}", named("GPU", idle), idle_domains(node, taken),
                                            more_per_rank(node, placement.ranks.size())));
}

std::optional<std::vector<CpuMask>> seats_for(const NodeParts& node, const PlacementRequest& request,
                                              const std::vector<CpuMask>& homes, bool is_compact) {
  const CoreAssignment assignment{node.layout, node.usable(), homes};
  if (is_compact) return assign_cores_compactly(assignment, request.cores);
  auto seats = assign_cores(assignment, request.cores, CoreRange::domain);
  return seats || request.cores == 0 ? seats : assign_cores(assignment, request.cores, CoreRange::node);
}

}  // namespace

CpuMask NodeParts::usable() const {
  const CpuMask all = layout.cpus();
  return (may.empty() ? all : all & may) - layout.whole_cores(reserved);
}

std::string_view to_string(BindPolicy policy) {
  return enum_name(policy_names, policy);
}

std::optional<BindPolicy> parse_bind_policy(std::string_view text) {
  return enum_named<BindPolicy>(policy_names, text);
}

BindPolicy usual_policy(const NodeParts& node) {
  return node.gpus.empty() ? BindPolicy::spread : BindPolicy::gpu;
}

int usual_ranks(const NodeParts& node) {
  const std::size_t wanted =
      node.gpus.empty() ? std::max<std::size_t>(1, node.layout.domains.size()) : node.gpus.size();
  const std::size_t cores = free_cores(node.layout, node.usable()).size();
  return static_cast<int>(std::max<std::size_t>(1, std::min(wanted, cores)));
}

Result<Placement> place_ranks(const NodeParts& node, const PlacementRequest& request) {
  if (auto possible = check_numbers(node, request); !possible) return tl::unexpected(possible.error());
  const std::vector<std::vector<int>> gpus = choose_gpus(node, request);
  std::vector<CpuMask> homes = homes_of(node, request, gpus);
  const bool is_compact = request.policy == BindPolicy::compact && request.gpu_of_rank.empty();
  auto seats = seats_for(node, request, homes, is_compact);
  const bool none = std::all_of(gpus.begin(), gpus.end(), [](const auto& some) { return some.empty(); });
  if (!seats && none) {
    // Nothing ties a rank to a place.
    homes.assign(homes.size(), node.layout.cpus());
    seats = seats_for(node, request, homes, is_compact);
  }
  if (!seats) return explain(node, request, gpus, homes);
  Placement placement;
  const CpuMask usable = node.usable();
  for (std::size_t i = 0; i < seats->size(); ++i) {
    const CpuMask& cores = (*seats)[i];
    RankPlacement rank{request.smt ? node.layout.whole_cores(cores) & usable : cores};
    if (!gpus[i].empty()) rank.gpu = gpus[i][0], rank.more_gpus.assign(gpus[i].begin() + 1, gpus[i].end());
    placement.ranks.push_back(std::move(rank));
  }
  give_nics(node, placement);
  remark_shared(node, placement);
  remark_far(node, homes, placement);
  if (request.gpu_of_rank.empty()) remark_idle(node, request, placement);
  return placement;
}

void give_nics(const NodeParts& node, Placement& placement) {
  // Every rank of one place takes the next of the cards there.
  std::map<std::string, std::size_t> turns;
  for (RankPlacement& seat : placement.ranks) {
    const CpuMask& near = seat.gpu < 0 ? seat.cpus : node.gpus[static_cast<std::size_t>(seat.gpu)].near;
    const CpuMask& at = near.empty() ? seat.cpus : near;
    seat.nic = nearest_nic(node, at, turns[domains_around(node.layout, at).list()]++);
  }
}

bool are_shares_in_order(const NodeParts& node, const std::vector<CpuMask>& masks) {
  std::vector<CpuMask> cores;
  for (const CpuMask& core : node.layout.cores)
    if (!core.intersects(node.reserved)) cores.push_back(core);
  if (masks.empty() || cores.empty() || cores.size() % masks.size() != 0) return false;
  const std::size_t share = cores.size() / masks.size();
  for (std::size_t rank = 0; rank < masks.size(); ++rank) {
    CpuMask wanted;
    for (std::size_t i = 0; i < share; ++i) wanted = wanted | cores[rank * share + i];
    if (masks[rank] != wanted) return false;
  }
  return true;
}

std::vector<int> gpus_of(const RankPlacement& seat) {
  std::vector<int> gpus;
  if (seat.gpu >= 0) gpus.push_back(seat.gpu);
  gpus.insert(gpus.end(), seat.more_gpus.begin(), seat.more_gpus.end());
  return gpus;
}

int nearest_gpu(const NodeParts& node, const CpuMask& cpus) {
  int best = -1;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const CpuMask& near = node.gpus[i].near;
    if (!near.intersects(cpus)) continue;
    if (best < 0 || near.count() < node.gpus[static_cast<std::size_t>(best)].near.count()) best = static_cast<int>(i);
  }
  return best;
}

Nearness nearness_of(const CpuMask& mask, const CpuMask& near) {
  if (mask.empty() || near.empty()) return Nearness::unknown;
  if (mask.is_subset_of(near)) return Nearness::inside;
  return mask.intersects(near) ? Nearness::touching : Nearness::apart;
}

CpuMask core_numbers(const Layout& layout, const CpuMask& mask) {
  CpuMask numbers;
  for (std::size_t i = 0; i < layout.cores.size(); ++i)
    if (layout.cores[i].intersects(mask)) numbers.add(static_cast<int>(i));
  return numbers;
}

}  // namespace muster
