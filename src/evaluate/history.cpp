#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "evaluate/bounds.hpp"
#include "evaluate/past_items.hpp"

namespace muster {

namespace {

constexpr double most_errors_of_past = 10;

/// One item's past, ready to be held against its value.
struct ItemBound {
  Range range;
  std::string text;
};

/// The hypervisor of a virtual machine chooses where its CPUs run: a level that a passing run had may come back.
void keep_levels(const std::vector<DriftPoint>& points, ItemBound& bound) {
  for (const DriftPoint& point : points) {
    if (!point.is_basis) continue;
    if (bound.range.least) bound.range.least = std::min(*bound.range.least, point.value / same_level);
    if (bound.range.most) bound.range.most = std::max(*bound.range.most, point.value * same_level);
  }
  bound.text += "; a virtual machine, whose hypervisor may have moved its CPUs";
}

ItemBound bound_of(const PastItems::Of& item, const DriftOptions& options, const ReadingGroup& group) {
  const std::vector<DriftPoint>& points = *item.points;
  const auto past = drift_past(points, options);
  if (!past) return {};
  ItemBound bound;
  if (group.facts.error_floor > 0) {
    bound.range.most = std::max(group.facts.error_floor, most_errors_of_past * past->median);
    bound.text = fmt::format("history: ten times the median {} of {} earlier passing runs, at least {}",
                             format_value(past->median, group.facts.unit), past->runs,
                             format_value(group.facts.error_floor, group.facts.unit));
    return bound;
  }
  if (group.facts.better != Better::lower) bound.range.least = drift_end(points, DriftSide::lower, options);
  if (group.facts.better != Better::higher) bound.range.most = drift_end(points, DriftSide::higher, options);
  bound.text = fmt::format("history: median {} of {} earlier passing runs",
                           format_value(past->median, group.facts.unit), past->runs);
  if (item.is_virtual) keep_levels(points, bound);
  return bound;
}

/// The share by which any of the values would have to be worse to leave its range; 0: not known of all.
double seen_from_of(const std::vector<Range>& ranges, const std::vector<double>& values) {
  double widest = 0;
  for (std::size_t at = 0; at < ranges.size(); ++at) {
    const Range& range = ranges[at];
    if (!range.judges() || !(values[at] > 0)) return 0;
    if (range.least) widest = std::max(widest, 1 - *range.least / values[at]);
    if (range.most) widest = std::max(widest, *range.most / values[at] - 1);
  }
  return widest;
}

Bound without(std::string missing) {
  Bound bound;
  bound.kind = BoundKind::history;
  bound.is_optional = true;
  bound.missing = std::move(missing);
  bound.remedy_if_missing = "it is judged when there are enough passing runs; muster history lists them";
  return bound;
}

}  // namespace

bool asks_only_history(const Expectation& asked) {
  return asked.history && !asked.reference && !asked.limit && !asked.peers && !asked.profile_reference;
}

Bound history_bound(const Drift& drift, const ReadingGroup& group, const Readings& readings, const CaseFacts& facts) {
  // The same words for every metric: one note of the case.
  if (facts.past == nullptr) return without("earlier runs are not read here");
  const auto items = facts.past->of(group, readings.of(group));
  std::map<SeriesKey, ItemBound> bounds;
  for (const auto& item : items)
    if (item.points != nullptr) bounds.try_emplace(item.key);
  DriftOptions options;
  options.min_runs = drift.min_runs;
  // Each group has the same share of the run's false alarms.
  options.max_z = drift_z(drift.max_z, bounds.size() * facts.past->groups());
  options.least = drift.least;
  options.noise = drift.noise;
  std::size_t judged = 0;
  for (const auto& item : items) {
    if (item.points == nullptr || !bounds[item.key].text.empty()) continue;
    bounds[item.key] = bound_of(item, options, group);
    judged += bounds[item.key].range.judges() ? 1 : 0;
  }
  if (judged == 0) return without(fmt::format("fewer than {} earlier passing runs to compare with", drift.min_runs));
  Bound bound;
  bound.kind = BoundKind::history;
  bound.text = fmt::format("history of {}, z at most {:.4g}", counted(judged, "item"), options.max_z);
  for (const auto& item : items) {
    const auto found = bounds.find(item.key);
    bound.ranges.push_back(found == bounds.end() ? Range{} : found->second.range);
    bound.values.push_back(item.value);
    bound.texts.push_back(found == bounds.end() || found->second.text.empty()
                              ? fmt::format("history: fewer than {} earlier passing runs", drift.min_runs)
                              : found->second.text);
  }
  // Of a rate of errors no share is meant.
  if (group.facts.error_floor <= 0) bound.seen_from = seen_from_of(bound.ranges, bound.values);
  return bound;
}

}  // namespace muster
