// Units that are slow with others and well among each other share what is slow: a rack, a switch, an uplink.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "stats/culprits_sides.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

constexpr double seldom = 0.6;                ///< of its readings
constexpr double least_apart = 0.85;          ///< of the meetings of two sets
constexpr std::size_t most_inner_cells = 31;  ///< a rack of 32, of which no two were measured together
constexpr std::size_t most_doubtful = 12;
constexpr double least_of_member_well = 0.75;   ///< of the meetings of a member with others
constexpr double sparse = 0.1;                  ///< of all pairs
constexpr std::size_t most_links_of_path = 11;  ///< of whose ends it is asked whether they share a path

bool has(const std::vector<int>& units, int unit) {
  return std::binary_search(units.begin(), units.end(), unit);
}

/// With all others, or with the other end of its path.
bool crosses(const SuspectPart& group, int a, int b) {
  if (group.far_ends.empty()) return has(group.ends, a) != has(group.ends, b);
  return (has(group.ends, a) && has(group.far_ends, b)) || (has(group.ends, b) && has(group.far_ends, a));
}

SuspectPart part_of(const PairTable& table, const Sides& sides, double bound) {
  SuspectPart part;
  part.kind = PartKind::group;
  part.is_both_ways = true;
  part.ends = sides.members(1);
  if (sides.is_path()) part.far_ends = sides.members(2);
  std::vector<SeenReading> seen;
  for (const Pair& pair : table.pairs) {
    if (!sides.is_crossing(sides.of(pair.low), sides.of(pair.high))) continue;
    for (const LinkReading& reading : table.readings_of(pair))
      if (!reading.is_alone) seen.push_back({reading.round, reading.slowness});
  }
  count_readings(part, seen, bound);
  return part;
}

/// The named, by sets that are connected by meetings that went well; the largest first.
std::vector<std::vector<int>> connected_sets(const std::vector<Meeting>& meetings,
                                             const std::vector<SuspectPart>& parts, int units) {
  std::vector<int> root(static_cast<std::size_t>(units), -1);
  for (const SuspectPart& part : parts) root[static_cast<std::size_t>(part.ends.front())] = part.ends.front();
  const auto find = [&](int unit) {
    while (root[static_cast<std::size_t>(unit)] != unit) unit = root[static_cast<std::size_t>(unit)];
    return unit;
  };
  for (const Meeting& meeting : meetings)
    if (!meeting.is_slow && root[static_cast<std::size_t>(meeting.low)] >= 0 &&
        root[static_cast<std::size_t>(meeting.high)] >= 0)
      root[static_cast<std::size_t>(find(meeting.low))] = find(meeting.high);
  std::map<int, std::vector<int>> by_root;
  for (const SuspectPart& part : parts) by_root[find(part.ends.front())].push_back(part.ends.front());
  std::vector<std::vector<int>> sets;
  for (auto& [first, members] : by_root) sets.push_back(std::move(members));
  std::stable_sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return sets;
}

/// Which sets the meetings between them show to belong to the largest one, and which to be something else.
class SetLinks {
 public:
  SetLinks(const std::vector<Meeting>& meetings, const std::vector<std::vector<int>>& sets) : sets_(sets) {
    for (std::size_t i = 0; i < sets.size(); ++i)
      for (const int unit : sets[i]) set_of_[unit] = i;
    for (const Meeting& meeting : meetings) {
      const std::size_t a = of(meeting.low);
      const std::size_t b = of(meeting.high);
      if (std::max(a, b) >= sets.size()) continue;
      if (meeting.is_slow && !meeting.is_alone) doubtful_.push_back({meeting.low, meeting.high, 0});
      if (a == b) {
        inner_.add(meeting.is_slow);
        continue;
      }
      Between& between = between_[{std::min(a, b), std::max(a, b)}];
      between.count.add(meeting.is_slow);
      between.is_alone |= meeting.is_alone;
    }
  }

  /// The number of sets: the unit was not named.
  [[nodiscard]] std::size_t of(int unit) const {
    const auto found = set_of_.find(unit);
    return found == set_of_.end() ? sets_.size() : found->second;
  }
  /// All meetings of two of the named.
  [[nodiscard]] Count all() const {
    Count sum = inner_;
    for (const auto& [sets, between] : between_) sum.slow += between.count.slow, sum.all += between.count.all;
    return sum;
  }
  /// Slow with the largest set whenever they met.
  [[nodiscard]] bool is_apart(std::size_t set) const {
    const auto found = between_.find({0, set});
    return set > 0 && found != between_.end() && found->second.decides() && found->second.count.share() >= least_apart;
  }
  [[nodiscard]] bool is_other_group(std::size_t set) const {
    return set < sets_.size() && sets_[set].size() >= fewest_members && is_apart(set);
  }
  /// Cells, by number, from each set to the next two: neighbours are more often of one rack. And what was slow
  /// in the rounds, perhaps by chance. They decide what is slow with what.
  void propose(std::vector<LinkCell>& cells) const {
    std::vector<int> first;
    for (const auto& set : sets_) first.push_back(set.front());
    std::sort(first.begin(), first.end());
    const std::size_t most = cells.size() + most_inner_cells;
    for (const std::size_t step : {1, 2})
      for (std::size_t i = step; i < first.size() && cells.size() < most; ++i) {
        const auto found = between_.find(std::minmax(of(first[i - step]), of(first[i])));
        if (found == between_.end() || !found->second.decides()) cells.push_back({first[i - step], first[i], 0});
      }
    if (doubtful_.size() <= most_doubtful) cells.insert(cells.end(), doubtful_.begin(), doubtful_.end());
  }

