#include "app/runs/run_history.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "history/remember.hpp"
#include "history/store.hpp"

namespace muster {

namespace {

/// As many as a judgement looks at, and some that did not pass.
constexpr std::size_t most_points = 80;
/// On a virtual machine the levels are kept that its hypervisor's places of CPUs had.
constexpr std::size_t most_of_virtual = 400;

/// All metrics of cases whose checks ask for their past; of the others the rates of errors, which are judged by their
/// past without being asked.
std::vector<SeriesQuery> judged_by_history(const Plan& plan) {
  std::map<std::string, std::set<std::string>> cases;  // by metric; empty: all
  for (const Case& item : plan.cases) {
    const std::string id = common_id(item);
    if (std::any_of(item.expects.begin(), item.expects.end(),
                    [](const Expectation& asked) { return asked.history.has_value(); })) {
      cases[""].insert(id);
      continue;
    }
    if (const ProbeSpec* probe = find_probe(item.probe))
      for (const MetricSpec& metric : probe->metrics)
        if (metric.error_floor > 0) cases[std::string(metric.name)].insert(id);
  }
  std::vector<SeriesQuery> queries;
  for (const auto& [metric, ids] : cases) {
    SeriesQuery& query = queries.emplace_back();
    query.metric = metric;
    query.case_ids.assign(ids.begin(), ids.end());
  }
  return queries;
}

Result<std::vector<Series>> read_series(History& history, std::vector<SeriesQuery> queries, bool has_virtual) {
  std::vector<Series> all;
  for (SeriesQuery& query : queries) {
    query.most_points = has_virtual ? most_of_virtual : most_points;
    auto found = history.series(query);
    if (!found) return found;
    std::move(found->begin(), found->end(), std::back_inserter(all));
  }
  return all;
}

void complain(const char* what, const Error& error) {
  fmt::print(stderr, "muster: {}: {}\n", what, printable_line(to_string(error), 2000));
}

}  // namespace

std::optional<PastValues> past_of(const RunOptions& options, const Plan& plan) {
  if (options.no_history) return std::nullopt;
  PastValues past;
  const auto queries = judged_by_history(plan);
  const fs::path file = options.history.empty() ? default_history() : fs::path(options.history);
  std::error_code ignored;
  if (queries.empty() || file.empty() || !fs::exists(file, ignored)) return past;
  const auto own = own_database(file);
  if (!own) {
    complain("nothing is judged by earlier runs", own.error());
    return std::nullopt;
  }
  auto history = History::open(*own, HistoryUse::read);
  const auto virtual_machines = history ? history->configurations_with("hypervisor") : tl::unexpected(history.error());
  auto found = virtual_machines ? read_series(*history, queries, !virtual_machines->empty())
                                : tl::unexpected(virtual_machines.error());
  if (!found) {
    complain("earlier runs can't be read, nothing is judged by them", found.error());
    return std::nullopt;
  }
  const auto accepted = history->accepted();
  if (!accepted) {
    complain("what was accepted can't be read, nothing is judged by earlier runs", accepted.error());
    return std::nullopt;
  }
  for (Series& one : *found) {
    std::vector<DriftPoint> points;
    const auto is_over = [&](const SeriesPoint& point) {
      return std::any_of(accepted->begin(), accepted->end(),
                         [&](const Accepted& at) { return at.covers(one.key, point.started); });
    };
    for (const SeriesPoint& point : one.points)
      if (point.use != ValueUse::untimed && !is_over(point))
        points.push_back({point.value, point.use == ValueUse::basis});
    const bool is_virtual =
        is_of_cpus(one.key) && !one.points.empty() && virtual_machines->contains(one.points.back().configuration);
    past.add(std::move(one.key), std::move(points), is_virtual);
  }
  past.count_groups(plan);
  return past;
}

void keep_in_history(const RunOptions& options, const RunReport& report) {
  if (options.no_history) return;
  auto history = History::open(options.history, HistoryUse::write);
  PastRun run = remember(report);
  // It is looked for from elsewhere, too.
  run.folder = fs::absolute(run.folder).lexically_normal().string();
  const auto kept = history ? history->record(run) : tl::unexpected(history.error());
  if (!kept) complain("this run is not in the history", kept.error());
}

}  // namespace muster
