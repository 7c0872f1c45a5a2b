// Units that are slow with others and well among each other share what is slow: a rack, a switch, an uplink.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "stats/culprits_pairs.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

constexpr std::size_t fewest_members = 4;
constexpr int fewest_inner = 3;      ///< meetings of two members
constexpr double least_slow = 0.85;  ///< of the meetings that a group should explain
constexpr double least_well = 0.75;  ///< of the others of its members: slow nodes would be slow with each other
constexpr double nearly_all = 0.7;   ///< of the other units slow with it: it is slow with all of them
constexpr std::size_t most_inner_cells = 12;
constexpr double false_group_rate = 0.01;  ///< per matrix: a division of the units that fits as well by chance

bool has(const std::vector<int>& units, int unit) {
  return std::binary_search(units.begin(), units.end(), unit);
}

/// With all others, or with the other end of its path.
bool crosses(const SuspectPart& group, int a, int b) {
  if (group.far_ends.empty()) return has(group.ends, a) != has(group.ends, b);
  return (has(group.ends, a) && has(group.far_ends, b)) || (has(group.ends, b) && has(group.far_ends, a));
}

/// One pair, all its rounds together; or alone.
struct Meeting {
  int low = 0;
  int high = 0;
  bool is_slow = false;
};

std::vector<Meeting> meetings_of(const PairTable& table, const std::vector<SuspectPart>& groups, double bound) {
  std::vector<Meeting> meetings;
  for (const Pair& pair : table.pairs) {
    if (is_across_any(groups, pair.low, pair.high)) continue;
    double sum[2] = {0, 0};
    int n[2] = {0, 0};
    for (std::size_t i = pair.begin; i < pair.end; ++i) {
      sum[table.readings[i].is_alone] += table.readings[i].slowness;
      ++n[table.readings[i].is_alone];
    }
    // What was measured alone has more weight.
    const int which = n[1] > 0 ? 1 : 0;
    if (n[which] > 0) meetings.push_back({pair.low, pair.high, sum[which] / n[which] > bound});
  }
  return meetings;
}

/// Where each unit belongs: 0 elsewhere, 1 to the group, 2 to the other end of a path.
class Sides {
 public:
  Sides(const PairTable& table, std::vector<Meeting> meetings)
      : meetings_(std::move(meetings)), side_(static_cast<std::size_t>(table.units)) {}

  int& of(int unit) { return side_[static_cast<std::size_t>(unit)]; }
  [[nodiscard]] int of(int unit) const { return side_[static_cast<std::size_t>(unit)]; }
  [[nodiscard]] const std::vector<Meeting>& meetings() const { return meetings_; }
  [[nodiscard]] std::vector<int> members(int side) const {
    std::vector<int> units;
    for (std::size_t unit = 0; unit < side_.size(); ++unit)
      if (side_[unit] == side) units.push_back(static_cast<int>(unit));
    return units;
  }
  /// With a path only the two ends are slow with each other, else the group with all others.
  [[nodiscard]] static bool is_crossing(int a, int b, bool is_path) {
    return is_path ? a + b == 3 : (a == 1) != (b == 1);
  }

 private:
  std::vector<Meeting> meetings_;
  std::vector<int> side_;
};

/// By unit: meetings that don't fit, were it on that side.
std::vector<std::array<int, 3>> misfits(const PairTable& table, const Sides& sides, bool is_path) {
  std::vector<std::array<int, 3>> all(static_cast<std::size_t>(table.units));
  for (const Meeting& meeting : sides.meetings())
    for (const auto& [unit, other] : {std::pair(meeting.low, meeting.high), std::pair(meeting.high, meeting.low)})
      for (int side = 0; side < 3; ++side)
        all[static_cast<std::size_t>(unit)][static_cast<std::size_t>(side)] +=
            Sides::is_crossing(side, sides.of(other), is_path) != meeting.is_slow;
  return all;
}

/// Moves units to the side that fits them best, until none moves.
void refine(const PairTable& table, Sides& sides, bool is_path) {
  for (int step = 0; step < 8; ++step) {
    const auto all = misfits(table, sides, is_path);
    bool has_moved = false;
    for (int unit = 0; unit < table.units; ++unit) {
      const auto& one = all[static_cast<std::size_t>(unit)];
      int best = sides.of(unit);
      for (int side = 0; side < (is_path ? 3 : 2); ++side)
        if (one[static_cast<std::size_t>(side)] < one[static_cast<std::size_t>(best)]) best = side;
      has_moved = has_moved || best != sides.of(unit);
      sides.of(unit) = best;
    }
    if (!has_moved) break;
  }
}

