// Pairs that share a part of the network slow each other down in the rounds, and hide what is slower by less than that.
// Alone they don't.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "stats/culprits_pairs.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

constexpr double least_contended = 0.15;      ///< of the open pairs: fewer are slow by noise or a few faults
constexpr std::size_t fewest_contended = 12;  ///< pairs
constexpr double least_repeated = 0.5;        ///< of the contended cells: else the rounds decide

constexpr double least_cleared = 0.15;  ///< of those that were repeated: else they are slow by themselves

using Cell = std::pair<int, int>;  ///< from, to

/// A pair in the rounds.
struct SeenPair {
  int low = 0;
  int high = 0;
  int first = 0;                     ///< round
  double slowness = 0;               ///< mean of both directions
  std::optional<double> difference;  ///< between the directions, where both were measured
};

std::optional<SeenPair> seen_pair(const PairTable& table, const Pair& pair) {
  SeenPair seen{pair.low, pair.high, std::numeric_limits<int>::max(), 0, {}};
  RunningMean mean;
  std::array<RunningMean, 2> ways;
  for (const LinkReading& reading : table.readings_of(pair)) {
    if (reading.is_alone) continue;
    seen.first = std::min(seen.first, reading.round);
    mean.add(reading.slowness);
    ways[reading.is_upward].add(reading.slowness);
  }
  if (mean.n == 0) return std::nullopt;
  if (ways[0].n > 0 && ways[1].n > 0) seen.difference = std::fabs(ways[0].mean() - ways[1].mean());
  seen.slowness = mean.mean();
  return seen;
}

bool are_many(const Count& pairs) {
  return pairs.slow >= fewest_contended && pairs.share() >= least_contended;
}

/// Slowness of the fastest pairs that are not few: others only take speed away.
double fastest_level(const std::vector<SeenPair>& pairs, double noise_floor) {
  std::vector<double> speeds;
  std::vector<double> differences;
  for (const SeenPair& pair : pairs) {
    speeds.push_back(-pair.slowness);
    if (pair.difference) differences.push_back(*pair.difference);
  }
  std::ranges::sort(speeds);
  // What pairs share slows both of their directions alike.
  const double noise = std::max(noise_of_directions(differences), noise_floor);
  return -nearest_level(speeds, speeds[speeds.size() * 9 / 10], 1.5 * noise);
}

std::map<Cell, std::vector<LinkSample>> by_cell(std::span<const LinkSample> samples, bool is_alone) {
  std::map<Cell, std::vector<LinkSample>> cells;
  for (const LinkSample& sample : samples)
    if (sample.is_alone == is_alone) cells[{sample.from, sample.to}].push_back(sample);
  return cells;
}

double median_of(const std::vector<LinkSample>& samples) {
  std::vector<double> values;
  for (const LinkSample& sample : samples) values.push_back(sample.value);
  return median(values).value_or(0);
}

}  // namespace

std::vector<LinkCell> contended_cells(const PairTable& table, const DecodeSettings& settings, Contention& contention) {
  const double bound = slowness_of(settings.least_slowdown) / 2;
  std::map<int, std::vector<SeenPair>> classes;
  Count slow;
  Count fast;
  for (const Pair& pair : table.pairs) {
    const auto seen = seen_pair(table, pair);
    if (!seen) continue;
    classes[class_of(table, pair)].push_back(*seen);
    if (pair.ways[0].is_explained || pair.ways[1].is_explained) continue;
    slow.add(seen->slowness > bound);
    fast.add(seen->slowness < -bound);
  }
  contention = {};
  if (!are_many(slow) && !are_many(fast)) return {};
  std::vector<SeenPair> contended;
  for (const auto& [class_id, pairs] : classes) {
    const double least = fastest_level(pairs, settings.noise_floor) + bound;
    std::ranges::copy_if(pairs, std::back_inserter(contended),
                         [&](const SeenPair& one) { return one.slowness > least; });
  }
  contention.slow = contended.size();
  contention.pairs = static_cast<std::size_t>(slow.all);
  // Round by round: each unit once before any is measured twice.
  std::ranges::stable_sort(contended, {}, &SeenPair::first);
  std::vector<LinkCell> cells;
  for (const SeenPair& one : contended) {
    cells.push_back({one.low, one.high, share_of(one.slowness)});
    cells.push_back({one.high, one.low, share_of(one.slowness)});
  }
  return cells;
}

std::vector<LinkSample> without_contention(std::span<const LinkSample> samples, std::span<const LinkCell> contended,
                                           const DecodeSettings& settings, Contention& contention) {
  const auto alone = by_cell(samples, true);
  const auto rounds = by_cell(samples, false);
  std::set<Cell> slow;
  for (const LinkCell& cell : contended) slow.insert({cell.from, cell.to});
  std::vector<LinkSample> clean;
  for (const LinkSample& sample : samples)
    if (sample.is_alone || !slow.contains({sample.from, sample.to})) clean.push_back(sample);
  std::size_t repeated = 0;
  for (const Cell& cell : slow) {
    const auto again = alone.find(cell);
    const auto before = rounds.find(cell);
    if (again == alone.end() || before == rounds.end()) continue;
    ++repeated;
    LinkSample one = before->second.front();
    one.value = median_of(again->second);
    const double gained = std::log(one.value / median_of(before->second)) * (settings.is_lower_better ? -1 : 1);
    contention.cleared += gained > slowness_of(settings.least_slowdown) / 2;
    clean.push_back(one);
  }
  contention.repeated = repeated;
  if (static_cast<double>(repeated) < least_repeated * static_cast<double>(slow.size())) return {};
  if (static_cast<double>(contention.cleared) < least_cleared * static_cast<double>(repeated)) return {};
  return clean;
}

}  // namespace muster::culprits
