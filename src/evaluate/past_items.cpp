#include "evaluate/past_items.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/series.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

/// Parameters and counts are in `where`, too, and labels that distinguish devices are not in the key.
bool may_match(const Labels& where, const Labels& labels) {
  return std::all_of(where.begin(), where.end(), [&](const auto& wanted) {
    const auto found =
        std::find_if(labels.begin(), labels.end(), [&](const auto& one) { return one.first == wanted.first; });
    return found == labels.end() || is_same_value(wanted.second, found->second);
  });
}

/// As the report keeps them.
std::vector<Fact> reported_facts(const Observation* seen, const ProbeSpec& probe) {
  std::vector<Fact> facts;
  if (seen == nullptr) return facts;
  std::copy_if(seen->facts.begin(), seen->facts.end(), std::back_inserter(facts),
               [&](const Fact& fact) { return is_in(fact.key, probe.reported_facts); });
  return facts;
}

}  // namespace

void PastValues::add(SeriesKey key, std::vector<DriftPoint> points, bool is_virtual) {
  key = without_nodes(std::move(key));
  if (is_virtual) of_virtual.insert(key);
  series[std::move(key)] = std::move(points);
}

const std::vector<DriftPoint>* PastValues::find(SeriesKey key) const {
  const auto found = series.find(without_nodes(std::move(key)));
  return found == series.end() ? nullptr : &found->second;
}

void PastValues::count_groups(const Plan& plan) {
  std::map<std::string, std::vector<const Expectation*>> asked;
  for (const Case& item : plan.cases)
    for (const Expectation& one : item.expects)
      if (one.history) asked[common_id(item)].push_back(&one);
  std::set<std::tuple<std::string, std::string, Labels>> judged;
  for (const auto& one : series) {
    const SeriesKey& key = one.first;
    const auto found = asked.find(key.case_id);
    if (found == asked.end()) continue;
    const auto basis =
        std::count_if(one.second.begin(), one.second.end(), [](const DriftPoint& point) { return point.is_basis; });
    const bool is_judged = std::any_of(found->second.begin(), found->second.end(), [&](const Expectation* of) {
      return of->metric == key.metric && basis >= of->history->min_runs && may_match(of->where, key.where);
    });
    if (is_judged) judged.emplace(key.case_id, key.metric, key.where);
  }
  groups = std::max<std::size_t>(1, judged.size());
}

PastItems::PastItems(const Case& item, const ProbeSpec& probe, const World& world, const Attendance& attendance,
                     const PastValues* past)
    : item_(item), probe_(probe), past_(past) {
  if (past == nullptr) return;
  simulated_ = simulated_by(world.nodes);
  std::size_t readings = 0;
  for (std::size_t rank = 0; rank < attendance.observed.size(); ++rank) {
    node_of_.push_back(printable_line(world.ranks[rank].host));
    const Observation* seen = attendance.observed[rank];
    names_.add_rank(node_of_.back(), reported_facts(seen, probe));
    if (!attendance.has_measured(rank)) continue;
    readings += seen->readings.size();
    for (const Reading& reading : seen->readings)
      if (reading.peer >= 0) names_.add_link(reading.metric, static_cast<int>(rank), reading.peer);
  }
  is_by_node_ = readings > most_listed_readings || node_of_.size() > most_listed_ranks;
}

SeriesKey PastItems::key_of(const ReadingGroup& group, const Sample& sample) const {
  SeriesKey key{common_id(item_), {}, simulated_, group.metric, group.where, {}};
  const std::string& node = node_of_[static_cast<std::size_t>(sample.rank)];
  if (is_by_node_)
    key.item = {ItemKind::node, node, node, {}};
  else
    key.item = names_.item(group.metric, sample.rank, sample.reading->peer, key.where);
  key.shape = job_shape(&probe_, key.item.kind, item_.shape.node_count(), item_.shape.ranks());
  return without_nodes(std::move(key));
}

std::vector<PastItems::Of> PastItems::of(const ReadingGroup& group, std::span<const Sample> samples) const {
  std::vector<Of> all;
  std::map<SeriesKey, std::vector<double>> values;
  for (const Sample& sample : samples) {
    all.push_back({key_of(group, sample)});
    values[all.back().key].push_back(sample.value);
  }
  for (Of& one : all) {
    one.value = median(values[one.key]).value_or(std::numeric_limits<double>::quiet_NaN());
    one.points = past_->find(one.key);
    one.is_virtual = past_->of_virtual.contains(one.key);
  }
  return all;
}

}  // namespace muster
