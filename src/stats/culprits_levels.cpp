#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "stats/culprits_pairs.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

constexpr int few_units = 8;
constexpr std::size_t fewest_means = 66;  ///< with fewer pairs their means hold too little about noise

struct ClassReadings {
  std::vector<double> speeds;                 ///< sorted
  std::vector<double> differences;            ///< between the two directions of a pair
  std::vector<std::pair<double, int>> means;  ///< of pairs measured both ways, and of how many readings
  std::vector<int> units;
};

double at_quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

/// What the two directions of pairs show.
struct Ways {
  double noise = 0;
  bool is_one_slower = false;  ///< by about as much in most pairs, whichever direction that is
};

/// A slow node, or link, slows both directions, so that their difference stays healthy.
Ways ways_of(std::vector<double> differences) {
  if (differences.size() < 3) return {};
  std::sort(differences.begin(), differences.end());
  if (differences.size() >= fewest_means) {
    // Of |normal| the median is 1.7 times the median deviation from it.
    constexpr double clearly_apart = 2.2;
    const double middle = *median(differences);
    const double around = *mad(differences);
    if (middle > clearly_apart * around) return {1.4826 * around / std::sqrt(2.0), true};
  }
  // The lower quartile, because slow senders and receivers touch most pairs of a small matrix.
  // 0.3186: a quarter of |normal| lies below it; sqrt 2: a difference has the noise of both.
  return {differences[(differences.size() - 1) / 4] / (0.3186 * std::sqrt(2.0)), false};
}

/// From the fast side alone, on which no fault lies.
double noise_above(const std::vector<double>& sorted, double level) {
  const auto above = std::upper_bound(sorted.begin(), sorted.end(), level) - sorted.begin();
  const auto count = static_cast<std::ptrdiff_t>(sorted.size()) - above;
  if (count < 4) return 0;
  return (sorted[static_cast<std::size_t>(above + count / 2)] - level) * 1.4826;
}

/// As noise_above, of means over both directions: a reading's share of it.
double noise_of_means(const std::vector<std::pair<double, int>>& means, double level) {
  std::vector<double> above;
  for (const auto& [mean, n] : means)
    if (mean > level) above.push_back((mean - level) * std::sqrt(n));
  return median(above).value_or(0) * 1.4826;
}

std::map<int, ClassReadings> by_class(const PairTable& table) {
  std::map<int, ClassReadings> classes;
  for (const Pair& pair : table.pairs) {
    RunningMean both;
    std::array<RunningMean, 2> ways;
    ClassReadings* last = nullptr;
    for (const LinkReading& reading : table.readings_of(pair)) {
      if (reading.is_alone) continue;
      last = &classes[reading.class_id];
      last->speeds.push_back(reading.speed);
      both.add(reading.speed);
      ways[reading.is_upward].add(reading.speed);
    }
    if (last == nullptr) continue;
    last->units.push_back(pair.low);
    last->units.push_back(pair.high);
    if (ways[0].n == 0 || ways[1].n == 0) continue;
    last->means.emplace_back(both.mean(), both.n);
    const double difference = std::fabs(ways[0].mean() - ways[1].mean());
    // More than a third is a fault of one direction, not noise.
    // Means of several readings differ less than two readings do.
    const double shrink = std::sqrt((1.0 / ways[0].n + 1.0 / ways[1].n) / 2);
    if (difference < slowness_of(1.0 / 3)) last->differences.push_back(difference / shrink);
  }
  for (auto& [id, one] : classes) {
    std::sort(one.speeds.begin(), one.speeds.end());
    std::sort(one.units.begin(), one.units.end());
    one.units.erase(std::unique(one.units.begin(), one.units.end()), one.units.end());
  }
  return classes;
}

/// Where even the share that `healthy_share` promises may be missing, because few pairs met: the readings above a gap
/// that no noise makes.
std::optional<double> level_above_gap(const std::vector<double>& sorted, double reach) {
  const double least_gap = std::max(slowness_of(1.0 / 3), 4 * reach);
  for (std::size_t above = 2; above <= sorted.size() / 2; ++above) {
    const std::size_t lowest = sorted.size() - above;
    if (sorted[lowest] - sorted[lowest - 1] > least_gap) return sorted[lowest + (above - 1) / 2];
  }
  return std::nullopt;
}

