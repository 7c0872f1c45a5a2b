// How slow a unit must be to be seen: what "none is slow" is worth.
#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/culprits_pairs.hpp"

namespace muster::culprits {

namespace {

struct ClassNoise {
  int class_id = 0;
  double noise = 0;
};

struct Lift {
  double value = 0;
  int partners = 0;
  int readings = 0;
  double noise = 0;  ///< of one reading
};

/// Of what is open: how far a slowdown of a unit by all of its speed would lift its score, both ways.
Lift lift_of(const PairTable& table, int unit, std::span<const ClassNoise> noises) {
  double lift = 0;
  double most = 0;
  int n = 0;
  int n_of_most = 0;
  int partners = 0;
  for (const std::size_t i : table.pairs_of(unit)) {
    const Pair& pair = table.pairs[i];
    double one = 0;
    int count = 0;
    for (const LinkReading& reading : table.readings_of(pair)) {
      const auto noise = std::find_if(noises.begin(), noises.end(),
                                      [&](const ClassNoise& known) { return known.class_id == reading.class_id; });
      if (reading.is_alone || !table.is_open(pair, reading) || noise == noises.end()) continue;
      one += 1 / noise->noise;
      ++count;
    }
    if (count == 0) continue;
    ++partners;
    lift += one;
    n += count;
    if (one > most) most = one, n_of_most = count;
  }
  if (partners < 2) return {};
  return {(lift - most) / std::sqrt(n - n_of_most), partners, n, n / lift};
}

double largest_unseen(const PairTable& table, const DecodeSettings& settings, std::span<const ClassNoise> noises,
                      const ScoreNull& null) {
  const double bound = inverse_normal(1 - settings.false_rate / (3.0 * std::max(1, table.present_units)));
  double largest = 0;
  for (int unit = 0; unit < table.units; ++unit)
    if (const Lift lift = lift_of(table, unit, noises); lift.value > 0) {
      // A standard deviation for luck. And what is left out is not any partner but the worst, by about this much.
      const double left_out = inverse_normal(1 - 0.5 / lift.partners) / std::sqrt(lift.partners - 1);
      largest = std::max(largest, (null.middle + (bound + 1 + left_out) * null.spread) / lift.value);
    }
  return largest > 0 ? largest : std::numeric_limits<double>::infinity();
}

std::vector<ClassNoise> pair_noises(std::span<const ClassLevel> levels) {
  std::vector<ClassNoise> noises;
  for (const ClassLevel& level : levels) noises.push_back({level.class_id, level.pair_noise});
  return noises;
}

}  // namespace

double seen_from(const PairTable& table, const DecodeSettings& settings, std::span<const ClassLevel> levels) {
  return largest_unseen(table, settings, pair_noises(levels), null_of_scores(table));
}

double least_seen(const PairTable& table, const DecodeSettings& settings, std::span<const ClassLevel> levels) {
  constexpr double error_of_median = 1.2533;
  const auto noises = pair_noises(levels);
  double error = 0;
  for (int unit = 0; unit < table.units; ++unit)
    if (const Lift lift = lift_of(table, unit, noises); lift.value > 0)
      error = std::max(error, error_of_median * lift.noise / std::sqrt(lift.readings));
  return settings.least_slowdown + error;
}

double seen_from_if_quiet(const PairTable& table, const DecodeSettings& settings, std::span<const ClassLevel> levels) {
  std::vector<ClassNoise> noises;
  for (const ClassLevel& level : levels)
    noises.push_back({level.class_id, widened(0, settings.noise_floor, static_cast<std::size_t>(level.readings))});
  return largest_unseen(table, settings, noises, {});
}

}  // namespace muster::culprits

namespace muster {

bool is_limit_useful(const Culprits& found, double least_slowdown) {
  constexpr double hardly_more = 1.5;
  constexpr double most_of_least = 3;
  constexpr double usual_most = 0.3;
  const double useful = std::min(most_of_least * least_slowdown, std::max(usual_most, 1.2 * least_slowdown));
  return found.seen_from < 1 && found.seen_from <= std::max(hardly_more * found.seen_from_if_quiet, useful);
}

}  // namespace muster