struct Fit {
  int inner = 0;  ///< meetings of two of the same end
  int inner_well = 0;
  int crossing = 0;
  int crossing_slow = 0;
  [[nodiscard]] bool is_good() const {
    return fits(inner_well, inner, least_well) && fits(crossing_slow, crossing, least_slow);
  }
  /// A single misfit among few pairs is consistent with chance.
  [[nodiscard]] static bool fits(int fitting, int all, double least) {
    return all >= fewest_inner && all - fitting <= std::max(1.0, (1 - least) * all);
  }
};

Fit fit_of(const Sides& sides, bool is_path) {
  Fit fit;
  for (const Meeting& meeting : sides.meetings()) {
    const int a = sides.of(meeting.low);
    const int b = sides.of(meeting.high);
    if (a == b && a > 0) {
      ++fit.inner;
      fit.inner_well += !meeting.is_slow;
    }
    if (!Sides::is_crossing(a, b, is_path)) continue;
    ++fit.crossing;
    fit.crossing_slow += meeting.is_slow;
  }
  return fit;
}

/// Of each unit: the meetings that cross.
std::vector<Count> crossings(const Sides& sides, bool is_path, int units) {
  std::vector<Count> of(static_cast<std::size_t>(units));
  for (const Meeting& meeting : sides.meetings()) {
    if (!Sides::is_crossing(sides.of(meeting.low), sides.of(meeting.high), is_path)) continue;
    for (const int unit : {meeting.low, meeting.high}) of[static_cast<std::size_t>(unit)].add(meeting.is_slow);
  }
  return of;
}

/// Slow meetings that hit any pair alike make no group, however the units are divided: log of how likely one of the
/// divisions into groups of these sizes fits as well by chance. Without the unit that is slow most often: alone it
/// makes no group either.
double log_chance(const PairTable& table, const Sides& sides, bool is_path) {
  const auto units = table.present_units;
  const auto of = crossings(sides, is_path, table.units);
  const auto most =
      std::max_element(of.begin(), of.end(), [](const Count& a, const Count& b) { return a.slow < b.slow; });
  const auto left_out = static_cast<int>(most - of.begin());
  Count crossing;
  Count others;
  for (const Meeting& meeting : sides.meetings()) {
    if (meeting.low == left_out || meeting.high == left_out) continue;
    const bool is_across = Sides::is_crossing(sides.of(meeting.low), sides.of(meeting.high), is_path);
    (is_across ? crossing : others).add(meeting.is_slow);
  }
  const auto near = static_cast<double>(sides.members(1).size());
  const auto far = static_cast<double>(sides.members(2).size());
  return log_upper_tail(crossing, others.rate()) + log_choose(units, near) + log_choose(units - near, far);
}

/// Units outside of the group most of whose meetings with it are slow go to the other end; true: those are not nearly
/// all others, so it is a path.
bool find_other_end(Sides& sides) {
  std::map<int, std::pair<int, int>> met;
  for (const Meeting& meeting : sides.meetings()) {
    const int a = sides.of(meeting.low);
    const int b = sides.of(meeting.high);
    if ((a == 1) == (b == 1)) continue;
    auto& [slow, all] = met[a == 1 ? meeting.high : meeting.low];
    slow += meeting.is_slow;
    ++all;
  }
  std::vector<int> ends;
  for (const auto& [unit, counts] : met)
    if (2 * counts.first > counts.second) ends.push_back(unit);
  if (static_cast<double>(ends.size()) >= nearly_all * static_cast<double>(met.size())) return false;
  for (const int unit : ends) sides.of(unit) = 2;
  return true;
}

SuspectPart part_of(const PairTable& table, const Sides& sides, bool is_path, double bound) {
  SuspectPart part;
  part.kind = PartKind::group;
  part.is_both_ways = true;
  part.ends = sides.members(1);
  if (is_path) part.far_ends = sides.members(2);
  std::vector<SeenReading> seen;
  for (const Pair& pair : table.pairs) {
    if (!Sides::is_crossing(sides.of(pair.low), sides.of(pair.high), is_path)) continue;
    for (std::size_t i = pair.begin; i < pair.end; ++i)
      if (!table.readings[i].is_alone) seen.push_back({table.readings[i].round, table.readings[i].slowness});
  }
  count_readings(part, seen, bound);
  return part;
}

