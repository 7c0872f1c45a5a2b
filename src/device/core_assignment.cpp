#include "device/core_assignment.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace muster {

namespace {

using Ranks = std::vector<std::size_t>;

/// Ranks of the same home.
struct Group {
  CpuMask home;
  Ranks ranks;
};

/// The smallest home first: who has little choice is served before who has more.
std::vector<Group> groups_of(const CoreAssignment& assignment) {
  std::vector<Group> groups;
  for (std::size_t rank = 0; rank < assignment.homes.size(); ++rank) {
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const Group& group) { return group.home == assignment.homes[rank]; });
    (same == groups.end() ? *groups.insert(groups.end(), {assignment.homes[rank], {}}) : *same).ranks.push_back(rank);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.home.count() < b.home.count(); });
  return groups;
}

bool are_apart(const std::vector<Group>& groups) {
  CpuMask seen;
  for (const Group& group : groups) {
    if (group.home.intersects(seen)) return false;
    seen = seen | group.home;
  }
  return true;
}

/// `cores`, cut where a cache ends.
std::vector<std::vector<int>> by_cache(const Layout& layout, const std::vector<int>& cores) {
  std::vector<std::vector<int>> parts;
  const CpuMask* last = nullptr;
  for (const int core : cores) {
    const auto cache =
        std::find_if(layout.caches.begin(), layout.caches.end(), [&](const CpuMask& one) { return one.has(core); });
    const CpuMask* at = cache == layout.caches.end() ? nullptr : &*cache;
    if (parts.empty() || at != last) parts.emplace_back();
    parts.back().push_back(core);
    last = at;
  }
  return parts;
}

/// `width` cores for each of `ranks`, from where its even share begins; the share itself is what lies inside.
void cut(const std::vector<int>& cores, const Ranks& ranks, std::size_t width, std::vector<CpuMask>& seats) {
  const std::size_t share = ranks.empty() ? 0 : cores.size() / ranks.size();
  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (std::size_t k = 0; k < std::min(width, share); ++k) seats[ranks[i]].add(cores[i * share + k]);
}

/// Each rank inside one cache where all fit so, else across. A rank that finds fewer than `width` gets what is there.
void share_out(const Layout& layout, const std::vector<int>& cores, const Ranks& ranks, std::size_t width,
               std::vector<CpuMask>& seats) {
  if (ranks.empty() || cores.empty()) return;
  if (cores.size() < ranks.size()) {
    for (std::size_t i = 0; i < cores.size(); ++i) seats[ranks[i]].add(cores[i]);
    return;
  }
  const std::size_t wanted = std::min(width == 0 ? cores.size() : width, cores.size() / ranks.size());
  const auto parts = by_cache(layout, cores);
  std::vector<Ranks> in_part(parts.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) in_part[i * parts.size() / ranks.size()].push_back(ranks[i]);
  bool fits = true;
  for (std::size_t i = 0; i < parts.size(); ++i) fits &= in_part[i].size() * wanted <= parts[i].size();
  if (!fits) return cut(cores, ranks, wanted, seats);
  for (std::size_t i = 0; i < parts.size(); ++i) cut(parts[i], in_part[i], wanted, seats);
}

CpuMask taken_of(const std::vector<CpuMask>& seats) {
  CpuMask taken;
  for (const CpuMask& one : seats) taken = taken | one;
  return taken;
}

/// As many cores of `region` as `mine` still lacks.
void fill(const Layout& layout, const CpuMask& region, std::size_t width, CpuMask& taken, CpuMask& mine) {
  for (const int core : free_cores(layout, region - taken)) {
    if (static_cast<std::size_t>(mine.count()) >= width) return;
    mine.add(core);
    taken.add(core);
  }
}

/// Gives each rank `width` cores of those that it may have, moving those given before where that helps: if there is a
/// way, it is found. Cores are numbered as in `open`.
class Matching {
 public:
  Matching(const CoreAssignment& assignment, const std::vector<int>& open) : owner_(open.size(), nobody) {
    for (const CpuMask& home : assignment.homes) {
      const CpuMask around = domains_around(assignment.layout, home);
      auto& mine = may_.emplace_back();
      for (std::size_t core = 0; core < open.size(); ++core)
        if (around.has(open[core])) mine.push_back(core);
    }
  }

  [[nodiscard]] std::size_t ranks() const { return may_.size(); }
  [[nodiscard]] std::size_t owner_of(std::size_t core) const { return owner_[core]; }

