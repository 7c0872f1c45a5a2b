/// Makes the report of a submitted run from what came back of its job. Pure.
#pragma once

#include <optional>
#include <string>

#include "model/plan.hpp"
#include "muster/report.hpp"
#include "run/job_words.hpp"

namespace muster {

/// What is left of a job that has ended.
struct JobReturn {
  JobNews news;
  std::string interrupted;            ///< signal that ended the wait: `SIGINT`; empty: none
  bool is_finished = false;           ///< the run inside came to its end by itself
  int inside_status = 0;              ///< its exit status, where it is finished
  std::optional<RunReport> reported;  ///< its report, or what its spool holds
  double seconds = 0;                 ///< since the submitting run began: it waited for the job, too
  std::string output;                 ///< the end of all that the job printed
  std::string output_file;            ///< where the rest of it is
  std::string submitted_on;           ///< host
  std::vector<NodeState> nodes;       ///< of the job, after its end
  std::vector<std::string> notes;     ///< what happened while it was waited for
  Argv inside_prefix;                 ///< of rerun commands, as the run inside writes them
  Argv outside_prefix;                ///< as they would bring about another job
};

/// `header` is that of the run that submitted: its id, start, command line and folder stay, and its time counts. A job
/// that did not come to its end becomes a result of its own, `job%12`; cases without a result are `unmeasured`.
[[nodiscard]] RunReport report_of_job(const SchedulerSpec& scheduler, RunReport header, const Plan& plan,
                                      JobReturn back);

}  // namespace muster
