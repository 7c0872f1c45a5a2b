// Pairs that share a part of the network slow each other down in the rounds, and hide what is slower by less than that.
// Alone they don't.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "stats/culprits_pairs.hpp"
#include "stats/stats.hpp"

namespace muster::culprits {

namespace {

constexpr double least_contended = 0.15;      ///< of the open pairs: fewer are slow by noise or a few faults
constexpr std::size_t fewest_contended = 12;  ///< pairs
constexpr double least_repeated = 0.5;        ///< of the contended cells: else the rounds decide

using Cell = std::pair<int, int>;  ///< from, to

/// In the rounds, both directions together, and when it was measured first.
struct InRounds {
  RunningMean slowness;
  int first = 0;
};

InRounds in_rounds(const PairTable& table, const Pair& pair) {
  InRounds all;
  for (const LinkReading& reading : table.readings_of(pair)) {
    if (reading.is_alone) continue;
    all.first = all.slowness.n == 0 ? reading.round : std::min(all.first, reading.round);
    all.slowness.add(reading.slowness);
  }
  return all;
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
  std::vector<std::pair<int, LinkCell>> slow;  // and when each was measured
  Count open;
  for (const Pair& pair : table.pairs) {
    const InRounds seen = in_rounds(table, pair);
    if (seen.slowness.n == 0) continue;
    const bool is_slow = seen.slowness.mean() > bound;
    if (!pair.ways[0].is_explained && !pair.ways[1].is_explained) open.add(is_slow);
    if (is_slow) slow.push_back({seen.first, {pair.low, pair.high, share_of(seen.slowness.mean())}});
  }
  contention = {};
  if (open.slow < fewest_contended || open.share() < least_contended) return {};
  contention.slow = slow.size();
  contention.pairs = table.pairs.size();
  // Round by round: each unit once before any is measured twice.
  std::stable_sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LinkCell> cells;
  for (const auto& [round, cell] : slow) {
    cells.push_back(cell);
    cells.push_back({cell.to, cell.from, cell.slowdown});
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
  return clean;
}

}  // namespace muster::culprits
