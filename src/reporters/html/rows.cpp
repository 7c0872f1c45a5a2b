// Numbers: metrics over all, node by node, rank by rank.
#include <algorithm>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "reporters/common/phrases.hpp"
#include "reporters/html/parts.hpp"

namespace muster::html {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t bytes_of_value = 22;  // of a node: median, least, most
constexpr std::size_t bytes_of_reading = 14;

bool has_label(const MetricRow& row, std::string_view name) {
  return std::any_of(row.where.begin(), row.where.end(), [&](const auto& label) { return label.first == name; });
}

std::size_t node_count(const CaseGroup& shown) {
  std::size_t count = 0;
  for (const auto* result : shown.all) count += result->node_rows.size();
  return count;
}

/// Metrics with labels of which a reading is not a pass. There may be as many items as ranks, those of one metric in a
/// row.
std::set<std::pair<std::string, Labels>> bad_metrics(const CaseResult& result) {
  std::set<std::pair<std::string, Labels>> bad;
  const Item* last = nullptr;
  for (const auto& item : result.items) {
    if (last == nullptr || item.metric != last->metric || item.where != last->where)
      bad.emplace(item.metric, item.where);
    last = &item;
  }
  return bad;
}

/// How soon a row gets room: 0 first.
int rank_of(const CaseResult& result, const MetricRow& row, bool is_bad) {
  if (is_bad) return 0;
  if (row.judged > 0) return 1;
  return needs_attention(result.verdict) ? 2 : 3;
}

struct Candidate {
  std::size_t shown;
  std::size_t row;
  int rank;
  std::size_t bytes;
};

/// Rows of a node in the order of the case's: `at` is where the next one most likely is.
const MetricRow* row_of(const std::vector<MetricRow>& rows, const MetricRow& wanted, std::size_t at) {
  const auto is_it = [&](const MetricRow& row) {
    return row.metric == wanted.metric && row.where == wanted.where && row.unit == wanted.unit;
  };
  if (at < rows.size() && is_it(rows[at])) return &rows[at];
  // A node lacks few of the case's rows, those of links that it has not: what it has stands a little before.
  for (std::size_t back = 1; back <= at; ++back)
    if (at - back < rows.size() && is_it(rows[at - back])) return &rows[at - back];
  return nullptr;
}

void write_by_node(PageWriter& writer, const CaseGroup& shown, const MetricRow& row, std::size_t at) {
  std::vector<const MetricRow*> all;
  for (const auto* result : shown.all)
    for (const auto& node : result->node_rows) all.push_back(row_of(node.metrics, row, at));
  JsonText& out = writer.out;
  const auto column = [&](std::string_view name, double Summary::*part) {
    out.list(name, all,
             [&](const MetricRow* one) { out.number(one == nullptr || one->over.n == 0 ? nothing : one->over.*part); });
  };
  column("by", &Summary::median);
  // Of nodes with one reading all three would be the same.
  const bool has_several = std::any_of(all.begin(), all.end(), [](const auto* one) { return one && one->over.n > 1; });
  if (has_several) {
    column("by_min", &Summary::min);
    column("by_max", &Summary::max);
  }
  std::vector<std::size_t> bad;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != nullptr && all[i]->passed < all[i]->judged) bad.push_back(i);
  out.list("bad", bad, [&](std::size_t i) { out.number(i); });
}

void write_readings(PageWriter& writer, const MetricRow& row) {
  if (row.readings.size() < 2 || !writer.rooms.readings.take(row.readings.size() * bytes_of_reading)) return;
  JsonText& out = writer.out;
  const bool has_peers =
      std::any_of(row.readings.begin(), row.readings.end(), [](const auto& r) { return r.peer >= 0; });
  out.list("ranks", row.readings, [&](const RankReading& one) { out.number(one.rank); });
  if (has_peers) out.list("peers", row.readings, [&](const RankReading& one) { out.number(one.peer); });
  out.list("medians", row.readings,
           [&](const RankReading& one) { out.number(one.summary.n == 0 ? nothing : one.summary.median); });
  if (row.judged == 0) return;
  std::string verdicts;
  for (const auto& one : row.readings) verdicts += static_cast<char>('0' + static_cast<int>(one.verdict));
  out.member("verdicts", verdicts);
}