 private:
  struct Between {
    Count count;
    bool is_alone = false;
    /// One or two meetings in the rounds may be slow by chance.
    [[nodiscard]] bool decides() const { return count.all > (is_alone ? 1 : 2); }
  };

  const std::vector<std::vector<int>>& sets_;
  std::map<int, std::size_t> set_of_;
  std::map<std::pair<std::size_t, std::size_t>, Between> between_;
  Count inner_;
  std::vector<LinkCell> doubtful_;
};

/// What two of the named being well with each other shows: they share what is slow. Sets that never met the largest one
/// count as part of it.
std::vector<int> likely_members(const SetLinks& links, const std::vector<std::vector<int>>& sets) {
  std::vector<int> members;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (!links.is_apart(i)) members.insert(members.end(), sets[i].begin(), sets[i].end());
  return members;
}

/// Beside enough of them that are slow most of the time, those that are seldom slow are others' bad luck.
std::vector<SuspectPart> candidates_of(std::vector<SuspectPart> named) {
  join_roles(named);
  const auto is_seldom = [](const SuspectPart& part) { return part.slow < seldom * part.readings; };
  const auto often = std::count_if(named.begin(), named.end(), std::not_fn(is_seldom));
  if (often >= static_cast<std::ptrdiff_t>(fewest_members)) std::erase_if(named, is_seldom);
  return named;
}

/// The group that named units form; `bound` is what is slow for them.
std::optional<Sides> group_of_named(const PairTable& table, const DecodeSettings& settings, Culprits& found,
                                    double& bound) {
  const std::vector<SuspectPart> named = candidates_of(found.parts);
  std::vector<double> slowdowns;
  for (const SuspectPart& part : named) slowdowns.push_back(slowness_of(part.slowdown));
  if (slowdowns.size() < fewest_members) return std::nullopt;
  bound = std::max(slowness_of(settings.least_slowdown), *median(slowdowns)) / 2;
  const auto meetings = meetings_of(table, found.groups, bound);
  const auto sets = connected_sets(meetings, named, table.units);
  const SetLinks links(meetings, sets);
  const bool has_inner = links.all().all >= fewest_inner;
  if (!has_inner) {
    links.propose(found.worth_repeating);
    return std::nullopt;
  }
  // Members of other sets may be a group of their own, meetings with which show nothing about this one; or the other
  // end of a path.
  auto shown = meetings;
  std::erase_if(shown, [&](const Meeting& one) {
    return links.is_other_group(links.of(one.low)) || links.is_other_group(links.of(one.high));
  });
  auto sides = better(meetings, divide(table, shown, likely_members(links, sets)), find_path(table, meetings));
  // Nodes that are each slow are slow with each other, too.
  const bool is_each_slow = links.all().slow == links.all().all;
  if (!is_each_slow && !(sides && sides->is_path())) links.propose(found.worth_repeating);
  return sides;
}

/// Mean slowness of the direction of a pair that is less slow; nullopt: one was not measured, or one alone.
std::optional<double> slowness_both_ways(const PairTable& table, const Pair& pair) {
  std::array<RunningMean, 2> ways;
  for (const LinkReading& reading : table.readings_of(pair)) {
    if (reading.is_alone) return std::nullopt;
    ways[reading.is_upward].add(reading.slowness);
  }
  if (ways[0].n == 0 || ways[1].n == 0) return std::nullopt;
  return std::min(ways[0].mean(), ways[1].mean());
}

/// The slowest pairs of which no two share a unit, by more than `bound`; none where one was measured alone.
std::vector<Pair> separate_slow_pairs(const PairTable& table, double bound) {
  std::vector<std::pair<double, Pair>> slow;
  for (const Pair& pair : table.pairs)
    if (const auto slowness = slowness_both_ways(table, pair); slowness && *slowness > bound)
      slow.emplace_back(*slowness, pair);
  std::stable_sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<bool> is_taken(static_cast<std::size_t>(table.units));
  std::vector<Pair> separate;
  for (const auto& [slowness, pair] : slow) {
    if (separate.size() == most_links_of_path) break;
    if (is_taken[static_cast<std::size_t>(pair.low)] || is_taken[static_cast<std::size_t>(pair.high)]) continue;
    is_taken[static_cast<std::size_t>(pair.low)] = is_taken[static_cast<std::size_t>(pair.high)] = true;
    separate.push_back(pair);
  }
  return separate;
}

