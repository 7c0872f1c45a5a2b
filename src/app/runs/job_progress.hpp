/// What is seen of a job while it is waited for: on a terminal one line that is redrawn, elsewhere a line per change.
#pragma once

#include <string>

#include "run/job_words.hpp"

namespace muster {

class JobProgress {
 public:
  /// On standard error: standard output is the reports'.
  explicit JobProgress(bool is_quiet);
  void show(const SchedulerSpec& scheduler, const JobNews& news);
  void say(const std::string& line);
  /// Takes the line away that is redrawn.
  void end();

 private:
  bool is_quiet_;
  bool is_terminal_;
  std::string last_;
};

}  // namespace muster
