/// Every run, kept in one SQLite file: docs/history.md. Several processes may use it at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "model/past_run.hpp"
#include "muster/report.hpp"
#include "muster/result.hpp"

namespace muster {

/// `$XDG_STATE_HOME/muster/history.db`, else `~/.local/state/muster/history.db`.
[[nodiscard]] fs::path default_history();

enum class HistoryUse {
  read,   ///< nothing is made or changed; fails when there is none
  amend,  ///< as write, but fails when there is none
  write,  ///< made when there is none; brought to this muster's schema
};

/// What is listed of a run.
struct RunLine {
  std::int64_t number = 0;  ///< in the order in which runs were stored
  PastRun head;             ///< without nodes, cases and values
};

/// That a run has this case.
struct RunCase {
  std::int64_t run = 0;  ///< RunLine::number
  std::string id;
  std::string check;
};

/// One value of a series, with the run that it is of.
struct SeriesPoint {
  std::int64_t run = 0;
  std::string run_id;
  std::string started;
  double value = 0;
  double spread = 0;
  ValueUse use = ValueUse::basis;
  std::string configuration;  ///< equal where the facts of its node were
};

struct Series {
  std::int64_t number = 0;
  SeriesKey key;
  std::string check;
  std::string unit;
  int better = 0;
  std::vector<SeriesPoint> points;  ///< the oldest first
};

/// What one node, or one device, did in one check in one run.
struct ItemVerdict {
  std::string item;
  bool is_device = false;
  std::string case_id;
  std::string check;
  std::string started;
  std::string run_id;
  Verdict verdict = Verdict::unmeasured;
  std::string configuration;  ///< as SeriesPoint; empty: not known
};

/// The state from that time on is accepted: earlier values are excluded from the baseline.
struct Accepted {
  std::string time;    ///< RFC 3339, UTC
  std::string item;    ///< node, device or link; empty: all
  std::string metric;  ///< empty: all

  [[nodiscard]] bool covers(const SeriesKey& key, const std::string& started) const {
    const bool is_item = item.empty() || item == key.item.name || item == key.item.node || item == key.item.peer_node;
    return is_item && (metric.empty() || metric == key.metric) && started < time;
  }
  friend bool operator==(const Accepted&, const Accepted&) = default;
};

/// Which series; empty texts: any.
struct SeriesQuery {
  std::string metric;
  std::string item;  ///< name of a node, a device or a link
  std::vector<std::string> case_ids;
  std::string simulated;
  bool is_of_any_machine = true;  ///< else of `simulated` alone
  std::size_t most_points = 0;    ///< the latest; 0: all
};

/// All functions fail with kind `file` when the file is not there, can't be opened, is not a history, or damaged, or of
/// a newer muster; `system` when it can't be read or written; `where` is its path. What has returned without an error
/// survives a crash of this process and of the machine. Not to be shared by threads.
class History {
 public:
  /// `file` empty: default_history(). Waits for other processes for up to 30 s, as every function here does.
  [[nodiscard]] static Result<History> open(fs::path file, HistoryUse use);
  History(History&&) noexcept;
  History& operator=(History&&) noexcept;
  ~History();
  [[nodiscard]] const fs::path& path() const;

  /// A run that was stored before (same id, start and host) stays as it is: false.
  [[nodiscard]] Result<bool> record(const PastRun& run);
  [[nodiscard]] Result<bool> record(const RunReport& report);
  /// A run that never began; `started` as RFC 3339.
  [[nodiscard]] Result<void> record_skipped(const std::string& started, const std::string& reason,
                                            const Argv& command_line);
  [[nodiscard]] Result<void> record_action(const NodeAction& action);

  [[nodiscard]] Result<void> record_accepted(const Accepted& accepted);
  [[nodiscard]] Result<std::vector<Accepted>> accepted();

  /// The oldest first.
  [[nodiscard]] Result<std::vector<NodeAction>> actions();
  /// The latest `most` runs (0: all), skipped ones too, the oldest first.
  [[nodiscard]] Result<std::vector<RunLine>> runs(std::size_t most = 0);
  /// Of all runs.
  [[nodiscard]] Result<std::vector<RunCase>> cases();
  /// Everything that is kept of a run.
  [[nodiscard]] Result<PastRun> run(std::int64_t number);
  [[nodiscard]] Result<std::vector<Series>> series(const SeriesQuery& query);
  /// Those (SeriesPoint::configuration) that have such a fact.
  [[nodiscard]] Result<std::set<std::string>> configurations_with(const std::string& fact);
  /// Of the latest `most_runs` runs (0: all) that were not skipped, the oldest first.
  [[nodiscard]] Result<std::vector<ItemVerdict>> verdicts(std::size_t most_runs = 0);
  /// Removes runs, actions and all that only they need, that began before `before` (RFC 3339); how many runs.
  [[nodiscard]] Result<std::int64_t> prune(const std::string& before);
  /// Gives the room of what was removed back to the file system: how many bytes. For a time it needs as much room as
  /// the history has then; readers wait, and it fails where others use the history for more than 30 s.
  [[nodiscard]] Result<std::int64_t> compact();

 private:
  struct Inside;
  explicit History(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace muster
