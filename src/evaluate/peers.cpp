#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>

#include "base/units.hpp"
#include "evaluate/bounds.hpp"
#include "stats/drift.hpp"
#include "stats/separated.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

constexpr std::size_t fewest_of_bins = 16;
constexpr std::size_t fewest_of_bin = 4;
constexpr double least_gap = 0.03;  // of the median
constexpr double floors = 4;        // within so many times the floor nothing is an outlier
constexpr std::size_t many_readings = 400;
constexpr double most_normal = 3;         // deviations
constexpr double least_distance = 1.2;    // of an outlier, among many readings with a normal tail
constexpr double most_off = 2;            // factor from the median at which no tail is accepted
constexpr double least_deviations = 1.5;  // between two bins: in one, no gap near the middle is as wide

/// The MAD of few values is often too small. With this factor healthy readings of 5 % noise fail in 1 % of cases.
double correction(std::size_t n) {
  const auto readings = static_cast<double>(n);
  return 1 + 24 / (readings * readings);
}

double deviation_of(std::span<const double> values) {
  return 1.4826 * mad(values).value_or(0);
}

/// Many readings show their tail: one in 200 of normal ones is 2.6 deviations off.
bool has_normal_tail(std::vector<double> offsets, double deviation) {
  if (offsets.size() < many_readings) return false;
  const auto at = offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 200);
  std::nth_element(offsets.begin(), at, offsets.end(), std::greater<>());
  return *at <= most_normal * deviation;
}

struct Bins {
  std::vector<double> low;
  std::vector<double> high;
};

Bins split_at(std::span<const double> values, double bound) {
  Bins bins;
  for (const double value : values)
    if (std::isfinite(value)) (value < bound ? bins.low : bins.high).push_back(value);
  return bins;
}

std::string text_of(const Peers& peers, const ReadingGroup& group, std::span<const double> values) {
  return fmt::format("peers: median {} of {} readings, z at most {:.4g}, distance at least {:.4g} %",
                     format_value(*median(values), group.facts.unit), values.size(), peers_z(peers, values.size()),
                     100 * floors * peers.mad_floor);
}

/// A reading of the better bin that gets worse is judged in the other one before it fails.
double seen_in_bins(const Peers& peers, Better better, const Bins& bins) {
  const bool is_low_worse = better != Better::lower;
  const auto& worse = is_low_worse ? bins.low : bins.high;
  const Range range = peers_range(peers, better, worse);
  const auto& end = is_low_worse ? range.least : range.most;
  const double usual = *median(is_low_worse ? bins.high : bins.low);
  const double of_worse = peers_seen_from(peers, better, worse);
  if (!end || of_worse <= 0 || usual == 0) return 0;
  return std::max(of_worse, std::fabs(usual - *end) / std::fabs(usual));
}

/// Each bin is judged for itself.
void hold_in_bins(const Peers& peers, const ReadingGroup& group, std::span<const Sample> samples,
                  std::span<const double> values, double bound_of_bins, Bound& bound) {
  const Bins bins = split_at(values, bound_of_bins);
  const auto text = [&](const std::vector<double>& bin) {
    return fmt::format("{}, in one of two bins: {} around {} and {} around {}", text_of(peers, group, bin),
                       bins.low.size(), format_value(*median(bins.low), group.facts.unit), bins.high.size(),
                       format_value(*median(bins.high), group.facts.unit));
  };
  for (const Sample& sample : samples) {
    const auto& bin = sample.value < bound_of_bins ? bins.low : bins.high;
    bound.ranges.push_back(peers_range(peers, group.facts.better, bin));
    bound.texts.push_back(text(bin));
  }
  bound.seen_from = seen_in_bins(peers, group.facts.better, bins);
  bound.text = fmt::format("peers: two bins, {} readings around {} and {} around {}", bins.low.size(),
                           format_value(*median(bins.low), group.facts.unit), bins.high.size(),
                           format_value(*median(bins.high), group.facts.unit));
  bound.note = fmt::format("{}{} has {}", group.metric, where_clause(group.where), bound.text.substr(7));
}

}  // namespace