std::vector<double> sorted_means(const ClassReadings& readings) {
  std::vector<double> means;
  for (const auto& [mean, n] : readings.means) means.push_back(mean);
  std::sort(means.begin(), means.end());
  return means;
}

/// Share of the pairs that avoid `slow` of `units` units.
double healthy_share(int units, int slow) {
  const double healthy = units - slow;
  return healthy * (healthy - 1) / (static_cast<double>(units) * (units - 1));
}

}  // namespace

double noise_of_directions(std::vector<double> differences) {
  return ways_of(std::move(differences)).noise;
}

double nearest_level(const std::vector<double>& sorted, double start, double reach) {
  double level = start;
  for (int step = 0; step < 100; ++step) {
    const auto low = std::lower_bound(sorted.begin(), sorted.end(), level - reach) - sorted.begin();
    const auto high = std::upper_bound(sorted.begin(), sorted.end(), level + reach) - sorted.begin();
    const auto middle = static_cast<std::size_t>(low + high - 1);
    const double next = (sorted[middle / 2] + sorted[(middle + 1) / 2]) / 2;
    if (next == level) break;
    level = next;
  }
  return level;
}

double widened(double noise, double floor, std::size_t n) {
  return std::max(noise, floor) * (1 + 6.0 / static_cast<double>(n));
}

std::vector<ClassLevel> find_levels(const PairTable& table, const DecodeSettings& settings, int slow_units) {
  std::vector<ClassLevel> levels;
  for (const auto& [id, one] : by_class(table)) {
    const int units = static_cast<int>(one.units.size());
    const int slow = std::min(slow_units, units / 2);
    const Ways ways = ways_of(one.differences);
    const double between = ways.noise;
    const double reach = 1.5 * std::max(between, settings.noise_floor);
    // Of pairs of which one direction is slower, the means have a level; the directions have two.
    const auto values = ways.is_one_slower ? sorted_means(one) : one.speeds;
    double start = at_quantile(values, 1 - healthy_share(units, slow) / 2);
    if (slow > 0 && units <= few_units) start = level_above_gap(one.speeds, reach).value_or(start);
    ClassLevel level;
    level.class_id = id;
    level.expected = nearest_level(values, start, reach);
    const double known = one.differences.size() >= 6 ? between : 0;
    level.noise =
        widened(std::max(noise_above(one.speeds, level.expected), known), settings.noise_floor, one.speeds.size());
    level.readings = static_cast<int>(one.speeds.size());
    level.pair_noise = level.noise;
    if (one.means.size() >= fewest_means)
      level.pair_noise = std::min(
          level.noise, widened(noise_of_means(one.means, level.expected), settings.noise_floor, one.speeds.size()));
    levels.push_back(level);
  }
  return levels;
}

std::vector<ClassLevel> levels_of_the_rest(const PairTable& table, const DecodeSettings& settings,
                                           std::span<const ClassLevel> before) {
  std::vector<ClassLevel> levels(before.begin(), before.end());
  for (ClassLevel& level : levels) {
    std::vector<double> rest;
    for (const Pair& pair : table.pairs) {
      for (const LinkReading& reading : table.readings_of(pair)) {
        if (reading.is_alone || reading.class_id != level.class_id || !table.is_open(pair, reading)) continue;
        rest.push_back(reading.speed);
      }
    }
    if (rest.size() < 4) continue;
    std::sort(rest.begin(), rest.end());
    const double middle = (rest[(rest.size() - 1) / 2] + rest[rest.size() / 2]) / 2;
    // A single slow link of a small matrix is still in here; half of the rest is not.
    level.expected = nearest_level(rest, middle, 3 * level.noise);
    const bool has_own = level.pair_noise < level.noise;
    level.noise = widened(noise_above(rest, level.expected), settings.noise_floor, rest.size());
    level.pair_noise = has_own ? std::min(level.pair_noise, level.noise) : level.noise;
  }
  return levels;
}

}  // namespace muster::culprits
