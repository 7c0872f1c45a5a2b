#include <cmath>
#include <fmt/format.h>
#include <set>

#include "app/command_history.hpp"
#include "app/find_run.hpp"
#include "app/load.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "history/compare.hpp"
#include "history/store.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

constexpr std::size_t enough_runs = 5;

/// How far each value differs from run to run, by the passing runs up to the first of the two.
RunNoise noise_of(const PastRun& before, const std::string& file) {
  RunNoise noise;
  std::error_code ignored;
  const fs::path path = file.empty() ? default_history() : fs::path(file);
  if (path.empty() || !fs::exists(path, ignored)) return noise;
  std::set<std::string> ids;
  for (const PastValue& value : before.values) ids.insert(value.key.case_id);
  SeriesQuery query;
  query.case_ids = {ids.begin(), ids.end()};
  query.most_points = 40;
  auto history = ids.empty() ? tl::unexpected(Error{}) : History::open(path, HistoryUse::read);
  const auto found = history ? history->series(query) : tl::unexpected(history.error());
  if (!found) return noise;
  for (const Series& one : *found) {
    std::vector<double> values;
    for (const SeriesPoint& point : one.points)
      if (point.use == ValueUse::basis && point.started <= before.started) values.push_back(point.value);
    if (values.size() < enough_runs || *median(values) == 0) continue;
    const double correction = 1 + 3 / static_cast<double>(values.size());
    SeriesKey key = one.key;
    key.item.node.clear();
    key.item.peer_node.clear();
    noise[std::move(key)] = 1.4826 * *mad(values) * correction / std::fabs(*median(values));
  }
  return noise;
}

std::string name_of(const PastRun& run) {
  return fmt::format("{}  {}  {}  {}", printable_line(run.run_id, 12), printable_line(run.started, 40),
                     to_string(run.verdict), printable_line(shell_line(run.command_line), 200));
}

std::string where_of(const Labels& where) {
  std::string text;
  for (const auto& [key, value] : where)
    text += (text.empty() ? " where " : ", ") + printable_line(key) + "=" + printable_line(value);
  return text;
}

std::string line_of(const VerdictChange& change) {
  auto text =
      fmt::format("{}: {} -> {}", printable_line(change.case_id), to_string(change.before), to_string(change.after));
  if (!change.nodes.empty()) text += " on " + printable_line(human_list(change.nodes));
  if (change.is_worse && !change.reason.empty()) text += ": " + printable_line(change.reason, 300);
  return text;
}

std::string line_of(const MetricChange& change) {
  const auto check = change.key.case_id.substr(0, change.key.case_id.find('%'));
  auto text = fmt::format("{} of {}{} ({}): {} -> {}, {:+.3g} %", printable_line(change.key.metric),
                          printable_line(change.subject), where_of(change.key.where), printable_line(check),
                          format_value(change.before, change.unit), format_value(change.after, change.unit),
                          change.share * 100);
  if (change.moved == 1) return text;
  text += fmt::format(" ({} of {})", change.moved, change.measured);
  if (change.subject == change.items.front()) text += ": " + printable_line(human_list(change.items));
  return text;
}

std::string line_of(const FactChange& change) {
  const auto told = [](const std::string& value) { return value.empty() ? "nothing" : printable_line(value, 200); };
  return fmt::format("{} on {}: {} -> {}", printable_line(change.key), printable_line(human_list(change.nodes)),
                     told(change.before), told(change.after));
}

void print_part(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  fmt::print("{}\n", title);
  for (const std::string& line : lines) fmt::print("  {}\n", line);
}

void add_names(const char* what, const std::vector<std::string>& items, std::vector<std::string>& lines) {
  if (!items.empty()) lines.push_back(fmt::format("{}: {}", what, printable_line(human_list(items), 600)));
}

void print(const Comparison& found) {
  std::vector<std::string> worse;
  std::vector<std::string> better;
  std::vector<std::string> other;
  for (const VerdictChange& one : found.verdicts) (one.is_worse ? worse : better).push_back(line_of(one));
  for (const MetricChange& one : found.metrics)
    (one.is_worse ? worse : one.share == 0 ? other : better).push_back(line_of(one));
  add_names("nodes that went", found.nodes_gone, worse);
  add_names("devices that went", found.devices_gone, worse);
  for (const FactChange& one : found.facts) other.push_back(line_of(one));
  add_names("nodes that came", found.nodes_new, other);
  add_names("devices that came", found.devices_new, other);
  add_names("only before", found.only_before, other);
  add_names("only after", found.only_after, other);
  print_part("worse", worse);
  print_part("better or otherwise", better);
  print_part("changed", other);
}

}  // namespace

int compare_command(const CompareOptions& options) {
  const auto before = find_past_run(options.before, options.file);
  if (!before) return usage_error(before.error());
  const auto after = find_past_run(options.after, options.file);
  if (!after) return usage_error(after.error());
  const auto found = compare(*before, *after, noise_of(*before, options.file));
  fmt::print("before  {}\nafter   {}\n", name_of(*before), name_of(*after));
  print(found);
  fmt::print("{} compared", counted(static_cast<std::size_t>(found.compared), "value"));
  if (found.untimed > 0) fmt::print(", {} not: times mean nothing there", found.untimed);
  fmt::print("\n");
  // Runs that have no case in common say nothing about each other.
  if (before->cases.size() == found.only_before.size()) {
    fmt::print("nothing can be said: the runs have no case in common\n");
    return 2;
  }
  fmt::print("{}\n", found.is_worse()   ? "something got worse"
                     : found.is_empty() ? "no difference"
                                        : "nothing got worse");
  return found.is_worse() ? 1 : 0;
}

}  // namespace muster
