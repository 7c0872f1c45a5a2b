#include "app/runs/scheduled_run_record.hpp"

#include "base/clock.hpp"
#include "history/store.hpp"
#include "run/owner_tag.hpp"

namespace muster {

namespace {

/// --no-history keeps what was measured out of it, not what was done to nodes.
Result<History> open_history(const RunOptions& options) {
  return History::open(options.history, HistoryUse::write);
}

/// Others may run in between.
constexpr std::size_t most_runs_back = 1000;

}  // namespace

fs::path state_folder() {
  return default_history().parent_path();
}

Result<void> record_action(const RunOptions& options, const RunReport& report, const ActionEntry& entry) {
  auto history = open_history(options);
  if (!history) return tl::unexpected(history.error());
  const auto owner = read_tag(entry.reason) ? entry.reason.substr(0, entry.reason.find(": ")) : "";
  return history->record_action(
      {rfc3339(realtime_nanoseconds()), entry.node, entry.action, entry.reason, owner, entry.outcome, report.run_id});
}

Result<Misses> record_miss(const RunOptions& options, const RunReport& head, const std::string& why) {
  auto history = open_history(options);
  if (!history) return tl::unexpected(history.error());
  if (auto kept = history->record_skipped(head.started, why, head.command_line); !kept)
    return tl::unexpected(kept.error());
  auto runs = history->runs(most_runs_back);
  if (!runs) return tl::unexpected(runs.error());
  Misses misses;
  for (auto run = runs->rbegin(); run != runs->rend(); ++run) {
    if (run->head.command_line != head.command_line) continue;
    if (run->head.skipped.empty()) break;
    ++misses.count;
    misses.since = run->head.started;
  }
  return misses;
}

Result<void> record_skipped(const RunOptions& options, const RunReport& head, const std::string& why) {
  auto history = open_history(options);
  if (!history) return tl::unexpected(history.error());
  return history->record_skipped(head.started, why, head.command_line);
}

}  // namespace muster