double median(std::vector<double> values) {
  if (values.empty()) return nothing;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Of one case, or of all that are shown as one: then the median is that of the nodes' medians.
MetricRow whole_row(const CaseGroup& shown, std::size_t at) {
  MetricRow whole = shown.first->metrics[at];
  if (!shown.is_folded()) return whole;
  std::vector<double> medians;
  for (const auto* result : shown.all) {
    const MetricRow* row = row_of(result->metrics, whole, at);
    if (row == nullptr || row->over.n == 0) continue;
    medians.push_back(row->over.median);
    if (result == shown.first) continue;
    whole.over.n += row->over.n;
    whole.over.min = std::min(whole.over.min, row->over.min);
    whole.over.max = std::max(whole.over.max, row->over.max);
    whole.judged += row->judged;
    whole.passed += row->passed;
  }
  whole.over.median = median(std::move(medians));
  whole.over.p95 = whole.over.mad = nothing;
  whole.worst_rank = -1;
  return whole;
}

}  // namespace

void write_summary(JsonText& out, const Summary& summary) {
  if (summary.n == 0) return;
  out.key("sum");
  out.begin_list();
  out.number(summary.n);
  for (const double value : {summary.min, summary.median, summary.p95, summary.max, summary.mad}) out.number(value);
  out.end_list();
}

void write_bounds(JsonText& out, const std::vector<BoundOutcome>& bounds) {
  out.list("bounds", bounds, [&](const BoundOutcome& bound) {
    out.begin_object();
    out.member("kind", to_string(bound.kind));
    out.member("verdict", static_cast<int>(bound.verdict));
    if (bound.least) out.member("least", *bound.least);
    if (bound.most) out.member("most", *bound.most);
    out.member("text", bound.text);
    out.end_object();
  });
}

void write_labels(JsonText& out, const Labels& where) {
  out.list("where", where, [&](const auto& label) {
    out.begin_list();
    out.text(label.first);
    out.text(label.second);
    out.end_list();
  });
}

Wanted choose_rows(PageWriter& writer) {
  Wanted wanted;
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < writer.cases.size(); ++i) {
    const CaseResult& first = *writer.cases[i].first;
    const std::size_t nodes = node_count(writer.cases[i]);
    wanted.emplace_back(first.metrics.size(), false);
    if (nodes < 2) continue;
    const auto bad = bad_metrics(first);
    for (std::size_t j = 0; j < first.metrics.size(); ++j)
      if (!has_label(first.metrics[j], "step"))  // a curve, the same for all
        candidates.push_back(
            {i, j, rank_of(first, first.metrics[j], bad.count({first.metrics[j].metric, first.metrics[j].where}) > 0),
             nodes * bytes_of_value});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.rank < b.rank; });
  std::size_t left_out = 0;
  for (const auto& one : candidates) {
    const bool fits = writer.rooms.node_values.take(one.bytes);
    wanted[one.shown][one.row] = fits;
    if (!fits) ++left_out;
  }
  if (left_out > 0) writer.left_out.push_back("the values of each node of " + counted(left_out, "metric"));
  return wanted;
}

void write_metrics(PageWriter& writer, const CaseGroup& shown, const std::vector<bool>& wanted) {
  JsonText& out = writer.out;
  if (shown.first->metrics.empty()) return;
  out.key("metrics");
  out.begin_list();
  for (std::size_t at = 0; at < shown.first->metrics.size(); ++at) {
    const MetricRow row = whole_row(shown, at);
    out.begin_object();
    out.member("metric", row.metric);
    out.member("unit", row.unit);
    write_labels(out, row.where);
    write_summary(out, row.over);
    if (row.worst_rank >= 0) out.member("worst", row.worst_rank);
    if (row.judged > 0) {
      out.member("judged", row.judged);
      out.member("passed", row.passed);
      out.member("bound", row.bound);
    }
    write_bounds(out, row.bounds);
    if (wanted[at]) write_by_node(writer, shown, row, at);
    if (!shown.is_folded()) write_readings(writer, row);
    out.end_object();
  }
  out.end_list();
}

}  // namespace muster::html
