#include "app/commands/history.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <set>

#include "app/inputs/case_filter.hpp"
#include "app/inputs/load.hpp"
#include "app/runs/outputs.hpp"
#include "app/views/series_plot.hpp"
#include "base/clock.hpp"
#include "base/lists.hpp"
#include "base/moment.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "history/lists.hpp"

namespace muster {

namespace {

/// More plots than this are a wall: their names are listed instead.
constexpr std::size_t most_plots = 6;

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    return text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
  }
  return false;
}

std::string moment(const std::string& started) {
  const auto text = printable_line(started, 40);
  return text.size() < 16 ? text : text.substr(0, 10) + " " + text.substr(11, 5);
}

/// What -n, --since and --before leave.
struct View {
  CaseFilter cases;
  std::string since;   ///< RFC 3339; empty: any
  std::string before;  ///< likewise

  [[nodiscard]] bool has_time(const std::string& started) const {
    return started >= since && (before.empty() || started < before);
  }
  [[nodiscard]] bool is_everything() const { return cases.is_everything() && since.empty() && before.empty(); }
};

Result<View> view_of(const HistoryOptions& options) {
  auto cases = CaseFilter::make(options.names);
  if (!cases) return tl::unexpected(cases.error());
  View view{std::move(*cases), {}, {}};
  for (const auto& [option, text, moment] :
       {std::tuple{"--since", &options.since, &view.since}, std::tuple{"--before", &options.before, &view.before}}) {
    if (text->empty()) continue;
    auto parsed = parse_moment(*text, realtime_nanoseconds());
    if (!parsed) return fail(ErrorKind::usage, option, parsed.error().what);
    *moment = std::move(*parsed);
  }
  return view;
}

/// The latest `most` runs that the view leaves, the oldest first.
Result<std::vector<RunLine>> runs_in(History& history, View& view, std::size_t most) {
  auto runs = history.runs(view.is_everything() ? most : 0);
  if (!runs || view.is_everything()) return runs;
  std::set<std::int64_t> named;
  if (!view.cases.is_everything()) {
    const auto cases = history.cases();
    if (!cases) return tl::unexpected(cases.error());
    for (const RunCase& one : *cases)
      if (view.cases.is_named(one.check, one.id)) named.insert(one.run);
    if (auto matched = view.cases.complain(); !matched) return tl::unexpected(matched.error());
  }
  std::erase_if(*runs, [&](const RunLine& line) {
    return !view.has_time(line.head.started) || (!view.cases.is_everything() && named.count(line.number) == 0);
  });
  if (runs->size() > most) runs->erase(runs->begin(), runs->end() - static_cast<std::ptrdiff_t>(most));
  return runs;
}

/// `width` 0: lines are not cut.
int list_runs(History& history, View& view, std::size_t most, int width) {
  const auto runs = runs_in(history, view, most);
  if (!runs) return history_trouble(runs.error());
  if (runs->empty())
    fmt::print("{}\n", view.is_everything() ? "no run has been stored yet" : "no stored run is of that time");
  for (const RunLine& line : *runs) {
    const PastRun& run = line.head;
    const bool is_skipped = !run.skipped.empty();
    auto text = fmt::format("{}  {:6}  {:10}  ", moment(run.started), printable_line(run.run_id, 12),
                            is_skipped ? "not run" : std::string(to_string(run.verdict)));
    text += is_skipped ? printable_line(run.skipped)
                       : fmt::format("{:>7}  {}{}", format_value(run.seconds, "s"), printable_line(run.system, 30),
                                     run.simulated.empty() ? "" : " SIMULATED");
    text += "  " + printable_line(shell_line(run.command_line), 400);
    const auto room = static_cast<std::size_t>(std::max(width, 40));
    fmt::print("{}\n", width > 0 && text.size() > room ? printable_line(text, room - 1) : text);
  }
  return 0;
}

int list_actions(History& history, const View& view) {
  auto actions = history.actions();
  if (!actions) return history_trouble(actions.error());
  std::erase_if(*actions, [&](const NodeAction& one) { return !view.has_time(one.time); });
  if (actions->empty()) fmt::print("nothing has been done to any node\n");
  for (const NodeAction& one : *actions) {
    // A reason of muster's begins with the owner's tag.
    const bool is_reported = one.reason.compare(0, one.owner.size(), one.owner) == 0;
    fmt::print("{}  {} {}: {} ({}{})\n", moment(one.time), printable_line(one.action), printable_line(one.node),
               printable_line(one.outcome), printable_line(one.reason),
               is_reported ? "" : ", " + printable_line(one.owner));
  }
  return 0;
}

int list_flaky(const std::vector<ItemVerdict>& verdicts) {
  const auto found = flaky(verdicts);
  if (found.empty()) fmt::print("no check passes and fails in turn\n");
  for (const Flaky& one : found)
    fmt::print("{}: {} changed {} times with nothing else changed, failed {} of {} runs, last {}\n",
               printable_line(one.item), printable_line(one.check), one.changes, one.failed, one.runs,
               moment(one.last));
  return 0;
}

