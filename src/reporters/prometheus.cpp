/// Metrics for the textfile collector of Prometheus' node exporter: docs/reports.md.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "muster/reporter.hpp"
#include "reporters/common/exposition.hpp"
#include "reporters/common/nodes.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

/// Of all metrics of probes together: a sweep over sizes on many systems must not fill the server.
constexpr std::size_t most_metric_series = 20'000;

std::optional<int> number(std::string_view text, std::size_t at, std::size_t length) {
  if (text.size() < at + length) return {};
  return parse_number<int>(text.substr(at, length));
}

/// Seconds since 1970 of `2026-11-21T08:00:00.123Z`; fractions of a second do not matter here.
std::optional<double> unix_seconds(std::string_view rfc3339) {
  const auto year = number(rfc3339, 0, 4), month = number(rfc3339, 5, 2), day = number(rfc3339, 8, 2);
  const auto hour = number(rfc3339, 11, 2), minute = number(rfc3339, 14, 2), second = number(rfc3339, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return {};
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return {};
  const auto days = sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + *hour * 3600 + *minute * 60 + *second;
}

/// Whatever a name is used for already must not be used for a label of a reading.
bool is_taken(const SeriesLabels& labels, const std::string& name) {
  static constexpr std::string_view reserved[] = {"check",       "case",     "swept",     "system", "partition",
                                                  "environment", "node",     "simulated", "le",     "quantile",
                                                  "job",         "instance", "verdict"};
  if (is_in(name, reserved)) return true;
  return std::any_of(labels.begin(), labels.end(), [&](const auto& label) { return label.first == name; });
}

std::string label_name(const SeriesLabels& labels, std::string_view key) {
  auto name = snake_case(key);
  if ((name[0] >= '0' && name[0] <= '9') || is_taken(labels, name)) name = "where_" + name;
  while (is_taken(labels, name)) name += "_";
  return name;
}

/// `muster_metric_busbw_bytes_per_second`. Endings that mean something else to Prometheus get a word after them.
std::string metric_name(const MetricRow& row, const BaseUnit& unit) {
  auto name = snake_case(row.metric);
  if (!unit.name.empty() && !name.ends_with(unit.name)) name += "_" + unit.name;
  for (const std::string_view ending : {"_total", "_count", "_sum", "_bucket", "_info"})
    if (("_" + name).ends_with(ending)) return "muster_metric_" + name + "_value";
  return "muster_metric_" + name;
}

SeriesLabels with(SeriesLabels labels, std::string name, std::string_view value) {
  labels.emplace_back(std::move(name), value);
  return labels;
}

class Series {
 public:
  explicit Series(const RunReport& report) : report_(report) {
    add_run();
    add_cases();
    add_nodes();
    add_metrics();
    to_.add("muster_series_left_out", "Series that this file lacks: above the limit, or with ambiguous labels.", base(),
            static_cast<double>(to_.left_out() + left_out_));
  }

  void write(std::ostream& out) const { to_.write(out); }

 private:
  /// Of every series: what was only simulated must never look like a result of the real machine.
  [[nodiscard]] SeriesLabels base() const { return {{"system", report_.system}, {"simulated", report_.simulated}}; }

  [[nodiscard]] SeriesLabels labels_of(const CaseResult& result) const {
    std::string swept;
    for (const auto& [name, value] : result.params)
      if (is_in(name, result.swept)) swept += fmt::format("{}{}={}", swept.empty() ? "" : " ", name, value);
    return {{"system", result.system.empty() ? report_.system : result.system},
            {"simulated", report_.simulated},
            {"partition", result.partition},
            {"check", result.check},
            {"case", result.id},
            {"swept", swept},
            {"node", result.node}};
  }

  void add_run() {
    for (const auto verdict : verdicts_by_urgency())
      to_.add("muster_run_verdict", "1 for the verdict of the last run, 0 for the others.",
              with(base(), "verdict", to_string(verdict)), report_.verdict == verdict ? 1 : 0);
    to_.add("muster_run_exit_status", "Exit status of the last run: 0 means that all checks passed.", base(),
            report_.exit_status);
    to_.add("muster_run_interrupted", "Whether a signal ended the last run.", base(),
            report_.interrupted.empty() ? 0 : 1);
    if (const auto started = unix_seconds(report_.started)) {
      to_.add("muster_run_start_timestamp_seconds", "When the last run began.", base(), *started);
      to_.add("muster_run_end_timestamp_seconds", "When the last run ended.", base(), *started + report_.seconds);
    }
    to_.add("muster_run_duration_seconds", "How long the last run took.", base(), report_.seconds);
    to_.add("muster_run_info", "What ran, as labels.",
            with(with(base(), "version", report_.muster_version), "host", report_.host), 1);
    for (const auto& variable : report_.variables)
      to_.add("muster_run_variable", "1 for each variable MUSTER_* that the last run was started with.",
              with(with(base(), "name", variable.key), "value", variable.value), 1);
    const auto counts = tally(report_.cases);
    for (const auto verdict : verdicts_by_urgency())
      to_.add("muster_cases", "Cases of the last run by verdict.", with(base(), "verdict", to_string(verdict)),
              counts.of(verdict));
  }

  /// By urgency, so that what is left out of many is well.
  void add_cases() {
    for (const auto verdict : verdicts_by_urgency())
      for (const auto& result : report_.cases) {
        if (result.verdict != verdict) continue;
        to_.add("muster_case_verdict", "1 for each case of the last run, its verdict a label.",
                with(labels_of(result), "verdict", to_string(verdict)), 1);
        to_.add("muster_case_duration_seconds", "How long each case of the last run took.", labels_of(result),
                result.seconds);
      }
  }

  void add_nodes() {
    const auto nodes = node_tallies(report_);
    Tally counts;
    for (const auto& node : nodes) ++counts.counts[static_cast<int>(node.verdict())];
    for (const auto verdict : verdicts_by_urgency())
      to_.add("muster_nodes", "Nodes of the last run by the worst verdict of their cases.",
              with(base(), "verdict", to_string(verdict)), counts.of(verdict));
    for (const auto verdict : verdicts_by_urgency())
      for (const auto& node : nodes)
        if (node.verdict() == verdict)
          to_.add("muster_node_verdict", "1 for each node of the last run, the worst verdict of its cases a label.",
                  with(with(base(), "node", node.name), "verdict", to_string(verdict)), 1);
  }

  void add_metrics() {
    std::size_t count = 0;
    for (const auto& result : report_.cases)
      for (const auto& row : result.metrics) {
        if (row.over.n == 0) continue;
        if (++count > most_metric_series)
          ++left_out_;
        else
          add_metric(result, row);
      }
  }

  void add_metric(const CaseResult& result, const MetricRow& row) {
    const auto unit = base_unit(row.unit);
    auto labels = labels_of(result);
    if (!row.node.empty()) labels.back().second = row.node;
    for (const auto& [key, value] : row.where) labels.emplace_back(label_name(labels, key), value);
    const auto help = fmt::format("Median over the readings of metric {}{}{}.", row.metric,
                                  unit.name.empty() ? "" : ", in ", unit.name);
    to_.add(metric_name(row, unit), help, labels, row.over.median * unit.factor);
  }

  const RunReport& report_;
  Exposition to_;
  std::size_t left_out_ = 0;
};

class Prometheus : public Reporter {
 public:
  void run_finished(const RunReport& report, std::ostream& out) override { Series(report).write(out); }
};

std::unique_ptr<Reporter> make_prometheus(const ReporterOptions&) {
  return std::make_unique<Prometheus>();
}

}  // namespace

extern const ReporterSpec reporter_prometheus{
    .name = "prometheus",
    .summary = "Metrics for the textfile collector of Prometheus' node exporter.",
    .file_name = "muster.prom",
    .make = make_prometheus,
};

}  // namespace muster