/// In few rounds each unit crosses a path once or never, so that its pairs look like slow links. Of a path, one end of
/// each is slow with an end of another pair, and the other one is not. Of many pairs, each is held against one of the
/// first two in turn, of few against several: a group has to be beyond chance without the unit that is slow most often.
void propose_ends_of_links(const PairTable& table, double bound, std::vector<LinkCell>& cells) {
  const std::vector<Pair> pairs = separate_slow_pairs(table, bound);
  if (pairs.size() < fewest_members) return;
  const std::size_t references = std::min<std::size_t>(most_inner_cells / (2 * (pairs.size() - 1)), 3);
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    const std::size_t first = references > 1 ? 0 : (i - 1) % 2;
    for (std::size_t reference = first; reference < std::min(first + references, i); ++reference)
      for (const int end : {pairs[i].low, pairs[i].high}) cells.push_back({pairs[reference].low, end, 0});
  }
}

/// Slowness from which a meeting may be one across a slow path: clearly more than noise.
double bound_of_paths(const DecodeSettings& settings, const std::vector<ClassLevel>& levels) {
  double noise = 0;
  for (const ClassLevel& level : levels) noise = std::max(noise, level.pair_noise);
  return std::max(0.75 * slowness_of(settings.least_slowdown), 3 * noise / std::sqrt(2.0));
}

/// Whether the unit, which was named, is well with those of the group that it met.
bool is_well_with(const PairTable& table, const SuspectPart& group, int unit) {
  const double bound = slowness_of(group.slowdown) / 2;
  Count met;
  for (const std::size_t i : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[i];
    if (!has(group.ends, pair.other(unit))) continue;
    RunningMean mean;
    for (const LinkReading& reading : table.readings_of(pair)) mean.add(reading.slowness);
    met.add(mean.mean() > bound);
  }
  return met.all > 0 && met.share() <= 1 - least_of_member_well;
}

}  // namespace

bool is_sparsely_measured(const PairTable& table) {
  const double units = table.present_units;
  return static_cast<double>(table.pairs.size()) < sparse * units * (units - 1) / 2;
}

bool decides_group_alone(const PairTable& table, const Pair& pair) {
  return is_sparsely_measured(table) && std::ranges::all_of(table.readings_of(pair), &LinkReading::is_alone);
}

bool is_across_any(std::span<const SuspectPart> groups, int a, int b) {
  return std::any_of(groups.begin(), groups.end(), [&](const SuspectPart& group) { return crosses(group, a, b); });
}

void join_groups(const PairTable& table, Culprits& found) {
  std::erase_if(found.parts, [&](const SuspectPart& part) {
    if (part.kind == PartKind::link || part.kind == PartKind::either) return false;
    const int unit = part.ends.front();
    const auto of = std::ranges::find_if(found.groups, [&](const SuspectPart& group) {
      return group.far_ends.empty() && is_well_with(table, group, unit);
    });
    if (of == found.groups.end()) return false;
    if (!has(of->ends, unit)) of->ends.insert(std::ranges::upper_bound(of->ends, unit), unit);
    return true;
  });
}

bool name_group(PairTable& table, const DecodeSettings& settings, Culprits& found) {
  double bound = 0;
  const auto propose = [&](const Sides& sides, const std::vector<Meeting>& meetings) {
    const auto most = std::max(most_inner_cells, static_cast<std::size_t>(table.present_units) / 4);
    const auto cells = undecided_cells(table, meetings, sides, most);
    found.worth_repeating.insert(found.worth_repeating.end(), cells.begin(), cells.end());
  };
  std::optional<Sides> sides = group_of_named(table, settings, found, bound);
  if (!sides) {
    bound = bound_of_paths(settings, found.levels);
    const auto meetings = meetings_of(table, found.groups, bound);
    sides = find_path(table, meetings);
    const bool is_sparse = is_sparsely_measured(table);
    if (!sides && is_sparse) sides = find_path(table, meetings_of(table, found.groups, bound, SlowWhen::both_ways));
    if (!sides) {
      if (const auto likely = find_path(table, meetings, Certainty::likely))
        propose(*likely, meetings);
      else if (is_sparse)
        propose_ends_of_links(table, bound, found.worth_repeating);
    }
  }
  if (!sides) return false;
  if (sides->is_path()) propose(*sides, meetings_of(table, found.groups, bound));
  std::erase_if(found.parts, [&](const SuspectPart& part) { return sides->of(part.ends.front()) != 0; });
  found.groups.push_back(part_of(table, *sides, bound));
  explain_found(table, found);
  return true;
}

}  // namespace muster::culprits
