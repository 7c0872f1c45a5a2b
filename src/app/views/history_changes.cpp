// What changes a history: old runs go, and what is now is as it shall be.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "app/commands/history.hpp"
#include "app/inputs/load.hpp"
#include "base/clock.hpp"
#include "base/moment.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "history/store.hpp"

namespace muster {

namespace {

constexpr int least_passing = 5;  // stats/drift.hpp

Result<void> check_options(const AcceptOptions& options) {
  const bool names_something = !options.item.empty() || !options.metric.empty();
  if (names_something && options.all)
    return fail(ErrorKind::usage, "--all", "is every metric of everything; leave it out, or --item and --metric");
  if (!names_something && !options.all)
    return fail(ErrorKind::usage, "muster history accept",
                "needs --item NAME or --metric NAME, or --all for every metric of everything");
  return {};
}

/// What --item takes: nodes, devices and links.
std::set<std::string> items_of(const std::vector<Series>& all) {
  std::set<std::string> items;
  for (const Series& one : all)
    for (const std::string& name : {one.key.item.name, one.key.item.node, one.key.item.peer_node})
      if (!name.empty()) items.insert(name);
  return items;
}

Error not_in_history(const char* option, const char* what, const std::string& name,
                     const std::set<std::string>& known) {
  const std::vector<std::string> words(known.begin(), known.end());
  return {ErrorKind::usage, option,
          fmt::format("the history has no {} \"{}\"{}", what, printable_line(name), suggestion(name, words))};
}

/// Why nothing fits.
Error why_none(const AcceptOptions& options, const std::vector<Series>& all) {
  const auto items = items_of(all);
  std::set<std::string> metrics;
  for (const Series& one : all) metrics.insert(one.key.metric);
  if (!options.item.empty() && items.count(options.item) == 0)
    return not_in_history("--item", "node, device or link", options.item, items);
  if (!options.metric.empty() && metrics.count(options.metric) == 0)
    return not_in_history("--metric", "metric", options.metric, metrics);
  if (all.empty()) return {ErrorKind::usage, "--all", "the history has no values"};
  return {ErrorKind::usage, "--item",
          fmt::format("{} has no {}; muster history --metric {} lists what has", printable_line(options.item),
                      printable_line(options.metric), printable_line(options.metric))};
}

}  // namespace

int history_accept_command(const AcceptOptions& options) {
  if (auto sound = check_options(options); !sound) return usage_error(sound.error());
  auto history = History::open(options.file, HistoryUse::amend);
  if (!history) return history_trouble(history.error());
  const auto all = history->series({});
  if (!all) return history_trouble(all.error());
  const Accepted accepted{rfc3339(realtime_nanoseconds()), options.item, options.metric};
  const auto covered = std::count_if(all->begin(), all->end(),
                                     [&](const Series& one) { return accepted.covers(one.key, std::string()); });
  if (covered == 0) return usage_error(why_none(options, *all));
  if (auto stored = history->record_accepted(accepted); !stored) return history_trouble(stored.error());
  fmt::print("{} of {} ({} series): earlier runs no longer count; {} passing runs are needed for a new baseline\n",
             options.metric.empty() ? "every metric" : printable_line(options.metric),
             options.item.empty() ? "everything" : printable_line(options.item), covered, least_passing);
  return 0;
}

int history_prune_command(const PruneOptions& options) {
  if (options.keep <= 0 && options.before.empty())
    return usage_error({ErrorKind::usage, "muster history prune", "which runs? Give --keep N or --before TIME"});
  std::string before;
  if (!options.before.empty()) {
    auto moment = parse_moment(options.before, realtime_nanoseconds());
    if (!moment) return usage_error({ErrorKind::usage, "--before", moment.error().what});
    before = std::move(*moment);
  }
  auto history = History::open(options.file, HistoryUse::amend);
  if (!history) return history_trouble(history.error());
  if (options.keep > 0) {
    const auto runs = history->runs(static_cast<std::size_t>(options.keep));
    if (!runs) return history_trouble(runs.error());
    before = runs->empty() ? "" : runs->front().head.started;
  }
  const auto gone = history->prune(before);
  if (!gone) return history_trouble(gone.error());
  const auto freed = history->compact();
  fmt::print(
      "{} removed, {}\n", counted(static_cast<std::size_t>(*gone), "run"),
      freed ? format_bytes(Bytes{static_cast<std::uint64_t>(*freed)}) + " freed" : std::string("no space freed yet"));
  return freed ? 0 : history_trouble(freed.error());
}

}  // namespace muster
