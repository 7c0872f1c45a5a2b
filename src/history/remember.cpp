#include "history/remember.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/series.hpp"
#include "muster/probe.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

/// What evaluate notes of a case in which times mean nothing.
bool is_untimed(const CaseResult& result) {
  constexpr std::string_view words = "timing is not judged: ";
  return std::any_of(result.notes.begin(), result.notes.end(),
                     [&](const std::string& note) { return note.compare(0, words.size(), words) == 0; });
}

/// The id of a case that is about one node ends with it.
std::string common_id_of(const CaseResult& result) {
  const std::string end = "@" + result.node;
  if (result.node.empty() || result.id.size() <= end.size()) return result.id;
  const auto at = result.id.size() - end.size();
  return result.id.compare(at, end.size(), end) == 0 ? result.id.substr(0, at) : result.id;
}

const MetricSpec* metric_of(const ProbeSpec* probe, std::string_view name) {
  if (probe == nullptr) return nullptr;
  for (const MetricSpec& metric : probe->metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

/// Of a metric that a check declares for a program, the report has only the worst rank, and the side of a bound
/// that holds: 1, -1, or 0 where that is not decisive.
int direction_of(const MetricSpec* spec, const MetricRow& row) {
  if (spec != nullptr) return spec->better == Better::neither ? 0 : spec->better == Better::higher ? 1 : -1;
  for (const BoundOutcome& bound : row.bounds)
    if (bound.kind == BoundKind::history && bound.least.has_value() != bound.most.has_value())
      return bound.least ? 1 : -1;
  if (row.worst_rank < 0) return 0;
  for (const RankReading& reading : row.readings) {
    if (reading.rank != row.worst_rank || row.over.max <= row.over.min) continue;
    if (reading.summary.median == row.over.min) return 1;
    if (reading.summary.median == row.over.max) return -1;
  }
  return 0;
}

/// All readings of one item.
struct Folded {
  PastValue value;
  std::vector<double> medians;
  std::vector<double> noises;
};

class CaseValues {
 public:
  CaseValues(const CaseResult& result, const RunReport& report)
      : result_(result), probe_(find_probe(result.probe)), is_untimed_(is_untimed(result)) {
    head_.case_id = common_id_of(result);
    head_.simulated = report.simulated;
    for (const NodeRow& row : result.node_rows) verdicts_[row.node] = row.verdict;
    for (const RankRow& row : result.rank_rows) names_.add_rank(row.node, row.facts);
    for (const MetricRow& row : result.metrics)
      for (const RankReading& reading : row.readings)
        if (reading.peer >= 0) names_.add_link(row.metric, reading.rank, reading.peer);
  }

  [[nodiscard]] std::vector<PastValue> all() {
    const bool is_listed =
        !result_.rank_rows.empty() && std::any_of(result_.metrics.begin(), result_.metrics.end(),
                                                  [](const MetricRow& row) { return !row.readings.empty(); });
    if (is_listed) {
      for (const MetricRow& row : result_.metrics) take_readings(row);
    } else {
      for (const NodeRow& node : result_.node_rows)
        for (const MetricRow& row : node.metrics) take_row(node.node, row);
    }
    return std::move(values_);
  }

  /// Of the same readings as all().
  [[nodiscard]] std::vector<DisturbedItem> disturbed() const { return {disturbed_.begin(), disturbed_.end()}; }

 private:
  PastValue head_of(const MetricRow& row) const {
    PastValue value;
    value.key = head_;
    value.key.metric = row.metric;
    value.key.where = row.where;
    value.unit = row.unit;
    const MetricSpec* spec = metric_of(probe_, row.metric);
    value.better = direction_of(spec, row);
    if (is_untimed_ && (spec == nullptr || spec->is_timing)) value.use = ValueUse::untimed;
    return value;
  }

  /// What else was found on the node makes its values doubtful.
  [[nodiscard]] bool has_passed(const std::string& node) const {
    const auto found = verdicts_.find(node);
    return node.empty() || (found != verdicts_.end() && found->second == Verdict::pass);
  }
  void settle_use(PastValue& value, bool is_inside) const {
    const bool has_all = has_passed(value.key.item.node) && has_passed(value.key.item.peer_node);
    if (value.use == ValueUse::basis && !(is_inside && has_all)) value.use = ValueUse::outside;
  }

  void take_readings(const MetricRow& row) {
    if (!is_of_series(row.metric, row.where)) return;
    std::map<SeriesKey, Folded> items;
    for (const RankReading& reading : row.readings) {
      PastValue value = head_of(row);
      value.key.item = names_.item(row.metric, reading.rank, reading.peer, value.key.where);
      if (value.key.item.name.empty()) continue;
      if (reading.summary.n <= 0) disturbed_.insert({row.metric, value.key.item.name});
      if (reading.summary.n <= 0 || !std::isfinite(reading.summary.median)) continue;
      value.key.shape = job_shape(probe_, value.key.item.kind, result_.nodes, result_.ranks);
      const SeriesKey key = value.key;  // not of the value, which moves
      Folded& folded = items.try_emplace(key, Folded{std::move(value), {}, {}}).first->second;
      folded.medians.push_back(reading.summary.median);
      folded.noises.push_back(reading.summary.mad);
      folded.value.samples += reading.summary.n;
      settle_use(folded.value, reading.verdict == Verdict::pass || reading.verdict == Verdict::skip);
    }
    for (auto& [key, folded] : items) {
      folded.value.readings = static_cast<int>(folded.medians.size());
      folded.value.value = *median(folded.medians);
      folded.value.spread = mad(folded.medians).value_or(0);
      folded.value.noise = median(folded.noises).value_or(0);
      values_.push_back(std::move(folded.value));
    }
  }

  void take_row(const std::string& node, const MetricRow& row) {
    if (!is_of_series(row.metric, row.where)) return;
    if (row.over.n <= 0) disturbed_.insert({row.metric, node});
    if (row.over.n <= 0 || !std::isfinite(row.over.median)) return;
    PastValue value = head_of(row);
    value.key.item = {ItemKind::node, node, node, {}};
    value.key.shape = job_shape(probe_, ItemKind::node, result_.nodes, result_.ranks);
    value.value = row.over.median;
    value.spread = row.over.mad;
    value.readings = static_cast<int>(row.over.n);
    value.samples = row.over.n;
    settle_use(value, row.judged == row.passed);
    values_.push_back(std::move(value));
  }

  const CaseResult& result_;
  const ProbeSpec* probe_;
  bool is_untimed_;
  SeriesKey head_;
  std::map<std::string, Verdict> verdicts_;
  ItemNames names_;
  std::vector<PastValue> values_;
  std::set<DisturbedItem> disturbed_;
};

PastCase case_of(const CaseResult& result) {
  PastCase kept{
      result.id, result.check, result.verdict, printable_line(result.reason, 1000), result.nodes, result.ranks, {}, {}};
  for (const NodeRow& row : result.node_rows) kept.on_nodes.push_back({row.node, row.verdict});
  if (kept.on_nodes.empty() && !result.node.empty()) kept.on_nodes.push_back({result.node, result.verdict});
  for (const Culprit& culprit : result.culprits) {
    const std::string& node = culprit.kind == CulpritKind::node ? culprit.name : culprit.node;
    const bool is_known = std::any_of(kept.on_nodes.begin(), kept.on_nodes.end(),
                                      [&](const NodeVerdict& one) { return one.node == node; });
    if (!is_known && !node.empty()) kept.on_nodes.push_back({node, result.verdict});
  }
  return kept;
}

/// The devices of ranks that failing findings blame.
void add_devices(const CaseResult& result, PastCase& kept) {
  ItemNames names;
  for (const RankRow& row : result.rank_rows) names.add_rank(row.node, row.facts);
  for (const Finding& finding : result.findings) {
    if (finding.verdict != Verdict::fail) continue;
    for (const Culprit& culprit : finding.culprits) {
      if (culprit.rank < 0 || (culprit.kind != CulpritKind::rank && culprit.kind != CulpritKind::device)) continue;
      Labels none;
      const MeasuredItem item = names.item({}, culprit.rank, -1, none);
      if (item.kind != ItemKind::device || item.name.empty()) continue;
      if (!is_in(item.name, kept.devices)) kept.devices.push_back(item.name);
    }
  }
}

}  // namespace

PastRun remember(const RunReport& report) {
  PastRun run;
  run.run_id = report.run_id;
  run.started = report.started;
  run.seconds = report.seconds;
  run.host = report.host;
  run.user = report.user;
  run.system = report.system;
  run.muster_version = report.muster_version;
  run.command_line = report.command_line;
  run.folder = report.folder;
  run.verdict = report.verdict;
  run.exit_status = report.exit_status;
  run.interrupted = report.interrupted;
  run.simulated = report.simulated;
  run.nodes = report.nodes;
  for (const CaseResult& result : report.cases) {
    add_devices(result, run.cases.emplace_back(case_of(result)));
    CaseValues of_case(result, report);
    auto values = of_case.all();
    std::move(values.begin(), values.end(), std::back_inserter(run.values));
    run.cases.back().disturbed = of_case.disturbed();
  }
  return run;
}

}  // namespace muster
