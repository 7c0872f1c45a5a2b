#include "app/runs/scheduled_run.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "app/inputs/load.hpp"
#include "app/runs/scheduled_run_record.hpp"
#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

/// Longer than a run may take that another one waits for.
constexpr double most_run_s = 86'400;

/// `run 3f2a9c (pid 4711 on login1, since 2026-11-22T02:00:00Z) has nid[001-003]`
std::string who_is_in_the_way(const LockedRun& mine, const LockedRun& holder) {
  if (holder.run.empty()) return "a run without details in the lock file is going on";
  auto shared = mine.nodes.empty() ? holder.nodes : mine.nodes;
  if (!mine.nodes.empty() && !holder.nodes.empty())
    std::erase_if(shared, [&](const std::string& node) { return !is_in(node, holder.nodes); });
  const auto what = shared.empty() ? "all of " + mine.system : compress_hostlist(shared);
  return fmt::format("run {} (pid {} on {}, since {}) has {}", holder.run, holder.pid, holder.host, holder.since, what);
}

/// So many misses in a row of a quiet run are printed at once: a full cluster is not a fault, but nodes that are never
/// tested are.
constexpr int most_misses = 3;

}  // namespace

int miss_scheduled_run(const RunOptions& options, const RunReport& head, const std::string& why) {
  const auto kept = record_miss(options, head, why);
  if (!kept) fmt::print(stderr, "muster: {}\n", printable_line(to_string(kept.error()), 1000));
  const int misses = kept ? kept->count : 1;
  if (!options.quiet || !kept || misses % most_misses == 0)
    fmt::print(stderr, "muster: not started: {}{}\n", printable_line(why, 1000),
               misses < most_misses ? ""
                                    : fmt::format("; {} runs in a row found none, nothing was tested since {}", misses,
                                                  printable_line(kept->since, 40)));
  return exit_locked;
}

std::optional<int> enter_scheduled_run(RunLock& lock, const RunOptions& options, const RunReport& head,
                                       std::vector<std::string> nodes) {
  const auto& night = options.night;
  if (!night.lock && night.lock_file.empty()) return {};
  const auto file = night.lock_file.empty() ? state_folder() / "running" : fs::path(night.lock_file);
  const LockedRun mine{head.run_id, head.system, std::move(nodes), head.host, ::getpid(), head.started, 0};
  const auto taken = RunLock::take(lock, file, mine);
  if (!taken) return usage_error(taken.error());
  if (!*taken) return {};
  const auto why = who_is_in_the_way(mine, **taken);
  // One run that lasts into the next does not trigger a mail; one that lasts through two, or for too long, does.
  const bool is_long = has_lasted(**taken, most_run_s);
  if (!options.quiet || (*taken)->turned_away > 1 || is_long)
    fmt::print(stderr, "muster: not started: {}{}\n", printable_line(why, 1000),
               is_long ? "; no run takes that long: end that process" : "");
  if (const auto kept = record_skipped(options, head, why); !kept)
    fmt::print(stderr, "muster: {}\n", printable_line(to_string(kept.error()), 1000));
  return exit_locked;
}

}  // namespace muster