int list_lemons(const std::vector<ItemVerdict>& verdicts) {
  const auto found = lemons(verdicts);
  if (found.empty()) fmt::print("no node or device fails more often than its peers\n");
  for (const Lemon& one : found)
    fmt::print("{} {}: failed in {} of {} runs, the others in {:.2g} %: {}\n", one.is_device ? "device" : "node",
               printable_line(one.item), one.failed, one.runs, one.others * 100,
               printable_line(human_list(one.checks)));
  return 0;
}

/// LABEL=VALUE, all of them.
Result<bool> fits(const Labels& labels, const std::vector<std::string>& wanted) {
  for (const std::string& one : wanted) {
    const auto equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorKind::usage, "--where", fmt::format("\"{}\" is not LABEL=VALUE", printable_line(one)));
    const auto found = std::find_if(labels.begin(), labels.end(),
                                    [&](const auto& label) { return label.first == one.substr(0, equals); });
    if (found == labels.end() || found->second != one.substr(equals + 1)) return false;
  }
  return true;
}

/// What there is to ask for, where nothing fits.
int nothing_fits(History& history, const HistoryOptions& options) {
  const auto all = history.series({});
  if (!all) return history_trouble(all.error());
  std::vector<std::string> known;
  for (const Series& one : *all)
    if (!is_in(one.key.metric, known)) known.push_back(one.key.metric);
  const bool is_known = is_in(options.metric, known);
  return usage_error({ErrorKind::usage, "--metric",
                      is_known ? fmt::format("{} is there, but not with that check, item, label or time",
                                             printable_line(options.metric))
                               : fmt::format("the history has no metric \"{}\"{}", printable_line(options.metric),
                                             suggestion(options.metric, known))});
}

/// Leaves the series and points that the view names.
Result<void> narrow(std::vector<Series>& all, View& view) {
  if (view.is_everything()) return {};
  for (Series& one : all)
    std::erase_if(one.points, [&](const SeriesPoint& point) { return !view.has_time(point.started); });
  std::erase_if(
      all, [&](const Series& one) { return !view.cases.is_named(one.check, one.key.case_id) || one.points.empty(); });
  return view.cases.complain();
}

int show_metric(History& history, const HistoryOptions& options, View& view, int width) {
  SeriesQuery query;
  query.metric = options.metric;
  query.item = options.item;
  auto found = history.series(query);
  if (!found) return history_trouble(found.error());
  if (auto narrowed = narrow(*found, view); !narrowed) return usage_error(narrowed.error());
  std::vector<Series> kept;
  for (Series& one : *found) {
    const auto is_meant = fits(one.key.where, options.where);
    if (!is_meant) return usage_error(is_meant.error());
    if (*is_meant) kept.push_back(std::move(one));
  }
  if (kept.empty()) return nothing_fits(history, options);
  if (kept.size() > most_plots) {
    for (const Series& one : kept)
      fmt::print("{:>14}  {}\n", one.points.empty() ? "" : format_value(one.points.back().value, one.unit),
                 title_of(one.key));
    fmt::print("{} series, the latest value of each; --item, -n and --where choose among them, up to {} are drawn\n",
               kept.size(), most_plots);
    return 0;
  }
  const PlotForm form{width, 8, speaks_utf8()};
  for (const Series& one : kept) fmt::print("{}{}", &one == &kept.front() ? "" : "\n", plot(one, form));
  return 0;
}

}  // namespace

int history_trouble(const Error& error) {
  const bool is_usual_file = error.where == default_history().string();
  if (error.kind == ErrorKind::usage || (error.kind == ErrorKind::file && !is_usual_file)) return usage_error(error);
  fmt::print(stderr, "muster: {}\n", printable_line(to_string(error), 2000));
  return 2;
}

int history_command(const HistoryOptions& options) {
  const auto terminal = terminal_options(options.color, false);
  if (!terminal) return usage_error(terminal.error());
  if (options.metric.empty() && (!options.item.empty() || !options.where.empty()))
    return usage_error({ErrorKind::usage, "muster history", "--item and --where need a --metric NAME"});
  if (options.actions && !options.names.empty())
    return usage_error({ErrorKind::usage, "--actions",
                        "actions on nodes belong to no check: leave out -n (--name), and use --since and --before"});
  auto view = view_of(options);
  if (!view) return usage_error(view.error());
  auto history = History::open(options.file, HistoryUse::read);
  if (!history) return history_trouble(history.error());
  if (!options.metric.empty()) return show_metric(*history, options, *view, terminal->width);
  if (options.actions) return list_actions(*history, *view);
  if (!options.flaky && !options.lemons) {
    // A file or another program has room for whole lines.
    const bool has_width = terminal->terminal || std::getenv("COLUMNS") != nullptr;
    return list_runs(*history, *view, static_cast<std::size_t>(options.last), has_width ? terminal->width : 0);
  }
  auto verdicts = history->verdicts();
  if (!verdicts) return history_trouble(verdicts.error());
  std::erase_if(*verdicts, [&](const ItemVerdict& one) {
    return !view->cases.is_named(one.check, one.case_id) || !view->has_time(one.started);
  });
  if (auto matched = view->cases.complain(); !matched) return usage_error(matched.error());
  return options.flaky ? list_flaky(*verdicts) : list_lemons(*verdicts);
}

}  // namespace muster
