// Classes of pairs without labels: units within a rack are faster with each other.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "stats/culprits_pairs.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

constexpr std::size_t fewest_pairs_of_modes = 24;
constexpr double least_noise_of_mean = 0.015;
constexpr double least_mode = 0.05;    ///< of the pairs on either side of a valley
constexpr double most_between = 0.15;  ///< of the density of the lower peak
constexpr double least_clustered = 2.0 / 3;
constexpr double least_fast_inside = 0.85;
constexpr double most_of_divided = 0.75;  ///< of a set of slower pairs: the largest set of faster ones in it
constexpr double least_above_slow = 0.2;  ///< of the way from the slow speed to the fast one
constexpr double least_divided = 0.75;    ///< of the units: in sets that a faster kind of pair divides

/// Both directions and all rounds of a pair.
struct PairSpeed {
  std::size_t pair = 0;
  double speed = 0;
};

struct ClassPairs {
  std::vector<PairSpeed> pairs;
  double noise = 0;  ///< of their means
};

ClassPairs pairs_of_class(const PairTable& table, int class_id) {
  ClassPairs found;
  std::vector<double> differences;
  for (std::size_t at = 0; at < table.pairs.size(); ++at) {
    const Pair& pair = table.pairs[at];
    RunningMean both;
    std::array<RunningMean, 2> ways;
    for (const LinkReading& reading : table.readings_of(pair)) {
      if (reading.is_alone || reading.class_id != class_id) continue;
      both.add(reading.speed);
      ways[reading.is_upward].add(reading.speed);
    }
    if (both.n > 0) found.pairs.push_back({at, both.mean()});
    if (ways[0].n > 0 && ways[1].n > 0) differences.push_back(std::fabs(ways[0].mean() - ways[1].mean()));
  }
  // Half of the difference of two readings spreads as their mean does.
  found.noise = std::max(least_noise_of_mean, 1.4826 * median(differences).value_or(0) / 2);
  return found;
}

/// Speeds where hardly a pair lies, between many that are faster and many that are slower; the fastest first.
std::vector<double> valleys(const ClassPairs& of) {
  std::vector<double> sorted;
  for (const PairSpeed& one : of.pairs) sorted.push_back(one.speed);
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const auto below = [&](double speed) {
    return static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), speed) - sorted.begin());
  };
  const auto first = sorted[static_cast<std::size_t>(least_mode * n)];
  const auto last = sorted[static_cast<std::size_t>((1 - least_mode) * n)];
  const double step = std::max(of.noise / 2, (last - first) / 400);
  std::vector<double> at;
  std::vector<double> density;
  for (double speed = first - 2 * of.noise; speed <= last + 2 * of.noise; speed += step) {
    at.push_back(speed);
    density.push_back(below(speed + of.noise) - below(speed - of.noise));
  }
  std::vector<double> slower_peak(density.size());
  std::partial_sum(density.begin(), density.end(), slower_peak.begin(),
                   [](double a, double b) { return std::max(a, b); });
  std::vector<double> found;
  double faster_peak = 0;
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> deepest;
  const auto close = [&] {
    if (!deepest.empty()) found.push_back(deepest[deepest.size() / 2]);
    deepest.clear();
    least = std::numeric_limits<double>::infinity();
  };
  for (std::size_t i = density.size(); i-- > 0;) {
    faster_peak = std::max(faster_peak, density[i]);
    const bool is_between = below(at[i]) >= least_mode * n && n - below(at[i]) >= least_mode * n;
    if (!is_between || density[i] > most_between * std::min(faster_peak, slower_peak[i])) {
      close();
      continue;
    }
    if (density[i] < least) deepest.clear(), least = density[i];
    if (density[i] <= least) deepest.push_back(at[i]);
  }
  close();
  return found;
}

/// Units that pairs faster than `bound` connect, by unit; -1: not of the class.
std::vector<int> clusters_of(const PairTable& table, const ClassPairs& of, double bound) {
  std::vector<int> root(static_cast<std::size_t>(table.units), -1);
  const auto find = [&](int unit) {
    while (root[static_cast<std::size_t>(unit)] != unit) {
      int& next = root[static_cast<std::size_t>(unit)];
      next = root[static_cast<std::size_t>(next)];
      unit = next;
    }
    return unit;
  };
  for (const PairSpeed& one : of.pairs)
    for (const int unit : {table.pairs[one.pair].low, table.pairs[one.pair].high})
      root[static_cast<std::size_t>(unit)] = unit;
  for (const PairSpeed& one : of.pairs) {
    if (one.speed <= bound) continue;
    const Pair& pair = table.pairs[one.pair];
    root[static_cast<std::size_t>(find(pair.low))] = find(pair.high);
  }
  for (int unit = 0; unit < table.units; ++unit)
    if (root[static_cast<std::size_t>(unit)] >= 0) root[static_cast<std::size_t>(unit)] = find(unit);
  return root;
}

/// Like racks of which none has most of the units: one fast set and single units beside it are slow units, one small
/// set beside a large one is a group.
bool are_classes(const PairTable& table, const ClassPairs& of, const std::vector<int>& clusters, double bound) {
  std::map<int, int> sizes;
  int units = 0;
  for (const int cluster : clusters)
    if (cluster >= 0) ++sizes[cluster], ++units;
  int largest = 0;
  int clustered = 0;
  for (const auto& [cluster, size] : sizes) {
    largest = std::max(largest, size);
    if (size > 1) clustered += size;
  }
  Count inside;
  for (const PairSpeed& one : of.pairs) {
    const Pair& pair = table.pairs[one.pair];
    if (clusters[static_cast<std::size_t>(pair.low)] == clusters[static_cast<std::size_t>(pair.high)])
      inside.add(one.speed > bound);
  }
  return 2 * largest <= units && clustered >= least_clustered * units && inside.share() >= least_fast_inside;
}

