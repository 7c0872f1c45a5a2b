#include "evaluate/rows.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/text.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

std::string text_of(const Bound& bound) {
  if (!bound.missing.empty()) return bound.missing;
  return bound.place.empty() ? bound.text : bound.text + " (" + bound.place + ")";
}

std::string text_at(const Bound& bound, std::size_t at) {
  return bound.missing.empty() && !bound.texts.empty() ? bound.text_of(at) : text_of(bound);
}

/// What the bounds of a group are, in words; empty when its readings are only reported. Index = group.
std::vector<std::string> bound_texts(const Readings& readings, const Expected& expected) {
  std::vector<std::string> texts(readings.groups().size());
  for (const Application& application : expected.applications) {
    std::string& text = texts[application.group];
    for (const Bound& bound : application.bounds) {
      if (!text.empty()) text += "; ";
      text += text_of(bound);
    }
  }
  return texts;
}

int worst_rank(std::span<const Sample> samples, Better better) {
  int worst = -1;
  double value = 0;
  for (const Sample& sample : samples) {
    if (better == Better::neither || !std::isfinite(sample.value)) continue;
    const bool is_worse = better == Better::higher ? sample.value < value : sample.value > value;
    if (worst >= 0 && !is_worse) continue;
    worst = sample.rank;
    value = sample.value;
  }
  return worst;
}

/// Fills in all but the node's name. `values` is scratch.
void fill_row(MetricRow& row, const ReadingGroup& group, std::span<const Sample> samples, std::vector<double>& values) {
  row.metric = group.metric;
  row.unit = group.facts.unit;
  row.where = group.where;
  values.clear();
  for (const Sample& sample : samples) {
    if (std::isfinite(sample.value)) values.push_back(sample.value);
    row.judged += sample.is_held ? 1 : 0;
    row.passed += sample.is_held && sample.verdict == Verdict::pass ? 1 : 0;
  }
  row.over = summarize(values);
  row.worst_rank = worst_rank(samples, group.facts.better);
}

using Applications = std::vector<const Application*>;

/// Index = group.
std::vector<Applications> by_group(const Readings& readings, const Expected& expected) {
  std::vector<Applications> all(readings.groups().size());
  for (const Application& application : expected.applications) all[application.group].push_back(&application);
  return all;
}

/// A bound itself never is an `error`; the finding about two references that contradict each other is.
Verdict verdict_of(const Bound& bound, std::size_t at, double value) {
  if (bound.passes_over(at)) return Verdict::skip;
  const Verdict verdict = judge_value(bound, at, value);
  return verdict == Verdict::error ? Verdict::unmeasured : verdict;
}

/// A bound over all readings of its group.
BoundOutcome outcome_over(const Bound& bound, std::span<const Sample> samples) {
  BoundOutcome one{bound.kind, Verdict::skip, {}, {}, text_of(bound)};
  for (std::size_t at = 0; at < samples.size(); ++at)
    one.verdict = combine(one.verdict, verdict_of(bound, at, samples[at].value));
  if (!bound.missing.empty() || samples.empty()) return one;
  const Range& first = bound.range_of(0);
  const auto differs = [&](auto end) {
    for (std::size_t at = 1; at < bound.ranges.size(); ++at)
      if (bound.ranges[at].*end != first.*end) return true;
    return false;
  };
  if (!differs(&Range::least)) one.least = first.least;
  if (!differs(&Range::most)) one.most = first.most;
  return one;
}

std::vector<RankReading> listed(const ReadingGroup& group, std::span<const Sample> samples) {
  std::vector<RankReading> all;
  all.reserve(samples.size());
  for (const Sample& sample : samples) {
    const Verdict verdict = sample.is_judged ? sample.verdict : Verdict::skip;
    const double factor = factor_to(*sample.reading, group.facts.unit).value_or(0);
    // What stands in a unit of another kind has no value in this row.
    const Summary summary = factor == 0 ? Summary{} : scaled(sample.reading->summary, factor);
    all.push_back({sample.rank, sample.reading->peer, summary, verdict});
  }
  return all;
}

