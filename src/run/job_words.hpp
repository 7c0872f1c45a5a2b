/// Messages on a job while it is waited for, and on its end. Pure.
#pragma once

#include <optional>
#include <string>

#include "muster/scheduler.hpp"
#include "muster/verdict.hpp"
#include "run/spool_progress.hpp"

namespace muster {

/// What is known of a job now.
struct JobNews {
  std::string job;
  JobStatus status;
  int position = 0;                       ///< in the queue, from 1; 0: unknown
  double waited_s = 0;                    ///< since it was submitted
  std::string trouble;                    ///< why the last question was not answered; empty: it was
  std::optional<SpoolProgress> progress;  ///< of the run inside
};

/// One sentence without a full stop: `Slurm job 12 runs on nid[001-004]`. What changes all the time (seconds, places in
/// the queue, cases) is left out unless `is_live`.
[[nodiscard]] std::string announce(const SchedulerSpec& scheduler, const JobNews& news, bool is_live);

/// `Slurm job 12 was cancelled by 1000 (CANCELLED, exit status 0, signal 15)`, with the node that failed where it is
/// known. Verdict: `fail` for a node, `unmeasured` without a culprit, else `error`.
[[nodiscard]] Finding explain_end(const SchedulerSpec& scheduler, const JobNews& news,
                                  const std::vector<NodeState>& nodes);

}  // namespace muster
