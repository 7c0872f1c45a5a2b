#include "history/compare.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "app/commands/history.hpp"
#include "app/inputs/case_filter.hpp"
#include "app/inputs/load.hpp"
#include "app/runs/find_run.hpp"
#include "app/views/compare_words.hpp"
#include "history/store.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

constexpr std::size_t enough_runs = 5;
constexpr std::size_t most_of_spread = 40;   ///< the latest runs, from which the spread is found
constexpr std::size_t most_of_levels = 400;  ///< and the levels that a value of a virtual machine had

/// As a share of the median. Half of the values decide it where one run was odd; of few the deviation is the better
/// one.
double deviation_between_runs(const std::vector<double>& values) {
  const double middle = *median(values);
  const double robust = 1.4826 * *mad(values) * (1 + 3 / static_cast<double>(values.size()));
  double squares = 0;
  for (const double value : values) {
    const double off = std::clamp(value - middle, -3 * robust, 3 * robust);
    squares += off * off;
  }
  return std::max(robust, std::sqrt(squares / static_cast<double>(values.size() - 1))) / std::fabs(middle);
}

/// How far each value differs from run to run, by the passing runs up to the first of the two.
RunNoise noise_of(const PastRun& before, const PastRun& after, const std::string& file) {
  RunNoise noise;
  std::error_code ignored;
  const fs::path path = file.empty() ? default_history() : fs::path(file);
  if (path.empty() || !fs::exists(path, ignored)) return noise;
  std::set<std::string> ids;
  for (const PastValue& value : before.values) ids.insert(value.key.case_id);
  SeriesQuery query;
  query.case_ids = {ids.begin(), ids.end()};
  query.most_points = virtual_nodes(after).empty() ? most_of_spread : most_of_levels;
  auto history = ids.empty() ? tl::unexpected(Error{}) : History::open(path, HistoryUse::read);
  const auto found = history ? history->series(query) : tl::unexpected(history.error());
  if (!found) return noise;
  for (const Series& one : *found) {
    std::vector<double> values;
    for (const SeriesPoint& point : one.points)
      if (point.use == ValueUse::basis && point.started <= before.started) values.push_back(point.value);
    if (values.size() < enough_runs || *median(values) == 0) continue;
    const std::size_t recent = std::min(values.size(), most_of_spread);
    noise[without_nodes(one.key)] = {
        deviation_between_runs({values.end() - static_cast<std::ptrdiff_t>(recent), values.end()}),
        static_cast<int>(recent), std::move(values)};
  }
  return noise;
}

}  // namespace

int compare_command(const CompareOptions& options) {
  auto filter = CaseFilter::make(options.names);
  if (!filter) return usage_error(filter.error());
  auto before = find_past_run(options.before, options.file);
  if (!before) return history_trouble(before.error());
  auto after = find_past_run(options.after, options.file);
  if (!after) return history_trouble(after.error());
  keep_named(*before, *filter);
  keep_named(*after, *filter);
  if (auto matched = filter->complain(); !matched) return usage_error(matched.error());
  const auto found = compare(*before, *after, noise_of(*before, *after, options.file));
  if (options.json)
    fmt::print("{}\n", comparison_json(*before, *after, found));
  else
    fmt::print("{}", comparison_text(*before, *after, found));
  if (has_nothing_in_common(*before, found)) return 2;
  return found.is_worse() ? 1 : 0;
}

}  // namespace muster