std::vector<BoundOutcome> outcomes(const Applications& applications, std::size_t at, double value) {
  std::vector<BoundOutcome> all;
  for (const Application* application : applications) {
    for (const Bound& bound : application->bounds) {
      BoundOutcome& one = all.emplace_back();
      one.kind = bound.kind;
      one.verdict = verdict_of(bound, at, value);
      one.text = text_at(bound, at);
      one.least = bound.range_of(at).least;
      one.most = bound.range_of(at).most;
    }
  }
  return all;
}

/// The longest text of a fact that a report keeps, and the most of one key.
constexpr std::size_t most_fact_bytes = 800;

/// One fact for each key that the rank gave, sorted by key.
std::vector<Fact> reported(const Observation& seen, std::span<const std::string_view> keys) {
  std::vector<Fact> facts;
  for (const std::string_view key : keys) {
    Fact all{std::string(key), {}};
    for (const Fact& fact : seen.facts)
      if (fact.key == key) all.value += (all.value.empty() ? "" : "; ") + printable_line(fact.value, most_fact_bytes);
    if (!all.value.empty()) facts.push_back({all.key, printable_line(all.value, most_fact_bytes)});
  }
  std::sort(facts.begin(), facts.end(), [](const Fact& a, const Fact& b) { return a.key < b.key; });
  return facts;
}

/// A finding with so many culprits may name only some of those that are meant.
constexpr std::size_t most_named = 8;

/// What was found on each node.
class Blame {
 public:
  Blame(const std::vector<NodeRow>& rows, const Expected& expected, const CaseResult& result)
      : found_(rows.size(), Verdict::skip) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows_of_[rows[i].node].push_back(i);
    for (const Item& item : result.items)
      if (expected.of_no_node.count({item.metric, item.where}) == 0) put(item.node, item.verdict);
    for (const Finding& finding : result.findings) put(finding);
  }
  /// Each finding names who is meant, so that the others are not.
  [[nodiscard]] bool has_named_all() const { return has_named_all_; }
  void put(std::size_t row, Verdict verdict) { found_[row] = combine(found_[row], verdict); }
  /// The worst, `skip` where nothing was found.
  [[nodiscard]] Verdict of(std::size_t row) const { return found_[row]; }

 private:
  bool put(std::string_view node, Verdict verdict) {
    const auto known = rows_of_.find(node);
    if (known == rows_of_.end()) return false;
    for (std::size_t row : known->second) found_[row] = combine(found_[row], verdict);
    return true;
  }

  void put(const Finding& finding) {
    bool is_placed = false;
    for (const Culprit& culprit : finding.culprits) {
      const bool is_node = culprit.node.empty() && culprit.kind == CulpritKind::node;
      is_placed = put(is_node ? culprit.name : culprit.node, finding.verdict) || is_placed;
    }
    // It may be any node: none of them is known to be good.
    has_named_all_ = has_named_all_ && is_placed && finding.culprits.size() < most_named;
    if (!is_placed && finding.verdict != Verdict::skip)
      for (Verdict& found : found_) found = combine(found, Verdict::unmeasured);
  }

  std::unordered_map<std::string_view, std::vector<std::size_t>> rows_of_;
  std::vector<Verdict> found_;
  bool has_named_all_ = true;
};

}  // namespace

std::vector<MetricRow> metric_rows(const Readings& readings, const Expected& expected) {
  const auto texts = bound_texts(readings, expected);
  const auto applied = by_group(readings, expected);
  std::size_t count = 0;
  for (const ReadingGroup& group : readings.groups()) count += group.count;
  std::vector<MetricRow> rows;
  rows.reserve(readings.groups().size());
  std::vector<double> values;
  for (std::size_t i = 0; i < readings.groups().size(); ++i) {
    const ReadingGroup& group = readings.groups()[i];
    fill_row(rows.emplace_back(), group, readings.of(group), values);
    rows.back().bound = texts[i];
    for (const Application* application : applied[i])
      for (const Bound& bound : application->bounds)
        rows.back().bounds.push_back(outcome_over(bound, readings.of(group)));
    if (count <= most_listed_readings) rows.back().readings = listed(group, readings.of(group));
  }
  return rows;
}