  /// False: there is no such core; `tried` are then the ranks that want what this one wants.
  bool give(std::size_t rank, std::vector<bool>& tried) {
    if (tried[rank]) return false;
    tried[rank] = true;
    for (const std::size_t core : may_[rank])
      if (owner_[core] == nobody) return owner_[core] = rank, true;
    for (const std::size_t core : may_[rank])
      if (owner_[core] != rank && give(owner_[core], tried)) return owner_[core] = rank, true;
    return false;
  }

  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

 private:
  std::vector<std::vector<std::size_t>> may_;
  std::vector<std::size_t> owner_;
};

/// Any sharing with that width in the domains of the homes.
std::optional<std::vector<CpuMask>> seat_somehow(const CoreAssignment& assignment, std::size_t width) {
  const std::vector<int> open = free_cores(assignment.layout, assignment.usable);
  Matching matching(assignment, open);
  for (std::size_t round = 0; round < width; ++round)
    for (std::size_t rank = 0; rank < matching.ranks(); ++rank)
      if (std::vector<bool> tried(matching.ranks()); !matching.give(rank, tried)) return std::nullopt;
  std::vector<CpuMask> seats(matching.ranks());
  for (std::size_t core = 0; core < open.size(); ++core)
    if (matching.owner_of(core) != Matching::nobody) seats[matching.owner_of(core)].add(open[core]);
  return seats;
}

/// One core near for each, then what lacks from wherever cores are left.
std::optional<std::vector<CpuMask>> seat_from_anywhere(const CoreAssignment& assignment, std::size_t width) {
  auto seats = seat_somehow(assignment, 1);
  if (!seats) return std::nullopt;
  CpuMask open, taken = taken_of(*seats);
  for (const int core : free_cores(assignment.layout, assignment.usable)) open.add(core);
  for (const bool is_near : {true, false})
    for (std::size_t i = 0; i < seats->size(); ++i)
      fill(assignment.layout, is_near ? open & domains_around(assignment.layout, assignment.homes[i]) : open, width,
           taken, (*seats)[i]);
  for (const CpuMask& one : *seats)
    if (static_cast<std::size_t>(one.count()) < width) return std::nullopt;
  return seats;
}

/// One try with a fixed width.
std::optional<std::vector<CpuMask>> seat_wide(const CoreAssignment& assignment, std::size_t width, CoreRange range) {
  std::vector<CpuMask> seats(assignment.homes.size());
  const std::vector<int> all = free_cores(assignment.layout, assignment.usable);
  CpuMask open;
  for (const int core : all) open.add(core);
  for (const Group& group : groups_of(assignment)) {
    const CpuMask left = (open - taken_of(seats)) & group.home;
    share_out(assignment.layout, free_cores(assignment.layout, left), group.ranks, width, seats);
  }
  CpuMask taken = taken_of(seats);
  for (const CoreRange reach : {CoreRange::domain, CoreRange::node}) {
    if (reach > range) break;
    for (std::size_t i = 0; i < seats.size(); ++i) {
      if (reach == CoreRange::node && seats[i].empty()) return std::nullopt;
      const CpuMask around =
          reach == CoreRange::node ? open : open & domains_around(assignment.layout, assignment.homes[i]);
      fill(assignment.layout, around, width, taken, seats[i]);
    }
  }
  for (const CpuMask& one : seats)
    if (static_cast<std::size_t>(one.count()) < width) return std::nullopt;
  return seats;
}

/// Cores of a domain; a machine without domains is one.
std::vector<CpuMask> domains_with_cores(const Layout& layout, const CpuMask& usable) {
  std::vector<CpuMask> domains;
  for (const auto& [number, cpus] : layout.domains)
    if (cpus.intersects(usable)) domains.push_back(cpus);
  return domains;
}

}  // namespace

std::vector<int> free_cores(const Layout& layout, const CpuMask& usable) {
  std::vector<int> cores;
  for (const CpuMask& core : layout.cores)
    if (const CpuMask left = core & usable; !left.empty()) cores.push_back(left.lowest());
  return cores;
}

CpuMask domains_around(const Layout& layout, const CpuMask& home) {
  CpuMask around = home;
  for (const auto& [number, cpus] : layout.domains)
    if (cpus.intersects(home)) around = around | cpus;
  return around;
}