std::optional<double> between_bins(std::span<const double> values) {
  std::vector<double> sorted;
  std::copy_if(values.begin(), values.end(), std::back_inserter(sorted), [](double x) { return std::isfinite(x); });
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  if (n < fewest_of_bins) return std::nullopt;
  const std::size_t least = std::max(fewest_of_bin, (n + 4) / 5);
  std::size_t at = 0;
  double widest = 0;
  for (std::size_t low = least; low + least <= n; ++low)
    if (const double gap = sorted[low] - sorted[low - 1]; gap > widest) widest = gap, at = low;
  if (at == 0) return std::nullopt;
  const std::span all(sorted);
  const double deviation = std::max(deviation_of(all.first(at)), deviation_of(all.subspan(at)));
  if (widest < least_gap * std::fabs(*median(sorted)) || widest < least_deviations * deviation) return std::nullopt;
  return std::midpoint(sorted[at - 1], sorted[at]);
}

double peers_z(const Peers& peers, std::size_t readings) {
  // drift_z leaves 20 values free; of these, 100.
  return drift_z(peers.max_z, readings / 5);
}

Range peers_range(const Peers& peers, Better better, std::span<const double> values) {
  const Summary summary = summarize(values);
  if (summary.n == 0) return {};
  // |z| <= max_z solved for x, so that the bound that is printed is the bound that judges (see modified_z).
  const auto n = static_cast<std::size_t>(summary.n);
  const double by_spread = peers_z(peers, n) * correction(n) * summary.mad / 0.6745;
  const double reach = std::max(by_spread, floors * peers.mad_floor * std::fabs(summary.median));
  const auto bound_towards = [&](double sign) {
    std::vector<double> offsets;
    std::vector<double> good_offsets;
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      offsets.push_back(sign * (value - summary.median));
      good_offsets.push_back(-offsets.back());
    }
    if (has_normal_tail(offsets, summary.mad / 0.6745))
      return separated_bound(std::move(offsets), reach, least_distance);
    const double most = std::fabs(summary.median) * (sign < 0 ? 1 - 1 / most_off : most_off - 1);
    return std::min(tail_bound(std::move(offsets), std::move(good_offsets), reach), std::max(reach, most));
  };
  Range range;
  if (better != Better::lower) range.least = summary.median - bound_towards(-1);
  if (better != Better::higher) range.most = summary.median + bound_towards(1);
  return range;
}

namespace {

/// How much worse, as a share, one of the values must be to lie outside, in the bad direction `sign`.
double fall_until_outside(const Peers& peers, Better better, std::vector<double> values, std::size_t at, double usual) {
  const double own = values[at];
  // Among few values the outlier itself moves the bound.
  const double sign = better == Better::lower ? 1 : -1;
  values[at] += sign * 100 * usual;
  const Range range = peers_range(peers, better, values);
  return sign * ((sign > 0 ? *range.most : *range.least) - own) / std::fabs(own);
}

}  // namespace

double peers_seen_from(const Peers& peers, Better better, std::span<const double> values) {
  constexpr std::size_t few = 32;
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known), [](double x) { return std::isfinite(x); });
  const double usual = std::fabs(median(known).value_or(0));
  if (usual <= 0) return 0;
  double widest = 0;
  if (known.size() <= few) {
    for (std::size_t i = 0; i < known.size(); ++i)
      if (known[i] != 0) widest = std::max(widest, fall_until_outside(peers, better, known, i, usual));
    return widest;
  }
  const Range range = peers_range(peers, better, known);
  const double middle = *median(known);
  if (range.least) widest = middle - *range.least;
  if (range.most) widest = std::max(widest, *range.most - middle);
  return (widest + deviation_of(known)) / usual;
}

Bound peers_bound(const Peers& peers, const ReadingGroup& group, const Readings& readings) {
  const auto values = readings.peers_of(group);
  Bound bound;
  bound.kind = BoundKind::peers;
  const auto enough = static_cast<std::size_t>(std::max(peers.min_items, 1));
  if (values.size() < enough) {
    bound.missing = fmt::format("{}{} has {} {}, its peers judge from {}", group.metric, where_clause(group.where),
                                values.size(), values.size() == 1 ? "value" : "values", enough);
    bound.remedy_if_missing = group.has_limit ? "use more ranks, or judge it by a reference or a limit"
                                              : "use more ranks, or judge it by a reference";
    bound.is_optional = true;
    return bound;
  }
  if (const auto bins = between_bins(values)) {
    hold_in_bins(peers, group, readings.of(group), values, *bins, bound);
    return bound;
  }
  bound.range = peers_range(peers, group.facts.better, values);
  bound.seen_from = peers_seen_from(peers, group.facts.better, values);
  bound.text = text_of(peers, group, values);
  return bound;
}

}  // namespace muster
