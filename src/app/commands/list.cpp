#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/inputs/load.hpp"
#include "app/inputs/options.hpp"
#include "base/text.hpp"
#include "model/json.hpp"
#include "muster/probe.hpp"
#include "muster/reporter.hpp"
#include "run/plugins.hpp"
#include "run/select.hpp"

namespace muster {

namespace {

using nlohmann::json;

/// Rows of equal columns: as a table for people, as objects for programs.
struct Table {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> rows;

  void print() const {
    std::vector<std::size_t> widths(keys.size(), 0);
    for (const auto& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    for (const auto& row : rows) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i)
        line += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], widths[i]) : row[i];
      fmt::print("{}\n", trim(line));
    }
  }
  void print_json() const {
    auto list = json::array();
    for (const auto& row : rows) {
      json object;
      for (std::size_t i = 0; i < row.size(); ++i) object[keys[i]] = row[i];
      list.push_back(std::move(object));
    }
    fmt::print("{}\n", dump(list, 1));
  }
};

/// The column of files stands there only when there is one to name.
Table probes(bool as_json) {
  Table table{{"name", "summary", "from"}, {}};
  bool is_plugged = as_json;
  for (const auto* probe : all_probes()) {
    const auto file = plugin_of(probe->name).string();
    is_plugged = is_plugged || !file.empty();
    table.rows.push_back({std::string(probe->name), std::string(probe->summary), file.empty() ? "built in" : file});
  }
  for (auto& row : table.rows)
    if (!is_plugged) row.pop_back();
  return table;
}

Table launchers() {
  Table table{{"name", "summary"}, {}};
  for (const auto* one : all_launchers()) table.rows.push_back({std::string(one->name), std::string(one->summary)});
  return table;
}

Table reporters() {
  Table table{{"name", "summary"}, {}};
  for (const auto* one : all_reporters()) table.rows.push_back({std::string(one->name), std::string(one->summary)});
  return table;
}

std::string direction_of(Better better) {
  return better == Better::neither ? std::string("no direction") : fmt::format("{} is better", to_string(better));
}

/// Of the programs that `checks` start, and the labels that their readings may have.
std::vector<std::vector<std::string>> declared_rows(const std::vector<const Check*>& checks) {
  std::vector<std::vector<std::string>> rows;
  for (const auto* check : checks)
    for (const auto& metric : check->metrics) {
      const auto place = fmt::format("Of check {}, {}", check->name, check->place);
      rows.push_back({"metric", metric.name, metric.unit,
                      direction_of(metric.better) + (metric.maximum ? ", takes a limit" : ""), place});
      for (const auto& label : metric.labels)
        rows.push_back({"label", label, "", fmt::format("of {}", metric.name), place});
    }
  return rows;
}

/// What can be set and what is measured: parameters, metrics and labels of one probe, and of the checks that use it.
Table metrics(const ProbeSpec& probe, const std::vector<const Check*>& checks) {
  Table table{{"kind", "name", "of", "detail", "help"}, declared_rows(checks)};
  for (const auto& metric : probe.metrics)
    table.rows.push_back({"metric", std::string(metric.name), std::string(metric.unit),
                          direction_of(metric.better) + (metric.has_limit ? ", takes a limit" : ""),
                          std::string(metric.help)});
  for (const auto& label : probe.labels)
    table.rows.push_back({"label", std::string(label.name), "", "", std::string(label.help)});
  for (const auto& param : probe.params)
    table.rows.push_back({"param", std::string(param.name), std::string(to_string(param.type)),
                          param.default_text ? fmt::format("default {}", *param.default_text) : "required",
                          std::string(param.help)});
  return table;
}

Table systems(const Loaded& loaded) {
  Table table{{"name", "partitions", "file"}, {}};
  for (const auto& system : loaded.systems) {
    std::vector<std::string> partitions;
    for (const auto& partition : system.partitions) partitions.push_back(partition.name);
    table.rows.push_back({system.name, join(partitions, ","), system.file});
  }
  return table;
}

int show(const Table& table, bool as_json) {
  as_json ? table.print_json() : table.print();
  return 0;
}

/// Of a probe, or of one of the checks that are given.
int list_metrics(const ListOptions& options) {
  Loaded given;
  if (!options.choose.paths.empty()) given = load(options.choose.paths, options.choose.config);
  if (!given.diagnostics.ok()) {
    print_errors(given.diagnostics.errors);
    return exit_usage;
  }
  const auto* probe = find_probe(options.metrics);
  std::vector<const Check*> checks;
  std::vector<std::string> known;
  for (const auto& check : given.checks) {
    known.push_back(check.name);
    if (probe != nullptr ? check.probe == probe->name : check.name == options.metrics) checks.push_back(&check);
  }
  if (probe == nullptr && !checks.empty()) probe = find_probe(checks.front()->probe);
  if (probe != nullptr) return show(metrics(*probe, checks), options.json);
  for (const auto* one : all_probes()) known.emplace_back(one->name);
  return usage_error({ErrorKind::usage, "--metrics",
                      fmt::format("unknown probe \"{}\"{}", options.metrics, suggestion(options.metrics, known))});
}

/// Selected as for a run, but without asking the machine anything.
Result<std::vector<const Check*>> selected(const Loaded& loaded, const ChooseOptions& choose) {
  SelectOptions select;
  select.names = choose.names;
  select.tags = choose.tags;
  select.excludes = choose.excludes;
  return select_checks(loaded.checks, select);
}

int list_checks(const ListOptions& options, const Loaded& loaded) {
  const auto checks = selected(loaded, options.choose);
  if (!checks) return usage_error(checks.error());
  Table table{{"name", "probe", "tags", "place", "summary"}, {}};
  for (const auto* check : *checks)
    table.rows.push_back({check->name, check->probe, join(check->tags, ","), check->place, check->summary});
  if (options.json) return show(table, true);
  for (auto& row : table.rows) row.erase(row.begin() + 3);
  return show(table, false);
}

}  // namespace

int list_command(const ListOptions& options) {
  if (options.probes) return show(probes(options.json), options.json);
  if (options.launchers) return show(launchers(), options.json);
  if (options.reporters) return show(reporters(), options.json);
  if (!options.metrics.empty()) return list_metrics(options);
  const auto loaded = load(options.choose.paths, options.choose.config);
  if (!loaded.diagnostics.ok()) {
    print_errors(loaded.diagnostics.errors);
    return exit_usage;
  }
  if (options.systems) return show(systems(loaded), options.json);
  return list_checks(options, loaded);
}

}  // namespace muster
