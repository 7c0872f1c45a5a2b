// Cells that are all slower than all others can be distinguished without a model of the noise.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/lists.hpp"
#include "stats/culprits_pairs.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

constexpr std::size_t fewest_cells = 3;  // on either side
constexpr double least_share_lost = 0.5;

/// One direction in which a unit takes part: what it sends (0), or what it receives (1).
using UnitRole = std::pair<int, int>;

/// Readings of a class, cut in two where the slow ones end.
struct Cut {
  double healthy = 0;  ///< median of the upper part
  double bound = 0;    ///< readings of this and below are slow
  std::size_t slow = 0;
  std::size_t all = 0;
};

std::vector<const LinkReading*> open_readings(const PairTable& table, int class_id) {
  std::vector<const LinkReading*> found;
  for (const Pair& pair : table.pairs)
    for (const LinkReading& reading : table.readings_of(pair)) {
      if (!reading.is_alone && reading.class_id == class_id && table.is_open(pair, reading)) found.push_back(&reading);
    }
  return found;
}

/// At the widest gap below which everything is slower than half of what is usual above.
std::optional<Cut> cut(const std::vector<const LinkReading*>& readings, double least_slowness) {
  std::vector<double> speeds;
  for (const LinkReading* reading : readings) speeds.push_back(reading->speed);
  std::sort(speeds.begin(), speeds.end());
  std::optional<Cut> found;
  double widest = 0;
  for (std::size_t slow = fewest_cells; slow + fewest_cells <= speeds.size(); ++slow) {
    const double gap = speeds[slow] - speeds[slow - 1];
    if (gap <= widest) continue;
    const std::size_t above = speeds.size() - slow;
    const double healthy = (speeds[slow + (above - 1) / 2] + speeds[slow + above / 2]) / 2;
    if (healthy - speeds[slow - 1] <= least_slowness) continue;
    widest = gap;
    found = Cut{healthy, speeds[slow - 1], slow, speeds.size()};
  }
  return found;
}

UnitRole role_of(const LinkReading& reading, int way) {
  const int from = reading.is_upward ? reading.low : reading.high;
  return {way == 0 ? from : reading.low + reading.high - from, way};
}

struct Tally {
  std::size_t cells = 0;
  std::size_t slow = 0;
  int partner = -1;
  bool has_several_partners = false;
};

/// Roles of units all of whose readings are slow, each with one that no other such role explains; empty when they leave
/// a slow reading unexplained.
std::vector<UnitRole> roles_that_explain(const std::vector<const LinkReading*>& readings, double bound) {
  std::map<UnitRole, Tally> tallies;
  for (const LinkReading* reading : readings)
    for (const int way : {0, 1}) {
      const UnitRole role = role_of(*reading, way);
      Tally& tally = tallies[role];
      const int partner = reading->low + reading->high - role.first;
      tally.has_several_partners |= tally.cells > 0 && tally.partner != partner;
      tally.partner = partner;
      ++tally.cells;
      tally.slow += reading->speed <= bound;
    }
  std::map<UnitRole, bool> has_own;
  for (const auto& [role, tally] : tallies)
    if (tally.cells >= fewest_cells && tally.slow == tally.cells && tally.has_several_partners) has_own[role] = false;
  for (const LinkReading* reading : readings) {
    const auto sends = has_own.find(role_of(*reading, 0));
    const auto receives = has_own.find(role_of(*reading, 1));
    if (sends != has_own.end() && receives == has_own.end()) sends->second = true;
    if (sends == has_own.end() && receives != has_own.end()) receives->second = true;
  }
  std::erase_if(has_own, [](const auto& one) { return !one.second; });
  for (const LinkReading* reading : readings)
    if (reading->speed <= bound && has_own.count(role_of(*reading, 0)) + has_own.count(role_of(*reading, 1)) == 0)
      return {};
  std::vector<UnitRole> roles;
  for (const auto& [role, own] : has_own) roles.push_back(role);
  return roles;
}

void explain(PairTable& table, const std::vector<UnitRole>& roles) {
  for (const auto& [unit, way] : roles)
    for (const std::size_t i : table.pairs_of(unit)) {
      Pair& pair = table.pairs[i];
      const std::size_t out = unit == pair.low ? 0 : 1;
      pair.ways[way == 0 ? out : 1 - out].is_explained = true;
    }
}

