#include "stats/culprits_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

/// Beyond this a reading adds no evidence about a unit: one dead link is one bad link, however dead.
constexpr double most_z = 6;

void link_units(PairTable& table) {
  const auto units = static_cast<std::size_t>(table.units);
  table.first.assign(units + 1, 0);
  for (const Pair& pair : table.pairs) {
    ++table.first[static_cast<std::size_t>(pair.low) + 1];
    ++table.first[static_cast<std::size_t>(pair.high) + 1];
  }
  for (std::size_t u = 0; u < units; ++u) {
    if (table.first[u + 1] > 0) ++table.present_units;
    table.first[u + 1] += table.first[u];
  }
  table.pair_of.resize(2 * table.pairs.size());
  auto next = table.first;
  for (std::size_t i = 0; i < table.pairs.size(); ++i) {
    table.pair_of[next[static_cast<std::size_t>(table.pairs[i].low)]++] = i;
    table.pair_of[next[static_cast<std::size_t>(table.pairs[i].high)]++] = i;
  }
}

bool is_speed(const LinkSample& sample) {
  return std::isfinite(sample.value) && sample.value > 0 && sample.from >= 0 && sample.to >= 0 &&
         sample.from != sample.to;
}

}  // namespace

PairTable pair_table(std::span<const LinkSample> samples, bool is_lower_better) {
  PairTable table;
  table.readings.reserve(samples.size());
  for (const LinkSample& sample : samples) {
    if (!is_speed(sample)) continue;
    LinkReading reading;
    reading.is_upward = sample.from < sample.to;
    reading.low = std::min(sample.from, sample.to);
    reading.high = std::max(sample.from, sample.to);
    reading.round = sample.round;
    reading.class_id = sample.class_id;
    reading.is_alone = sample.is_alone;
    reading.speed = is_lower_better ? -std::log(sample.value) : std::log(sample.value);
    table.units = std::max(table.units, reading.high + 1);
    table.readings.push_back(reading);
  }
  std::stable_sort(table.readings.begin(), table.readings.end(), [](const LinkReading& a, const LinkReading& b) {
    return a.low != b.low ? a.low < b.low : a.high < b.high;
  });
  for (std::size_t i = 0; i < table.readings.size(); ++i) {
    const LinkReading& reading = table.readings[i];
    if (table.pairs.empty() || table.pairs.back().low != reading.low || table.pairs.back().high != reading.high) {
      table.pairs.push_back({reading.low, reading.high, i, i, {}});
    }
    table.pairs.back().end = i + 1;
  }
  link_units(table);
  return table;
}

void hold_against(PairTable& table, std::span<const ClassLevel> levels) {
  for (Pair& pair : table.pairs) {
    pair.ways = {};
    for (std::size_t i = pair.begin; i < pair.end; ++i) {
      LinkReading& reading = table.readings[i];
      const auto level = std::find_if(levels.begin(), levels.end(),
                                      [&](const ClassLevel& one) { return one.class_id == reading.class_id; });
      if (level == levels.end()) continue;
      reading.slowness = level->expected - reading.speed;
      const double share = share_of(reading.slowness);
      reading.z = std::clamp(share / level->noise, -most_z, most_z);
      reading.pair_z = std::clamp(share / level->pair_noise, -most_z, most_z);
      if (reading.is_alone) continue;
      Way& way = pair.ways[reading.is_upward ? 0 : 1];
      way.z += reading.z;
      way.pair_z += reading.pair_z;
      way.slowness += reading.slowness;
      ++way.n;
    }
  }
}

void count_readings(SuspectPart& part, std::vector<SeenReading>& seen, double least_slowness) {
  std::vector<double> slow;
  for (const SeenReading& one : seen) {
    if (one.slowness >= least_slowness) slow.push_back(one.slowness);
  }
  const double typical = median(slow).value_or(0);
  // Half way between healthy and typically slow separates the two best where they are equally likely.
  const double bound = typical / 2;
  std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.round < b.round; });
  part.readings = static_cast<int>(seen.size());
  slow.clear();
  for (std::size_t begin = 0; begin < seen.size();) {
    std::size_t end = begin;
    int slow_here = 0;
    for (; end < seen.size() && seen[end].round == seen[begin].round; ++end) {
      if (typical <= 0 || seen[end].slowness <= bound) continue;
      ++slow_here;
      slow.push_back(seen[end].slowness);
    }
    ++part.rounds;
    if (2 * slow_here >= static_cast<int>(end - begin) && slow_here > 0) ++part.slow_rounds;
    part.slow += slow_here;
    begin = end;
  }
  part.slowdown = share_of(median(slow).value_or(0));
}

double inverse_normal(double p) {
  double low = -40;
  double high = 40;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    // erfc of the upper tail keeps its digits where 1 - p is tiny.
    (0.5 * std::erfc(middle / std::sqrt(2.0)) > 1 - p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double slowness_of(double share) {
  return -std::log1p(-share);
}

double share_of(double slowness) {
  return -std::expm1(-slowness);
}

int most_slow_units(int units) {
  return std::min(units / 2, std::max(4, units / 10));
}

}  // namespace muster::culprits
