// What all readings have in common is not the fault of a unit: one direction slower everywhere, a run that gets slower.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/lists.hpp"
#include "stats/culprits_pairs.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

constexpr std::size_t fewest_pairs = 16;  ///< of fewer, a few slow senders can be most
constexpr double least_agreement = 0.75;  ///< of the pairs whose slower direction is the same one
constexpr double least_loss = 0.02;       ///< smaller ones drown in the noise floor
constexpr double clearly = 4;             ///< standard errors
constexpr std::size_t fewest_rounds = 5;
constexpr std::size_t fewest_of_round = 6;

/// Speed upwards less speed downwards, of each pair that was measured both ways in one class.
std::vector<double> differences(const PairTable& table) {
  std::vector<double> all;
  for (const Pair& pair : table.pairs) {
    std::array<RunningMean, 2> ways;
    for (const LinkReading& reading : table.readings_of(pair))
      if (!reading.is_alone) ways[reading.is_upward].add(reading.speed);
    if (ways[0].n > 0 && ways[1].n > 0) all.push_back(ways[1].mean() - ways[0].mean());
  }
  return all;
}

/// Least squares through (x, y).
struct Line {
  double slope = 0;
  double error = 0;  ///< of the slope
  double middle = 0;
};

Line line_through(const std::vector<std::pair<double, double>>& points) {
  const auto n = static_cast<double>(points.size());
  double x_mean = 0;
  double y_mean = 0;
  for (const auto& [x, y] : points) x_mean += x / n, y_mean += y / n;
  double xx = 0;
  double xy = 0;
  for (const auto& [x, y] : points) xx += (x - x_mean) * (x - x_mean), xy += (x - x_mean) * (y - y_mean);
  Line line;
  line.middle = x_mean;
  if (xx <= 0) return line;
  line.slope = xy / xx;
  double rest = 0;
  for (const auto& [x, y] : points) {
    const double off = y - y_mean - line.slope * (x - x_mean);
    rest += off * off;
  }
  line.error = std::sqrt(rest / (n - 2) / xx);
  return line;
}

void remove_trend_of_class(PairTable& table, int class_id) {
  std::map<int, std::vector<double>> rounds;
  for (const LinkReading& reading : table.readings)
    if (reading.class_id == class_id && !reading.is_alone) rounds[reading.round].push_back(reading.speed);
  std::vector<std::pair<double, double>> medians;
  for (const auto& [round, speeds] : rounds)
    if (speeds.size() >= fewest_of_round) medians.emplace_back(round, *median(speeds));
  if (medians.size() < fewest_rounds) return;
  const Line line = line_through(medians);
  const double last = medians.back().first;
  const double change = line.slope * (last - medians.front().first);
  if (std::fabs(line.slope) <= clearly * line.error || std::fabs(change) < least_loss) return;
  for (LinkReading& reading : table.readings) {
    if (reading.class_id != class_id) continue;
    // What is measured alone comes after the last round.
    const double at = reading.is_alone ? last : static_cast<double>(reading.round);
    reading.speed -= line.slope * (at - line.middle);
  }
}

}  // namespace

double remove_direction(PairTable& table) {
  const auto all = differences(table);
  if (all.size() < fewest_pairs) return 0;
  const double middle = *median(all);
  const double error = 1.2533 * 1.4826 * *mad(all) / std::sqrt(static_cast<double>(all.size()));
  const auto agree = std::count_if(all.begin(), all.end(), [&](double one) { return one * middle > 0; });
  if (std::fabs(middle) < std::max(least_loss, clearly * error)) return 0;
  if (static_cast<double>(agree) < least_agreement * static_cast<double>(all.size())) return 0;
  for (LinkReading& reading : table.readings) reading.speed += (reading.is_upward ? -middle : middle) / 2;
  return middle;
}

void remove_trend(PairTable& table) {
  std::vector<int> classes;
  for (const LinkReading& reading : table.readings)
    if (!is_in(reading.class_id, classes)) classes.push_back(reading.class_id);
  for (const int class_id : classes) remove_trend_of_class(table, class_id);
}

}  // namespace muster::culprits
