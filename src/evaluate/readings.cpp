#include "evaluate/readings.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "evaluate/like_items.hpp"
#include "model/series.hpp"

namespace muster {

namespace {

struct KeyHash {
  std::size_t operator()(const Reading* reading) const {
    const std::hash<std::string> hash;
    std::size_t mixed = hash(reading->metric);
    for (const auto& [key, value] : reading->where) mixed = (mixed * 31 + hash(key)) * 31 + hash(value);
    return mixed;
  }
};

struct KeyEqual {
  bool operator()(const Reading* a, const Reading* b) const { return a->metric == b->metric && a->where == b->where; }
};

/// A sample and the group it belongs to, before the groups are laid out one after the other.
struct Placed {
  Sample sample;
  std::size_t group;
};

class Interned {
 public:
  explicit Interned(std::vector<ReadingGroup>& groups) : groups_(groups) {}

  std::size_t operator()(const Reading& reading) {
    // Ranks tend to report the same readings in the same order.
    if (next_ >= groups_.size()) next_ = 0;
    if (groups_.empty() || !KeyEqual{}(groups_[next_].key, &reading)) {
      const auto [found, is_new] = known_.try_emplace(&reading, groups_.size());
      if (is_new) groups_.emplace_back().key = &reading;
      next_ = found->second;
    }
    ++groups_[next_].count;
    return next_++;
  }

 private:
  std::vector<ReadingGroup>& groups_;
  std::unordered_map<const Reading*, std::size_t, KeyHash, KeyEqual> known_;
  std::size_t next_ = 0;
};

MetricFacts facts_of(const Case& item, const ProbeSpec& probe, const Reading& first) {
  if (auto facts = metric_facts(item, probe, first.metric)) return *facts;
  if (const auto name = base_metric(first.metric); name != first.metric)
    if (auto facts = metric_facts(item, probe, name)) return *facts;
  return {printable_line(first.unit), Better::neither, false};
}

void note_origin(const Case& item, const ProbeSpec& probe, ReadingGroup& group) {
  const auto name = base_metric(group.key->metric);
  for (const MetricSpec& spec : probe.metrics)
    if (spec.name == name) group.has_limit = spec.has_limit;
  for (const DeclaredMetric& declared : item.metrics)
    if (declared.name == group.key->metric) {
      group.is_declared = true;
      group.maximum = declared.maximum;
      group.has_limit = declared.maximum.has_value();
    }
}

void describe_groups(const Case& item, const ProbeSpec& probe, std::vector<ReadingGroup>& groups) {
  std::size_t first = 0;
  for (ReadingGroup& group : groups) {
    group.metric = printable_line(group.key->metric);
    for (const auto& [key, value] : group.key->where)
      group.where.emplace_back(printable_line(key), printable_line(value));
    group.facts = facts_of(item, probe, *group.key);
    note_origin(item, probe, group);
    group.first = first;
    first += group.count;
  }
}

double value_in(const Reading& reading, const std::string& unit) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (reading.summary.n <= 0 || !std::isfinite(reading.summary.median)) return none;
  const auto factor = factor_to(reading, unit);
  return factor ? reading.summary.median * *factor : none;
}

template <class Parse>
bool is_same_by(Parse parse, std::string_view a, std::string_view b) {
  const auto left = parse(a);
  if (!left) return false;
  const auto right = parse(b);
  return right && *left == *right;
}

}  // namespace

std::optional<double> factor_to(const Reading& reading, const std::string& unit) {
  if (reading.unit.empty() || reading.unit == unit) return 1.0;
  return unit_factor(reading.unit, unit);
}

Summary scaled(Summary summary, double factor) {
  for (double* value : {&summary.min, &summary.median, &summary.p95, &summary.max, &summary.mad}) *value *= factor;
  return summary;
}

Readings::Readings(const Case& item, const ProbeSpec& probe, const Attendance& attendance, const RankMap& places,
                   const LikeItems* like)
    : like_(like) {
  std::vector<Placed> placed;
  placed.reserve(attendance.observed.size() * 4);
  Interned group_of(groups_);
  for (std::size_t rank = 0; rank < attendance.observed.size(); ++rank) {
    if (!attendance.has_measured(rank)) continue;
    const int at = static_cast<int>(rank);
    for (const Reading& reading : attendance.observed[rank]->readings)
      placed.push_back({{&reading, at, places.node_of(at)}, group_of(reading)});
  }
  describe_groups(item, probe, groups_);
  samples_.resize(placed.size());
  std::vector<std::size_t> next;
  for (const ReadingGroup& group : groups_) next.push_back(group.first);
  for (const Placed& one : placed) {
    Sample& sample = samples_[next[one.group]++];
    sample = one.sample;
    sample.value = value_in(*sample.reading, groups_[one.group].facts.unit);
  }
  for (const ReadingGroup& group : groups_) {
    const auto samples = of(group);
    if (!std::is_sorted(samples.begin(), samples.end(), stands_before))
      std::stable_sort(samples.begin(), samples.end(), stands_before);
  }
}

std::vector<double> Readings::peers_of(const ReadingGroup& group) const {
  return like_ == nullptr ? values_of(of(group)) : like_->of(group);
}

const ReadingGroup* Readings::find(std::string_view metric, const Labels& like) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const ReadingGroup& group) {
    return group.key->metric == metric && group.key->where == like;
  });
  return found == groups_.end() ? nullptr : &*found;
}

bool stands_before(const Sample& a, const Sample& b) {
  return std::tie(a.node, a.rank, a.reading->peer) < std::tie(b.node, b.rank, b.reading->peer);
}

std::vector<double> values_of(std::span<const Sample> samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample& sample : samples)
    if (std::isfinite(sample.value)) values.push_back(sample.value);
  return values;
}

bool is_same_value(std::string_view a, std::string_view b) {
  return a == b || is_same_by(parse_bytes, a, b) || is_same_by(parse_duration, a, b);
}

bool is_matched_by(const Labels& where, const Labels& labels) {
  return std::all_of(where.begin(), where.end(), [&](const auto& wanted) {
    const std::string* value = find_label(labels, wanted.first);
    return value != nullptr && is_same_value(wanted.second, *value);
  });
}

std::string where_clause(const Labels& where) {
  std::string clause;
  for (const auto& [key, value] : where) {
    clause += clause.empty() ? " where " : ", ";
    clause += printable_line(key) + "=" + printable_line(value);
  }
  return clause;
}

}  // namespace muster
