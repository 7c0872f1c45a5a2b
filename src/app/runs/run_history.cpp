#include "app/runs/run_history.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "history/remember.hpp"
#include "history/store.hpp"

namespace muster {

namespace {

/// As many as a judgement looks at, and some that did not pass.
constexpr std::size_t most_points = 80;

/// Rates of errors are judged by history without being asked.
bool has_error_rates(const Case& item) {
  const ProbeSpec* probe = find_probe(item.probe);
  return probe != nullptr && std::any_of(probe->metrics.begin(), probe->metrics.end(),
                                         [](const MetricSpec& metric) { return metric.error_floor > 0; });
}

std::vector<std::string> judged_by_history(const Plan& plan) {
  std::set<std::string> ids;
  for (const Case& item : plan.cases)
    if (has_error_rates(item) || std::any_of(item.expects.begin(), item.expects.end(),
                                             [](const Expectation& asked) { return asked.history.has_value(); }))
      ids.insert(common_id(item));
  return {ids.begin(), ids.end()};
}

void complain(const char* what, const Error& error) {
  fmt::print(stderr, "muster: {}: {}\n", what, printable_line(to_string(error), 2000));
}

}  // namespace

std::optional<PastValues> past_of(const RunOptions& options, const Plan& plan) {
  if (options.no_history) return std::nullopt;
  PastValues past;
  SeriesQuery query;
  query.case_ids = judged_by_history(plan);
  query.most_points = most_points;
  const fs::path file = options.history.empty() ? default_history() : fs::path(options.history);
  std::error_code ignored;
  if (query.case_ids.empty() || file.empty() || !fs::exists(file, ignored)) return past;
  const auto own = own_database(file);
  if (!own) {
    complain("nothing is judged by earlier runs", own.error());
    return std::nullopt;
  }
  auto history = History::open(*own, HistoryUse::read);
  auto found = history ? history->series(query) : tl::unexpected(history.error());
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
    past.add(std::move(one.key), std::move(points));
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