/// A ring through the named: if they are slow with each other, too, each is slow for itself.
void propose_inner(const std::vector<SuspectPart>& parts, std::vector<LinkCell>& cells) {
  for (std::size_t i = 0; i < parts.size() && cells.size() < most_inner_cells; ++i) {
    const int a = parts[i].ends.front();
    const int b = parts[(i + 1) % parts.size()].ends.front();
    cells.push_back({a, b, 0});
    cells.push_back({b, a, 0});
  }
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

/// Meetings with members of a set that is slow with the largest one show nothing about that: it may be a group of its
/// own.
void leave_out_other_sets(const std::vector<std::vector<int>>& sets, std::vector<Meeting>& meetings) {
  std::map<int, std::size_t> set_of;
  for (std::size_t i = 0; i < sets.size() && sets[i].size() >= fewest_members; ++i)
    for (const int unit : sets[i]) set_of[unit] = i;
  std::vector<Count> with_largest(sets.size());
  const auto find = [&](int unit) {
    const auto found = set_of.find(unit);
    return found == set_of.end() ? sets.size() : found->second;
  };
  for (const Meeting& meeting : meetings) {
    const std::size_t a = find(meeting.low);
    const std::size_t b = find(meeting.high);
    if (a != b && std::min(a, b) == 0 && std::max(a, b) < sets.size())
      with_largest[std::max(a, b)].add(meeting.is_slow);
  }
  const auto is_other = [&](int unit) {
    const std::size_t i = find(unit);
    return i < sets.size() && with_largest[i].all >= fewest_inner && with_largest[i].share() >= least_slow;
  };
  std::erase_if(meetings, [&](const Meeting& one) { return is_other(one.low) || is_other(one.high); });
}

bool has_inner(const std::vector<Meeting>& meetings, const std::vector<SuspectPart>& parts) {
  int inner = 0;
  const auto is_named = [&](int unit) {
    return std::any_of(parts.begin(), parts.end(), [&](const SuspectPart& part) { return part.ends.front() == unit; });
  };
  for (const Meeting& meeting : meetings) inner += is_named(meeting.low) && is_named(meeting.high);
  return inner >= fewest_inner;
}

}  // namespace

bool is_across_any(std::span<const SuspectPart> groups, int a, int b) {
  return std::any_of(groups.begin(), groups.end(), [&](const SuspectPart& group) { return crosses(group, a, b); });
}

bool name_group(PairTable& table, const DecodeSettings& settings, Culprits& found) {
  std::vector<SuspectPart> named = found.parts;
  join_roles(named);
  std::vector<double> slowdowns;
  for (const SuspectPart& part : named) slowdowns.push_back(slowness_of(part.slowdown));
  if (slowdowns.size() < fewest_members) return false;
  const double bound = std::max(slowness_of(settings.least_slowdown), *median(slowdowns)) / 2;
  auto meetings = meetings_of(table, found.groups, bound);
  if (!has_inner(meetings, named)) {
    propose_inner(named, found.worth_repeating);
    return false;
  }
  const auto sets = connected_sets(meetings, named, table.units);
  if (sets.front().size() < fewest_members) return false;
  leave_out_other_sets(sets, meetings);
  Sides sides(table, std::move(meetings));
  for (const int unit : sets.front()) sides.of(unit) = 1;
  const bool is_path = find_other_end(sides);
  refine(table, sides, is_path);
  const auto group = sides.members(1);
  const auto others = static_cast<std::size_t>(table.present_units) - group.size();
  if (group.size() < fewest_members || (!is_path && group.size() > others) || !fit_of(sides, is_path).is_good())
    return false;
  if (log_chance(table, sides, is_path) > std::log(false_group_rate)) return false;
  std::erase_if(found.parts, [&](const SuspectPart& part) { return sides.of(part.ends.front()) != 0; });
  found.groups.push_back(part_of(table, sides, is_path, bound));
  explain_found(table, found);
  return true;
}

}  // namespace muster::culprits
