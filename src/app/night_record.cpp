#include "app/night_record.hpp"

#include <cstdlib>
#include <pwd.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "history/store.hpp"
#include "run/owner_tag.hpp"

namespace muster {

namespace {

Result<History> open_history(const RunOptions&) {
  return History::open(state_folder() / "history.db", HistoryUse::write);
}

}  // namespace

fs::path state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return fs::path(state) / "muster";
  const char* home = std::getenv("HOME");
  const passwd* user = home != nullptr && *home == '/' ? nullptr : getpwuid(geteuid());
  if (user != nullptr) home = user->pw_dir;
  return fs::path(home == nullptr ? "/" : home) / ".local/state/muster";
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
