#include "evaluate/possible.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "evaluate/rank_map.hpp"
#include "evaluate/readings.hpp"
#include "model/gpu_vendor.hpp"
#include "model/series.hpp"

namespace muster {

namespace {

/// Clocks and the figures of data sheets are not exact.
constexpr double slack = 1.05;
constexpr std::size_t most_readings = 4;

struct Impossible {
  std::size_t observation = 0;
  std::size_t reading = 0;
  double value = 0;
  double possible = 0;
  double excess = 1;  ///< how many times as good
};

/// By metric, peer and labels, whatever the metric's suffix.
struct KeyLess {
  bool operator()(const Reading* a, const Reading* b) const {
    const std::string_view left = base_metric(a->metric);
    const std::string_view right = base_metric(b->metric);
    return std::tie(left, a->peer, a->where) < std::tie(right, b->peer, b->where);
  }
};

bool is_possible(const Reading& reading) {
  return reading.metric.ends_with(possible_suffix);
}

/// A metric whose readings may be beyond what is possible.
struct Metric {
  std::string name;
  std::string unit;
  Better better = Better::neither;
  std::optional<double> maximum;  ///< that a check declares; readings of a probe have theirs beside them
};

std::vector<Metric> metrics_of(const ProbeSpec& probe, const Case* item) {
  std::vector<Metric> metrics;
  for (const MetricSpec& metric : probe.metrics)
    if (metric.better != Better::neither)
      metrics.push_back({std::string(metric.name), std::string(metric.unit), metric.better, {}});
  if (item == nullptr) return metrics;
  for (const DeclaredMetric& metric : item->metrics)
    if (metric.maximum) metrics.push_back({metric.name, metric.unit, Better::higher, metric.maximum});
  return metrics;
}

bool has_value(const Reading& reading) {
  return reading.summary.n > 0 && std::isfinite(reading.summary.median) && reading.summary.median > 0;
}

class Search {
 public:
  Search(const CaseRecord& record, const std::vector<Metric>& metrics) : record_(record), metrics_(metrics) {
    for (std::size_t i = 0; i < record.observations.size(); ++i)
      if (record.observations[i].state == ObservationState::measured) look_at(i);
  }
  std::map<const Metric*, std::vector<Impossible>, std::less<>> found;

 private:
  void look_at(std::size_t index) {
    const auto& readings = record_.observations[index].readings;
    std::map<const Reading*, double, KeyLess> possible;
    for (const Reading& reading : readings)
      if (is_possible(reading) && has_value(reading)) possible[&reading] = reading.summary.median;
    for (std::size_t i = 0; i < readings.size(); ++i) {
      const Reading& reading = readings[i];
      const Metric* metric = has_value(reading) ? metric_of(reading) : nullptr;
      if (metric == nullptr) continue;
      const auto beside = possible.find(&reading);
      const std::optional<double> best = beside == possible.end() ? metric->maximum : beside->second;
      const auto factor = factor_to(reading, metric->unit);
      if (!best || !factor) continue;
      const double value = reading.summary.median * *factor;
      const double excess = metric->better == Better::higher ? value / *best : *best / value;
      if (excess > slack) found[metric].push_back({index, i, value, *best, excess});
    }
  }

  [[nodiscard]] const Metric* metric_of(const Reading& reading) const {
    const auto metric =
        std::find_if(metrics_.begin(), metrics_.end(), [&](const Metric& one) { return one.name == reading.metric; });
    return metric == metrics_.end() ? nullptr : &*metric;
  }

  const CaseRecord& record_;
  const std::vector<Metric>& metrics_;
};

/// The maximum of a check is unconfirmed, as its references are, where most nodes exceed it, or the only one.
void doubt_maximum(const CaseRecord& record, const Metric& metric, const std::vector<Impossible>& all,
                   const RankMap& places, const Case& item, Finding& finding) {
  std::set<int> nodes;
  std::set<int> beyond;
  for (const Observation& seen : record.observations)
    for (const Reading& reading : seen.readings)
      if (reading.metric == metric.name && has_value(reading)) nodes.insert(places.node_of(seen.rank));
  for (const Impossible& one : all) beyond.insert(places.node_of(record.observations[one.observation].rank));
  if (nodes.size() > 1 && 2 * beyond.size() <= nodes.size()) return;
  finding.culprits = {{CulpritKind::file, item.place.empty() ? "the check" : item.place, "", -1}};
  finding.remedy =
      "correct the maximum or the unit of the metric, or its pattern; if they are right, trust no time of that node "
      "until it is known why";
}

Finding finding_of(const CaseRecord& record, const Metric& metric, const std::vector<Impossible>& all,
                   const RankMap& places) {
  std::string text = metric.name;
  Finding finding;
  for (std::size_t i = 0; i < std::min(all.size(), most_readings); ++i) {
    const Observation& seen = record.observations[all[i].observation];
    const Reading& reading = seen.readings[all[i].reading];
    text +=
        fmt::format("{} of {}{}{} is {}, {} {} is possible", i == 0 ? "" : ";", places.say(seen.rank),
                    reading.peer < 0 ? "" : " to " + places.say(reading.peer), where_clause(reading.where),
                    format_value(all[i].value, metric.unit), metric.better == Better::higher ? "at most" : "at least",
                    format_value(all[i].possible, metric.unit));
  }
  if (all.size() > most_readings) text += fmt::format("; {} more readings", all.size() - most_readings);
  for (const Impossible& one : all) {
    const Culprit culprit = places.culprit(record.observations[one.observation].rank);
    if (finding.culprits.size() < most_culprits && !is_in(culprit, finding.culprits))
      finding.culprits.push_back(culprit);
  }
  finding.verdict = Verdict::unmeasured;
  finding.reason = "faster than possible: " + text;
  finding.remedy = fmt::format(
      "find the cause before you use a time of that device or link: a driver or library that does nothing, a wrong "
      "clock, arithmetic at reduced precision ({}), or a virtual machine with made-up links",
      of_all_vendors(&GpuVendor::precision_variable));
  return finding;
}

}  // namespace

Plausible plausible(const CaseRecord& record, const ProbeSpec& probe, const World& world, const Case* item) {
  Plausible result;
  if (!world.timing_doubt.empty() && !simulated_by(world.nodes).empty()) return result;
  const std::vector<Metric> metrics = metrics_of(probe, item);
  Search search(record, metrics);
  if (search.found.empty()) return result;
  const RankMap places(world);
  result.changed = record;
  for (auto& [metric, all] : search.found) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Impossible& a, const Impossible& b) { return a.excess > b.excess; });
    result.findings.push_back(finding_of(record, *metric, all, places));
    result.findings.back().subject = probe.subject;
    if (metric->maximum) doubt_maximum(record, *metric, all, places, *item, result.findings.back());
    for (const Impossible& one : all) result.changed->observations[one.observation].readings[one.reading].summary = {};
  }
  return result;
}

}  // namespace muster