std::optional<std::vector<CpuMask>> assign_cores(const CoreAssignment& assignment, int width, CoreRange range) {
  if (width > 0) {
    const auto wide = static_cast<std::size_t>(width);
    if (auto seats = seat_wide(assignment, wide, range)) return seats;
    return range == CoreRange::node ? seat_from_anywhere(assignment, wide) : seat_somehow(assignment, wide);
  }
  const auto groups = groups_of(assignment);
  if (are_apart(groups)) {
    std::vector<CpuMask> seats(assignment.homes.size());
    for (const Group& group : groups)
      share_out(assignment.layout, free_cores(assignment.layout, assignment.usable & group.home), group.ranks, 0,
                seats);
    if (std::none_of(seats.begin(), seats.end(), [](const CpuMask& one) { return one.empty(); })) return seats;
  }
  // Homes that overlap, or too small ones: as many cores for each rank as the narrowest place has.
  const std::size_t all = free_cores(assignment.layout, assignment.usable).size();
  for (const CoreRange reach : {CoreRange::home, CoreRange::domain})
    for (std::size_t fair = all / std::max<std::size_t>(1, assignment.homes.size()); fair > 0 && reach <= range; --fair)
      if (auto seats = seat_wide(assignment, fair, reach)) return seats;
  // In the domains of overlapping homes who is served first may take what only others can have.
  std::optional<std::vector<CpuMask>> best;
  for (std::size_t low = 1, high = all / std::max<std::size_t>(1, assignment.homes.size()); low <= high;) {
    const std::size_t middle = (low + high) / 2;
    if (auto seats = seat_somehow(assignment, middle))
      best = std::move(seats), low = middle + 1;
    else
      high = middle - 1;
  }
  return best;
}

std::vector<std::size_t> crowded_ranks(const CoreAssignment& assignment) {
  const std::vector<int> open = free_cores(assignment.layout, assignment.usable);
  Matching matching(assignment, open);
  for (std::size_t rank = 0; rank < matching.ranks(); ++rank) {
    std::vector<bool> tried(matching.ranks());
    if (matching.give(rank, tried)) continue;
    std::vector<std::size_t> crowded;
    for (std::size_t other = 0; other < tried.size(); ++other)
      if (tried[other]) crowded.push_back(other);
    return crowded;
  }
  return {};
}

std::optional<std::vector<CpuMask>> assign_cores_compactly(const CoreAssignment& assignment, int width) {
  const std::vector<int> all = free_cores(assignment.layout, assignment.usable);
  const std::size_t ranks = assignment.homes.size();
  const std::size_t wide = width > 0 ? static_cast<std::size_t>(width) : all.size() / std::max<std::size_t>(1, ranks);
  if (wide == 0) return std::nullopt;
  std::vector<std::vector<int>> domains;
  CpuMask seen;
  for (const CpuMask& domain : domains_with_cores(assignment.layout, assignment.usable)) {
    domains.push_back(free_cores(assignment.layout, (domain - seen) & assignment.usable));
    seen = seen | assignment.layout.whole_cores(domain);
  }
  for (const auto& parts : {by_cache(assignment.layout, all), domains, {all}}) {
    std::vector<CpuMask> seats;
    for (const auto& part : parts)
      for (std::size_t at = 0; at + wide <= part.size() && seats.size() < ranks; at += wide) {
        seats.emplace_back();
        for (std::size_t k = 0; k < wide; ++k) seats.back().add(part[at + k]);
      }
    if (seats.size() == ranks) return seats;
  }
  return std::nullopt;
}

std::vector<CpuMask> spread_homes(const Layout& layout, const CpuMask& usable, std::size_t ranks, int width) {
  const auto domains = domains_with_cores(layout, usable);
  if (domains.empty()) return std::vector<CpuMask>(ranks, usable);
  const auto need = static_cast<std::size_t>(std::max(1, width));
  std::vector<std::size_t> room;
  std::vector<std::size_t> count(domains.size(), 0);
  for (const CpuMask& domain : domains) room.push_back(free_cores(layout, domain & usable).size());
  for (std::size_t i = 0; i < ranks; ++i) ++count[i * domains.size() / ranks];
  bool fits = true;
  for (std::size_t i = 0; i < domains.size(); ++i) fits &= count[i] * need <= room[i];
  if (!fits) {
    // Domains of different size: the next rank goes where most is left for each.
    std::fill(count.begin(), count.end(), 0);
    for (std::size_t i = 0; i < ranks; ++i) {
      std::size_t best = domains.size();
      for (std::size_t k = 0; k < domains.size(); ++k)
        if ((count[k] + 1) * need <= room[k] &&
            (best == domains.size() || room[k] * (count[best] + 1) > room[best] * (count[k] + 1)))
          best = k;
      if (best == domains.size()) return std::vector<CpuMask>(ranks, usable);
      ++count[best];
    }
  }
  std::vector<CpuMask> homes;
  for (std::size_t k = 0; k < domains.size(); ++k) homes.insert(homes.end(), count[k], domains[k]);
  return homes;
}

}  // namespace muster
