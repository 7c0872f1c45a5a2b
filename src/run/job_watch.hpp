/// Follows a submitted job to its end: asks the batch system now and then, looks at what the job leaves on disk,
/// cancels it when this process gets a signal to end.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "run/job_words.hpp"

namespace muster {

struct WatchOptions {
  double first_pause_s = 2;     ///< between the first questions
  double longest_pause_s = 30;  ///< what it grows to while nothing changes
  double queue_pause_s = 60;    ///< between questions for the place in the queue, which cost more
  double look_s = 0.25;         ///< between looks at files
  double gone_s = 120;          ///< how long a cancelled job may take to be gone
  double files_s = 15;          ///< how long files of a job that has ended may take to be seen from here
  fs::path starts;              ///< folder of the job's starts
  std::vector<int> ended_by{SIGINT, SIGTERM, SIGHUP};
  std::function<void(const JobNews&)> on_news;  ///< after every answer, and every second
};

struct JobEnd {
  JobNews news;
  std::string interrupted;         ///< `SIGINT`; empty: not interrupted
  bool is_finished = false;        ///< the run inside wrote its exit status, and was not interrupted
  int inside_status = 0;           ///< of it
  std::vector<std::string> notes;  ///< requeues and the like, in words
};

/// Submits the script, and returns when the run inside has written its exit status or the job is gone. Fails, with what
/// to change, when the batch system does not take it; nothing has been started then.
[[nodiscard]] Result<JobEnd> run_job(const SchedulerSpec& scheduler, const fs::path& script,
                                     const WatchOptions& options);

/// The folder of the job's last start that left anything; empty: none.
[[nodiscard]] fs::path last_start(const fs::path& starts);

}  // namespace muster