/// Sets of units are only comparable where pairs of the class connect them: racks of a labelled class are not.
bool is_connected(const PairTable& table, const ClassPairs& of) {
  int first = -1;
  for (const int cluster : clusters_of(table, of, -std::numeric_limits<double>::infinity())) {
    if (first < 0) first = cluster;
    if (cluster >= 0 && cluster != first) return false;
  }
  return true;
}

struct SumOfSpeeds {
  double sum = 0;
  int n = 0;
  void add(double speed) {
    sum += speed;
    ++n;
  }
  [[nodiscard]] double mean() const { return sum / n; }
};

/// Pairs of two sets of one parent: [set][other set], both ways.
using SpeedsOfSets = std::map<int, std::map<int, SumOfSpeeds>>;

struct JoinBounds {
  double least = 0;   ///< speed with the larger set
  double margin = 0;  ///< by which that exceeds the speed with all others
};

/// The set of which one that has met `met` is a slow part: larger, and faster with it than all others are; -1: none.
int set_to_join(const std::map<int, SumOfSpeeds>& met, const std::map<int, int>& sizes, int own_size,
                const JoinBounds& bounds) {
  int best = -1;
  SumOfSpeeds others;
  for (const auto& [other, sum] : met) {
    others.sum += sum.sum;
    others.n += sum.n;
    if (sizes.at(other) > own_size && (best < 0 || sum.mean() > met.at(best).mean())) best = other;
  }
  if (best < 0 || met.at(best).mean() < bounds.least) return -1;
  others.sum -= met.at(best).sum;
  others.n -= met.at(best).n;
  return others.n > 0 && met.at(best).mean() - others.mean() >= bounds.margin ? best : -1;
}

/// Slow units are slow with those of their rack, too, but less than with all others of its parent: they join the set
/// with which they are faster by half of what the sets' own pairs are.
void join_slow_units(const PairTable& table, const ClassPairs& of, double bound, const std::vector<int>& parents,
                     std::vector<int>& clusters) {
  const auto at = [](const std::vector<int>& sets, int unit) { return sets[static_cast<std::size_t>(unit)]; };
  SumOfSpeeds fast;
  SumOfSpeeds slow;
  SpeedsOfSets speeds;
  for (const PairSpeed& one : of.pairs) {
    const Pair& pair = table.pairs[one.pair];
    if (at(parents, pair.low) != at(parents, pair.high)) continue;
    (one.speed > bound ? fast : slow).add(one.speed);
    const int sets[] = {at(clusters, pair.low), at(clusters, pair.high)};
    if (sets[0] == sets[1]) continue;
    speeds[sets[0]][sets[1]].add(one.speed);
    speeds[sets[1]][sets[0]].add(one.speed);
  }
  if (fast.n == 0 || slow.n == 0) return;
  std::map<int, int> sizes;
  for (const int cluster : clusters) ++sizes[cluster];
  std::map<int, int> joins;
  const double apart = fast.mean() - slow.mean();
  const JoinBounds bounds{slow.mean() + least_above_slow * apart, apart / 2};
  for (const auto& [set, met] : speeds)
    if (const int best = set_to_join(met, sizes, sizes.at(set), bounds); best >= 0) joins[set] = best;
  // Sets join larger ones only: no circle.
  for (int& cluster : clusters)
    for (auto next = joins.find(cluster); next != joins.end(); next = joins.find(cluster)) cluster = next->second;
}

/// A faster kind of pair is one within most of the sets of the slower kind; within one of them it is a slow part.
bool divide_most(const std::vector<int>& parents, const std::vector<int>& clusters) {
  std::map<int, std::map<int, int>> sizes;
  for (std::size_t unit = 0; unit < clusters.size(); ++unit)
    if (clusters[unit] >= 0) ++sizes[parents[unit]][clusters[unit]];
  int units = 0;
  int divided = 0;
  for (const auto& [parent, inside] : sizes) {
    int all = 0;
    int largest = 0;
    int sets = 0;
    for (const auto& [cluster, size] : inside) {
      all += size;
      largest = std::max(largest, size);
      sets += size > 1;
    }
    units += all;
    if (sets > 1 && largest <= most_of_divided * all) divided += all;
  }
  return divided >= least_divided * units;
}

}  // namespace

std::vector<SplitClass> split_classes(PairTable& table) {
  std::map<int, bool> ids;
  for (const LinkReading& reading : table.readings) ids[reading.class_id] = true;
  std::vector<SplitClass> splits;
  int next = ids.rbegin()->first;
  for (const auto& [class_id, is_there] : ids) {
    const ClassPairs of = pairs_of_class(table, class_id);
    if (of.pairs.size() < fewest_pairs_of_modes || !is_connected(table, of)) continue;
    std::vector<double> bounds = valleys(of);
    std::sort(bounds.begin(), bounds.end());
    std::vector<int> parents(static_cast<std::size_t>(table.units));
    for (const double bound : bounds) {
      auto clusters = clusters_of(table, of, bound);
      if (!are_classes(table, of, clusters, bound) || !divide_most(parents, clusters)) continue;
      join_slow_units(table, of, bound, parents, clusters);
      splits.push_back({++next, class_id});
      // Those that were measured alone and never in a round, too.
      for (const Pair& pair : table.pairs) {
        if (clusters[static_cast<std::size_t>(pair.low)] == clusters[static_cast<std::size_t>(pair.high)]) continue;
        for (std::size_t i = pair.begin; i < pair.end; ++i)
          if (int& id = table.readings[i].class_id; id == class_id) id = next;
      }
      parents = std::move(clusters);
    }
  }
  return splits;
}

}  // namespace muster::culprits
