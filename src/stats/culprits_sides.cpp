// Divisions of the units that explain which meetings are slow.
#include "stats/culprits_sides.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/lists.hpp"

namespace muster::culprits {

namespace {

constexpr double least_slow = 0.85;         ///< of the meetings that a group should explain
constexpr double least_well = 0.75;         ///< of the others of its members: slow nodes would be slow with each other
constexpr double nearly_all = 0.7;          ///< of the other units slow with it: it is slow with all of them
constexpr double most_on_path = 0.75;       ///< of the units: two halves are two classes
constexpr double nearly_always = 0.75;      ///< of its meetings: a unit is slow itself
constexpr double most_of_slow_units = 0.3;  ///< of the slow meetings across a path
constexpr double false_group_rate = 0.01;   ///< per matrix: a division of the units that fits as well by chance
constexpr double likely_group_rate = 1e4;   ///< the same where cells measured alone are to decide
constexpr int weight_alone = 3;             ///< meetings in the rounds that one alone outweighs
constexpr int clear_margin = 2;             ///< misfits by which a unit belongs to a side without doubt
constexpr double slow_if_chosen = 0.02;     ///< of cells measured alone, by chance
constexpr std::size_t most_starts = 24;     ///< slow meetings from which a path is looked for

/// By unit: meetings that don't fit, were it on that side. `cost`: of not being on side 0, as most units are.
std::vector<std::array<int, 3>> misfits(const std::vector<Meeting>& meetings, const Sides& sides, int units, int cost) {
  std::vector<std::array<int, 3>> all(static_cast<std::size_t>(units), {0, cost, cost});
  for (const Meeting& meeting : meetings)
    for (const auto& [unit, other] : {std::pair(meeting.low, meeting.high), std::pair(meeting.high, meeting.low)})
      for (int side = 0; side < 3; ++side)
        if (sides.is_crossing(side, sides.of(other)) != meeting.is_slow)
          all[static_cast<std::size_t>(unit)][static_cast<std::size_t>(side)] += meeting.is_alone ? weight_alone : 1;
  return all;
}

/// Moves units to the side that fits them best, until none moves.
void refine(const std::vector<Meeting>& meetings, Sides& sides, int units, int cost) {
  for (int step = 0; step < 8; ++step) {
    const auto all = misfits(meetings, sides, units, cost);
    bool has_moved = false;
    for (int unit = 0; unit < units; ++unit) {
      const auto& one = all[static_cast<std::size_t>(unit)];
      int best = sides.of(unit);
      for (int side = 0; side < (sides.is_path() ? 3 : 2); ++side)
        if (one[static_cast<std::size_t>(side)] < one[static_cast<std::size_t>(best)]) best = side;
      has_moved = has_moved || best != sides.of(unit);
      sides.of(unit) = best;
    }
    if (!has_moved) break;
  }
}

/// Meetings that the division leaves unexplained; each unit at the other end of a path costs one more, or a path to
/// most units would explain more than the group by chance.
std::size_t cost_of(const std::vector<Meeting>& meetings, const Sides& sides) {
  const auto unexplained = std::count_if(meetings.begin(), meetings.end(),
                                         [&](const Meeting& one) { return sides.crosses(one) != one.is_slow; });
  return static_cast<std::size_t>(unexplained) + sides.members(2).size() / 2;
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

Fit fit_of(const std::vector<Meeting>& meetings, const Sides& sides) {
  Fit fit;
  for (const Meeting& meeting : meetings) {
    const int side = sides.of(meeting.low);
    if (side == sides.of(meeting.high) && side > 0) {
      ++fit.inner;
      fit.inner_well += !meeting.is_slow;
    }
    if (!sides.crosses(meeting)) continue;
    ++fit.crossing;
    fit.crossing_slow += meeting.is_slow;
  }
  return fit;
}

/// Of each unit: the meetings that cross.
std::vector<Count> crossings(const std::vector<Meeting>& meetings, const Sides& sides, int units) {
  std::vector<Count> of(static_cast<std::size_t>(units));
  for (const Meeting& meeting : meetings)
    if (sides.crosses(meeting))
      for (const int unit : {meeting.low, meeting.high}) of[static_cast<std::size_t>(unit)].add(meeting.is_slow);
  return of;
}

/// Slow meetings that hit any pair alike make no group, however the units are divided: log of how likely one of the
/// divisions into groups of these sizes fits as well by chance. Without the unit that is slow most often: alone it
/// makes no group either.
double log_chance(const PairTable& table, const std::vector<Meeting>& meetings, const Sides& sides) {
  const auto units = table.present_units;
  const auto of = crossings(meetings, sides, table.units);
  const auto most =
      std::max_element(of.begin(), of.end(), [](const Count& a, const Count& b) { return a.slow < b.slow; });
  const auto left_out = static_cast<int>(most - of.begin());
  Count crossing;
  Count others;
  for (const Meeting& meeting : meetings)
    if (meeting.low != left_out && meeting.high != left_out)
      (sides.crosses(meeting) ? crossing : others).add(meeting.is_slow);
  const auto near = static_cast<double>(sides.members(1).size());
  const auto far = static_cast<double>(sides.members(2).size());
  return log_upper_tail(crossing, others.rate()) + log_choose(units, near) + log_choose(units - near, far);
}

/// Units outside of the group most of whose meetings with it are slow go to the other end, if they are not nearly all
/// others: it is a path.
void find_other_end(const std::vector<Meeting>& meetings, Sides& sides) {
  std::map<int, Count> met;
  for (const Meeting& meeting : meetings) {
    const int side = sides.of(meeting.low);
    if ((side == 1) != (sides.of(meeting.high) == 1)) met[side == 1 ? meeting.high : meeting.low].add(meeting.is_slow);
  }
  std::vector<int> ends;
  for (const auto& [unit, count] : met)
    if (2 * count.slow > count.all) ends.push_back(unit);
  if (static_cast<double>(ends.size()) >= nearly_all * static_cast<double>(met.size())) return;
  for (const int unit : ends) sides.of(unit) = 2;
  sides.make_path();
}

/// Both ends are well with units of neither: slow nodes are slow with those, too, or have met none.
bool has_own_ends(const std::vector<Meeting>& meetings, const Sides& sides) {
  std::array<Count, 3> outside;
  std::size_t crossing = 0;
  for (const Meeting& meeting : meetings) {
    const int a = sides.of(meeting.low);
    const int b = sides.of(meeting.high);
    crossing += sides.crosses(meeting);
    if ((a == 0) != (b == 0)) outside[static_cast<std::size_t>(a + b)].add(meeting.is_slow);
  }
  return std::all_of(outside.begin() + 1, outside.end(), [&](const Count& end) {
    return 2 * end.all >= crossing && static_cast<double>(end.slow) <= (1 - least_well) * static_cast<double>(end.all);
  });
}

/// A unit slow with nearly all that it met is slow itself; a few of them look like a path to those they met.
bool is_of_slow_units(const std::vector<Meeting>& meetings, const Sides& sides, int units) {
  std::vector<Count> of(static_cast<std::size_t>(units));
  for (const Meeting& meeting : meetings)
    for (const int unit : {meeting.low, meeting.high}) of[static_cast<std::size_t>(unit)].add(meeting.is_slow);
  const auto is_slow = [&](int unit) { return of[static_cast<std::size_t>(unit)].share() >= nearly_always; };
  Count crossing;
  for (const Meeting& meeting : meetings)
    if (sides.crosses(meeting) && meeting.is_slow) crossing.add(is_slow(meeting.low) || is_slow(meeting.high));
  return crossing.share() > most_of_slow_units;
}

bool is_path(const PairTable& table, const std::vector<Meeting>& meetings, const Sides& sides) {
  return has_own_ends(meetings, sides) && !is_of_slow_units(meetings, sides, table.units);
}

bool is_group(const PairTable& table, const std::vector<Meeting>& meetings, const Sides& sides) {
  const auto group = sides.members(1).size();
  const auto others = static_cast<std::size_t>(table.present_units) - group;
  return group >= fewest_members && (sides.is_path() ? is_path(table, meetings, sides) : group <= others) &&
         fit_of(meetings, sides).is_good() && log_chance(table, meetings, sides) <= std::log(false_group_rate);
}

std::optional<Sides> divide_from(const PairTable& table, const std::vector<Meeting>& meetings,
                                 const std::vector<int>& members) {
  Sides sides(table.units, false);
  for (const int unit : members) sides.of(unit) = 1;
  find_other_end(meetings, sides);
  refine(meetings, sides, table.units, 1);
  return is_group(table, meetings, sides) ? std::optional(sides) : std::nullopt;
}

/// The members, and units that are slow with others but never with them: some may be members that met few others.
std::vector<int> with_likely_ones(const PairTable& table, const std::vector<Meeting>& meetings,
                                  const std::vector<int>& members) {
  std::vector<bool> is_member(static_cast<std::size_t>(table.units));
  for (const int unit : members) is_member[static_cast<std::size_t>(unit)] = true;
  std::vector<std::array<int, 2>> slow(static_cast<std::size_t>(table.units));
  for (const Meeting& meeting : meetings)
    for (const auto& [unit, other] : {std::pair(meeting.low, meeting.high), std::pair(meeting.high, meeting.low)})
      slow[static_cast<std::size_t>(unit)][is_member[static_cast<std::size_t>(other)]] += meeting.is_slow;
  std::vector<int> all = members;
  for (int unit = 0; unit < table.units; ++unit) {
    const auto& [with_others, with_members] = slow[static_cast<std::size_t>(unit)];
    if (!is_member[static_cast<std::size_t>(unit)] && with_members == 0 && with_others > 0) all.push_back(unit);
  }
  return all;
}

/// Two ends grown from one slow meeting.
Sides grown_from(const Meeting& start, const std::vector<Meeting>& meetings, int units) {
  Sides sides(units, true);
  sides.of(start.low) = 1;
  sides.of(start.high) = 2;
  // A unit that is slow with one end may belong to the other, until all of its meetings count.
  refine(meetings, sides, units, 0);
  refine(meetings, sides, units, 1);
  return sides;
}

/// Log of how likely so many of the cells that were chosen to show whether pairs share a path are slow by chance. Each
/// was chosen before it was measured, so that no other division could have fitted. 0: too few, or most of the units are
/// there for what the rounds alone show.
double log_chance_of_chosen(const std::vector<Meeting>& meetings, const Sides& sides) {
  Count chosen;
  std::set<int> shown;
  for (const Meeting& meeting : meetings) {
    if (!meeting.is_chosen) continue;
    chosen.add(meeting.is_slow && sides.crosses(meeting));
    for (const int unit : {meeting.low, meeting.high})
      if (sides.of(unit) != 0) shown.insert(unit);
  }
  const std::size_t members = sides.members(1).size() + sides.members(2).size();
  if (chosen.slow < fewest_members || 2 * shown.size() < members) return 0;
  return log_upper_tail(chosen, slow_if_chosen);
}

bool is_grown_path(const PairTable& table, const std::vector<Meeting>& meetings, const Sides& sides, double rate) {
  const auto near = sides.members(1).size();
  const auto far = sides.members(2).size();
  return near >= fewest_members && far >= fewest_members &&
         static_cast<double>(near + far) <= most_on_path * table.present_units && is_path(table, meetings, sides) &&
         fit_of(meetings, sides).is_good() &&
         (log_chance(table, meetings, sides) + 2 * std::log(table.present_units) <= std::log(rate) ||
          (is_sparsely_measured(table) &&
           log_chance_of_chosen(meetings, sides) + std::log(most_starts) <= std::log(rate)));
}

/// Which units a meeting more could move to another side, and with whom it should be.
class Placement {
 public:
  Placement(const PairTable& table, const std::vector<Meeting>& meetings, const Sides& sides)
      : sides_(sides), misfits_(misfits(meetings, sides, table.units, 1)), met_(static_cast<std::size_t>(table.units)) {
    for (const Meeting& meeting : meetings) {
      met_[static_cast<std::size_t>(meeting.low)].push_back(meeting.high);
      met_[static_cast<std::size_t>(meeting.high)].push_back(meeting.low);
    }
    for (int unit = 0; unit < table.units; ++unit)
      if (!table.pairs_of(unit).empty()) by_margin_.emplace_back(least_margin(unit), unit);
    std::stable_sort(by_margin_.begin(), by_margin_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
  }

  /// Of misfits, by which its own side is better.
  [[nodiscard]] int margin(int unit, int side) const {
    if (side == sides_.of(unit) || (side == 2 && !sides_.is_path())) return clear_margin;
    const auto& one = misfits_[static_cast<std::size_t>(unit)];
    return one[static_cast<std::size_t>(side)] - one[static_cast<std::size_t>(sides_.of(unit))];
  }
  /// Of a side whose meetings with `unit` are slow on one of the two sides only, and that is clearly there; not met
  /// yet, if possible. -1: none.
  [[nodiscard]] int partner(int unit, int side) const {
    const auto& met = met_[static_cast<std::size_t>(unit)];
    int known = -1;
    const std::size_t start = static_cast<std::size_t>(unit) % by_margin_.size();
    for (std::size_t i = 0; i < by_margin_.size(); ++i) {
      const auto& [certainty, other] = by_margin_[(start + i) % by_margin_.size()];
      const bool decides =
          sides_.is_crossing(sides_.of(unit), sides_.of(other)) != sides_.is_crossing(side, sides_.of(other));
      if (other == unit || !decides || certainty < clear_margin) continue;
      if (!is_in(other, met)) return other;
      known = other;
    }
    return known;
  }

 private:
  [[nodiscard]] int least_margin(int unit) const {
    return std::min({margin(unit, 0), margin(unit, 1), margin(unit, 2)});
  }

  const Sides& sides_;
  std::vector<std::array<int, 3>> misfits_;
  std::vector<std::vector<int>> met_;
  std::vector<std::pair<int, int>> by_margin_;
};

}  // namespace

std::vector<int> Sides::members(int side) const {
  std::vector<int> units;
  for (std::size_t unit = 0; unit < side_.size(); ++unit)
    if (side_[unit] == side) units.push_back(static_cast<int>(unit));
  return units;
}

std::vector<Meeting> meetings_of(const PairTable& table, std::span<const SuspectPart> groups, double bound,
                                 SlowWhen when) {
  std::vector<Meeting> meetings;
  for (const Pair& pair : table.pairs) {
    if (is_across_any(groups, pair.low, pair.high)) continue;
    RunningMean together;
    RunningMean alone;
    std::array<RunningMean, 2> ways;
    for (const LinkReading& reading : table.readings_of(pair)) {
      (reading.is_alone ? alone : together).add(reading.slowness);
      if (!reading.is_alone) ways[reading.is_upward].add(reading.slowness);
    }
    if (alone.n + together.n == 0) continue;
    double slowness = together.n > 0 ? together.mean() : 0;
    if (when == SlowWhen::both_ways && ways[0].n > 0 && ways[1].n > 0)
      slowness = std::min(ways[0].mean(), ways[1].mean());
    // What was measured alone has more weight.
    const bool is_slow = (alone.n > 0 ? alone.without_largest() : slowness) > bound;
    meetings.push_back({pair.low, pair.high, is_slow, alone.n > 0, together.n == 0});
  }
  return meetings;
}

std::optional<Sides> divide(const PairTable& table, const std::vector<Meeting>& meetings,
                            const std::vector<int>& members) {
  return better(meetings, divide_from(table, meetings, members),
                divide_from(table, meetings, with_likely_ones(table, meetings, members)));
}

std::optional<Sides> better(const std::vector<Meeting>& meetings, const std::optional<Sides>& one,
                            const std::optional<Sides>& other) {
  if (!one || !other) return one ? one : other;
  return cost_of(meetings, *other) < cost_of(meetings, *one) ? other : one;
}

std::vector<LinkCell> undecided_cells(const PairTable& table, const std::vector<Meeting>& meetings, const Sides& sides,
                                      std::size_t most) {
  const Placement placement(table, meetings, sides);
  std::vector<std::pair<int, LinkCell>> doubts;
  for (int unit = 0; unit < table.units; ++unit) {
    if (table.pairs_of(unit).empty()) continue;
    for (const int side : {0, 1, 2})
      if (const int margin = placement.margin(unit, side); margin < clear_margin)
        if (const int partner = placement.partner(unit, side); partner >= 0)
          doubts.push_back({margin, {unit, partner, 0}});
  }
  std::stable_sort(doubts.begin(), doubts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LinkCell> cells;
  for (const auto& [margin, cell] : doubts)
    if (cells.size() < most) cells.push_back(cell);
  return cells;
}

std::optional<Sides> find_path(const PairTable& table, const std::vector<Meeting>& meetings, Certainty certainty) {
  const double rate = certainty == Certainty::beyond_chance ? false_group_rate : likely_group_rate;
  std::vector<int> slow(static_cast<std::size_t>(table.units));
  std::vector<const Meeting*> starts;
  for (const Meeting& meeting : meetings) {
    if (!meeting.is_slow) continue;
    ++slow[static_cast<std::size_t>(meeting.low)];
    ++slow[static_cast<std::size_t>(meeting.high)];
    starts.push_back(&meeting);
  }
  // Units at both ends of a path are slow several times.
  const auto times = [&](const Meeting* one) {
    return std::min(slow[static_cast<std::size_t>(one->low)], slow[static_cast<std::size_t>(one->high)]);
  };
  std::stable_sort(starts.begin(), starts.end(),
                   [&](const Meeting* a, const Meeting* b) { return times(a) > times(b); });
  std::optional<Sides> best;
  for (std::size_t i = 0; i < std::min(starts.size(), most_starts); ++i) {
    const Sides sides = grown_from(*starts[i], meetings, table.units);
    if (is_grown_path(table, meetings, sides, rate)) best = better(meetings, best, sides);
  }
  return best;
}

}  // namespace muster::culprits