SuspectPart part_of(int unit, const std::vector<UnitRole>& roles, const std::vector<const LinkReading*>& readings,
                    const Cut& where) {
  const auto has = [&](int way) { return is_in(UnitRole{unit, way}, roles); };
  SuspectPart part;
  part.kind = has(0) && has(1) ? PartKind::node : has(0) ? PartKind::sender : PartKind::receiver;
  part.ends = {unit};
  std::vector<SeenReading> seen;
  for (const LinkReading* reading : readings)
    for (const int way : {0, 1})
      if (has(way) && role_of(*reading, way).first == unit)
        seen.push_back({reading->round, where.healthy - reading->speed});
  count_readings(part, seen, slowness_of(least_share_lost));
  return part;
}

}  // namespace

std::vector<SuspectPart> name_by_order(PairTable& table, const DecodeSettings& settings,
                                       std::vector<ClassLevel>& levels) {
  std::vector<SuspectPart> parts;
  const double least_slowness = slowness_of(std::max(least_share_lost, settings.least_slowdown));
  for (ClassLevel& level : levels) {
    const auto readings = open_readings(table, level.class_id);
    const auto where = cut(readings, least_slowness);
    if (!where) continue;
    const auto roles = roles_that_explain(readings, where->bound);
    std::set<int> units;
    for (const UnitRole& role : roles) units.insert(role.first);
    // Where more are slow, the others are not measure.
    if (roles.empty() || static_cast<int>(units.size()) > most_slow_units(table.present_units)) continue;
    // Were the order chance, any set of so many readings could be the slow one: how likely is one that roles explain?
    const double log_p = log_choose(2.0 * table.present_units, static_cast<double>(roles.size())) -
                         log_choose(static_cast<double>(where->all), static_cast<double>(where->slow));
    if (log_p > std::log(settings.false_rate)) continue;
    for (std::size_t i = 0; i < roles.size(); ++i) {
      if (i > 0 && roles[i].first == roles[i - 1].first) continue;
      parts.push_back(part_of(roles[i].first, roles, readings, *where));
      parts.back().score = inverse_normal(1 - std::exp(log_p));
    }
    level.expected = where->healthy;
    explain(table, roles);
  }
  return parts;
}

namespace {

/// Of the readings of a class, all of which are healthy: how far those of `unit` must fall to be named by their order.
/// A logarithm; infinite where they can't be.
double fall_until_seen(const std::vector<const LinkReading*>& readings, int unit, const PairTable& table,
                       const DecodeSettings& settings) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> own;
  std::vector<double> others;
  std::map<int, std::array<std::size_t, 2>> partners;
  for (const LinkReading* reading : readings) {
    const bool is_own = reading->low == unit || reading->high == unit;
    (is_own ? own : others).push_back(reading->speed);
    if (is_own) ++partners[reading->low + reading->high - unit][role_of(*reading, 0).first == unit ? 0 : 1];
  }
  std::array<std::size_t, 2> cells{};
  for (const auto& [partner, counts] : partners)
    for (const std::size_t way : {0u, 1u}) cells[way] += counts[way];
  if (partners.size() < 2 || std::min(cells[0], cells[1]) < fewest_cells || others.size() < fewest_cells) return never;
  const double log_p = log_choose(2.0 * table.present_units, 2) -
                       log_choose(static_cast<double>(readings.size()), static_cast<double>(own.size()));
  if (log_p > std::log(settings.false_rate)) return never;
  const auto widest_gap = [](std::vector<double>& speeds) {
    std::sort(speeds.begin(), speeds.end());
    double widest = 0;
    for (std::size_t i = 1; i < speeds.size(); ++i) widest = std::max(widest, speeds[i] - speeds[i - 1]);
    return widest;
  };
  const double widest = std::max(widest_gap(own), widest_gap(others));
  const double middle = (others[(others.size() - 1) / 2] + others[others.size() / 2]) / 2;
  const double least = slowness_of(std::max(least_share_lost, settings.least_slowdown));
  return std::max(own.back() - others.front() + widest, own.back() - middle + least);
}

}  // namespace

double seen_by_order(const PairTable& table, const DecodeSettings& settings, std::span<const ClassLevel> levels) {
  double largest = 0;
  for (int unit = 0; unit < table.units; ++unit) {
    if (table.pairs_of(unit).empty()) continue;
    double fall = std::numeric_limits<double>::infinity();
    for (const ClassLevel& level : levels)
      fall = std::min(fall, fall_until_seen(open_readings(table, level.class_id), unit, table, settings));
    largest = std::max(largest, fall);
  }
  return largest > 0 && std::isfinite(largest) ? 1 - std::exp(-largest) : std::numeric_limits<double>::infinity();
}

}  // namespace muster::culprits
