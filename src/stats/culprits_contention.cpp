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

constexpr double least_contended = 0.02;      ///< of the open pairs: fewer are slow by noise or a few faults
constexpr std::size_t fewest_contended = 12;  ///< pairs
constexpr double beyond_noise = 3;            ///< standard deviations of the mean of both directions
constexpr double least_repeated = 0.5;        ///< of the contended cells: else the rounds decide

constexpr std::size_t readings_instead = 3;  ///< alone, of each cell; further ones judge a suspicious link
constexpr double least_cleared = 0.15;       ///< of those that were repeated: else they are slow by themselves

using Cell = std::pair<int, int>;  ///< from, to

/// A pair in the rounds.
struct SeenPair {
  int low = 0;
  int high = 0;
  int first = 0;                     ///< round
  double slowness = 0;               ///< mean of both directions
  std::optional<double> difference;  ///< between the directions, where both were measured
  bool is_explained = false;
};

std::optional<SeenPair> seen_pair(const PairTable& table, const Pair& pair) {
  SeenPair seen;
  seen.low = pair.low;
  seen.high = pair.high;
  seen.first = std::numeric_limits<int>::max();
  seen.is_explained = pair.ways[0].is_explained || pair.ways[1].is_explained;
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

/// What pairs share slows both of their directions alike: the difference between these is noise.
double noise_of_pairs(const std::vector<SeenPair>& pairs, double noise_floor) {
  std::vector<double> differences;
  for (const SeenPair& pair : pairs)
    if (pair.difference) differences.push_back(*pair.difference);
  return std::max(noise_of_directions(differences), noise_floor);
}

/// Slowness of the fastest pairs that are not few: others only take speed away.
double fastest_level(const std::vector<SeenPair>& pairs, double noise) {
  std::vector<double> speeds;
  for (const SeenPair& pair : pairs) speeds.push_back(-pair.slowness);
  std::ranges::sort(speeds);
  return -nearest_level(speeds, speeds[speeds.size() * 9 / 10], 1.5 * noise);
}

std::map<Cell, std::vector<LinkSample>> by_cell(std::span<const LinkSample> samples, bool is_alone) {
  std::map<Cell, std::vector<LinkSample>> cells;
  for (const LinkSample& sample : samples)
    if (sample.is_alone == is_alone) cells[{sample.from, sample.to}].push_back(sample);
  return cells;
}

double median_of(std::span<const LinkSample> samples) {
  std::vector<double> values;
  for (const LinkSample& sample : samples) values.push_back(sample.value);
  return median(values).value_or(0);
}

/// Else the cell is slow at times.
bool are_alike(std::span<const LinkSample> samples, const DecodeSettings& settings) {
  const auto [low, high] = std::ranges::minmax(samples, {}, &LinkSample::value);
  return std::log(high.value / low.value) < slowness_of(settings.least_slowdown);
}

/// What the cell reaches alone, once; in further rounds, if it is slow at times.
std::vector<LinkSample> as_rounds(std::span<const LinkSample> alone, const LinkSample& before, int last_round,
                                  const DecodeSettings& settings) {
  if (are_alike(alone, settings)) {
    LinkSample one = before;
    one.value = median_of(alone);
    return {one};
  }
  std::vector<LinkSample> all(alone.begin(), alone.end());
  for (LinkSample& one : all) {
    one.is_alone = false;
    one.round = ++last_round;
  }
  return all;
}

}  // namespace

std::vector<LinkCell> contended_cells(const PairTable& table, const DecodeSettings& settings, Contention& contention) {
  std::map<int, std::vector<SeenPair>> classes;
  for (const Pair& pair : table.pairs)
    if (const auto seen = seen_pair(table, pair)) classes[class_of(table, pair)].push_back(*seen);
  contention = {};
  Count slow;
  Count fast;
  std::vector<SeenPair> contended;
  for (const auto& [class_id, pairs] : classes) {
    const double noise = noise_of_pairs(pairs, settings.noise_floor);
    const double bound = std::max(slowness_of(settings.least_slowdown) / 2, beyond_noise * noise / std::sqrt(2.0));
    const double least = fastest_level(pairs, noise) + bound;
    for (const SeenPair& pair : pairs) {
      if (pair.slowness > least) contended.push_back(pair);
      if (pair.is_explained) continue;
      slow.add(pair.slowness > bound);
      fast.add(pair.slowness < -bound);
    }
  }
  if (!are_many(slow) && !are_many(fast)) return {};
  contention.slow = contended.size();
  for (const auto& [class_id, pairs] : classes) contention.pairs += pairs.size();
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
  int last_round = 0;
  for (const LinkSample& sample : samples) {
    if (!slow.contains({sample.from, sample.to})) clean.push_back(sample);
    if (!sample.is_alone) last_round = std::max(last_round, sample.round);
  }
  std::size_t repeated = 0;
  for (const Cell& cell : slow) {
    const auto again = alone.find(cell);
    const auto before = rounds.find(cell);
    if (again == alone.end() || before == rounds.end()) continue;
    ++repeated;
    const std::span<const LinkSample> readings(again->second);
    const auto first = readings.first(std::min(readings.size(), readings_instead));
    const double gained = std::log(median_of(first) / median_of(before->second)) * (settings.is_lower_better ? -1 : 1);
    contention.cleared += gained > slowness_of(settings.least_slowdown) / 2;
    const auto instead = as_rounds(first, before->second.front(), last_round, settings);
    clean.insert(clean.end(), instead.begin(), instead.end());
    // Of what is still suspicious without contention.
    clean.insert(clean.end(), readings.begin() + static_cast<std::ptrdiff_t>(first.size()), readings.end());
  }
  contention.repeated = repeated;
  if (static_cast<double>(repeated) < least_repeated * static_cast<double>(slow.size())) return {};
  if (static_cast<double>(contention.cleared) < least_cleared * static_cast<double>(repeated)) return {};
  return clean;
}

}  // namespace muster::culprits
