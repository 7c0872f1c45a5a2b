#include "app/night_record.hpp"

#include "base/clock.hpp"
#include "history/store.hpp"
#include "run/owner_tag.hpp"

namespace muster {

namespace {

/// --no-history keeps what was measured out of it, not what was done to nodes.
Result<History> open_history(const RunOptions& options) {
  return History::open(options.history, HistoryUse::write);
}

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

Result<void> record_skipped(const RunOptions& options, const RunReport& head, const std::string& why) {
  auto history = open_history(options);
  if (!history) return tl::unexpected(history.error());
  return history->record_skipped(head.started, why, head.command_line);
}

}  // namespace muster