std::vector<NodeRow> node_rows(const Readings& readings, const RankMap& places) {
  std::vector<NodeRow> rows(static_cast<std::size_t>(places.nodes()));
  for (int node = 0; node < places.nodes(); ++node) {
    NodeRow& row = rows[static_cast<std::size_t>(node)];
    row.node = places.name_of(node);
    row.ranks = places.ranks_on(node);
    row.metrics.reserve(readings.groups().size());
  }
  std::vector<double> values;
  for (const ReadingGroup& group : readings.groups()) {
    auto rest = readings.of(group);
    while (!rest.empty()) {
      const int node = rest.front().node;
      const auto end = std::find_if(rest.begin(), rest.end(), [&](const Sample& one) { return one.node != node; });
      const auto count = static_cast<std::size_t>(end - rest.begin());
      auto& row = rows[static_cast<std::size_t>(node)].metrics.emplace_back();
      fill_row(row, group, rest.first(count), values);
      row.node = places.name_of(node);
      rest = rest.subspan(count);
    }
  }
  return rows;
}

std::vector<RankRow> rank_rows(const CaseInput& input) {
  std::vector<RankRow> rows;
  const auto ranks = static_cast<std::size_t>(input.places.ranks());
  if (ranks > most_listed_ranks) return rows;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const int number = static_cast<int>(rank);
    rows.push_back({number, input.places.name_of(input.places.node_of(number)), {}});
    if (const Observation* seen = input.attendance.observed[rank]; seen != nullptr)
      rows.back().facts = reported(*seen, input.probe.reported_facts);
  }
  return rows;
}

std::vector<Item> items_of(const Readings& readings, const Expected& expected, const RankMap& places) {
  const auto applied = by_group(readings, expected);
  std::vector<Item> items;
  for (std::size_t i = 0; i < applied.size(); ++i) {
    const ReadingGroup& group = readings.groups()[i];
    const auto samples = readings.of(group);
    for (std::size_t at = 0; at < samples.size(); ++at) {
      const Sample& sample = samples[at];
      if (!sample.is_judged || sample.verdict == Verdict::pass) continue;
      Item& item = items.emplace_back();
      item.metric = group.metric;
      const auto factor = factor_to(*sample.reading, group.facts.unit);
      item.unit = factor ? group.facts.unit : sample.reading->unit;
      item.where = group.where;
      item.rank = sample.rank;
      item.peer = sample.reading->peer;
      item.node = places.name_of(sample.node);
      item.summary = scaled(sample.reading->summary, factor.value_or(1));
      item.verdict = sample.verdict;
      item.bounds = outcomes(applied[i], at, sample.value);
    }
  }
  return items;
}

void judge_nodes(std::vector<NodeRow>& rows, const CaseInput& input, const Expected& expected,
                 const CaseResult& result) {
  Blame blame(rows, expected, result);
  // All that was measured was judged, and what is wrong is wrong elsewhere.
  const bool is_cleared = input.attendance.is_complete() && !result.findings.empty() && blame.has_named_all();
  std::vector<char> all_measured(rows.size(), 1);
  for (int rank = 0; rank < input.places.ranks(); ++rank) {
    if (input.attendance.has_measured(static_cast<std::size_t>(rank))) continue;
    const auto row = static_cast<std::size_t>(input.places.node_of(rank));
    all_measured[row] = 0;
    // The findings name only some of many.
    const Observation* one = input.attendance.observed[static_cast<std::size_t>(rank)];
    if (one == nullptr || is_refusal(*one)) continue;
    if (one->state != ObservationState::not_run) blame.put(row, Verdict::fail);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool was_held = std::any_of(rows[i].metrics.begin(), rows[i].metrics.end(),
                                      [](const MetricRow& row) { return row.judged > 0; });
    const bool is_good = all_measured[i] != 0 && (was_held || !result.evidence.empty() || is_cleared);
    rows[i].verdict = combine(blame.of(i), is_good ? Verdict::pass : Verdict::unmeasured);
    if (result.verdict == Verdict::skip) rows[i].verdict = Verdict::skip;
  }
}

}  // namespace muster
