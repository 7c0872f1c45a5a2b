#include "evaluate/possible.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "base/text.hpp"
#include "base/units.hpp"
#include "evaluate/places.hpp"
#include "evaluate/readings.hpp"
#include "model/series.hpp"

namespace muster {

namespace {

/// Clocks and the figures of data sheets are not exact.
constexpr double slack = 1.05;
constexpr std::size_t most_readings = 4;

struct Impossible {
  std::size_t observation = 0;
  std::size_t reading = 0;
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

const MetricSpec* metric_of(const ProbeSpec& probe, std::string_view name) {
  for (const MetricSpec& metric : probe.metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

bool has_value(const Reading& reading) {
  return reading.summary.n > 0 && std::isfinite(reading.summary.median) && reading.summary.median > 0;
}

class Search {
 public:
  Search(const CaseRecord& record, const ProbeSpec& probe) : record_(record), probe_(probe) {
    for (std::size_t i = 0; i < record.observations.size(); ++i)
      if (record.observations[i].state == ObservationState::measured) look_at(i);
  }
  /// By metric.
  std::map<std::string, std::vector<Impossible>> found;

 private:
  void look_at(std::size_t index) {
    const auto& readings = record_.observations[index].readings;
    std::map<const Reading*, double, KeyLess> possible;
    for (const Reading& reading : readings)
      if (is_possible(reading) && has_value(reading)) possible[&reading] = reading.summary.median;
    if (possible.empty()) return;
    for (std::size_t i = 0; i < readings.size(); ++i) {
      const Reading& reading = readings[i];
      if (!has_value(reading) || base_metric(reading.metric) != reading.metric) continue;
      const auto best = possible.find(&reading);
      const MetricSpec* metric = best == possible.end() ? nullptr : metric_of(probe_, reading.metric);
      if (metric == nullptr || metric->better == Better::neither) continue;
      const double excess = metric->better == Better::higher ? reading.summary.median / best->second
                                                             : best->second / reading.summary.median;
      if (excess > slack) found[reading.metric].push_back({index, i, best->second, excess});
    }
  }

  const CaseRecord& record_;
  const ProbeSpec& probe_;
};

Finding finding_of(const CaseRecord& record, const MetricSpec& metric, const std::vector<Impossible>& all,
                   const Places& places) {
  std::string text(metric.name);
  Finding finding;
  for (std::size_t i = 0; i < std::min(all.size(), most_readings); ++i) {
    const Observation& seen = record.observations[all[i].observation];
    const Reading& reading = seen.readings[all[i].reading];
    text += fmt::format("{} of {}{}{} is {}, {} {} is possible", i == 0 ? "" : ";", places.say(seen.rank),
                        reading.peer < 0 ? "" : " to " + places.say(reading.peer), where_clause(reading.where),
                        format_value(reading.summary.median, metric.unit),
                        metric.better == Better::higher ? "at most" : "at least",
                        format_value(all[i].possible, metric.unit));
  }
  if (all.size() > most_readings) text += fmt::format("; {} more readings", all.size() - most_readings);
  for (const Impossible& one : all) {
    const Culprit culprit = places.culprit(record.observations[one.observation].rank);
    if (finding.culprits.size() < most_culprits &&
        std::find(finding.culprits.begin(), finding.culprits.end(), culprit) == finding.culprits.end())
      finding.culprits.push_back(culprit);
  }
  finding.verdict = Verdict::unmeasured;
  finding.reason = "faster than possible: " + text;
  finding.remedy =
      "trust no time of that device or link until it is known why: a driver or library that does nothing, a clock that "
      "runs wrong, arithmetic of less precision than its name (NVIDIA_TF32_OVERRIDE), or a virtual machine that "
      "makes "
      "up its links";
  return finding;
}

}  // namespace

Plausible plausible(const CaseRecord& record, const ProbeSpec& probe, const World& world) {
  Plausible result;
  if (!world.timing_doubt.empty() && !simulated_by(world.nodes).empty()) return result;
  Search search(record, probe);
  if (search.found.empty()) return result;
  const Places places(world);
  result.changed = record;
  for (auto& [name, all] : search.found) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Impossible& a, const Impossible& b) { return a.excess > b.excess; });
    result.findings.push_back(finding_of(record, *metric_of(probe, name), all, places));
    result.findings.back().subject = probe.subject;
    for (const Impossible& one : all) result.changed->observations[one.observation].readings[one.reading].summary = {};
  }
  return result;
}

}  // namespace muster
