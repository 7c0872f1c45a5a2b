/// A program run by a rank: in a process group of its own, ended with its deadline, never outliving the rank.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/launcher.hpp"
#include "muster/result.hpp"

namespace muster {

/// In the environment of every program that a rank runs and of what that starts, so that it can be distinguished from
/// the ranks and their launcher.
inline constexpr std::string_view program_mark = "MUSTER_PROGRAM=1";

struct ChildOptions {
  Argv argv;                         ///< argv[0] with a slash, or looked up on PATH; no shell is involved
  Environment env;                   ///< added to ours
  std::vector<std::string> without;  ///< variables of ours that it does not get
  double deadline_s = 0;
  double grace_s = 2;    ///< from TERM to KILL
  double stopped_s = 6;  ///< a program that a signal keeps stopped (SIGSTOP, SIGTSTP) for so long is ended
  std::function<void(int process_group)> on_start;
  /// Standard output and error, in the order written, as they come.
  std::function<void(std::string_view chunk)> on_output;
};

struct ChildEnd {
  int status = 0;  ///< meaningless when signal != 0
  int signal = 0;
  bool timed_out = false;
  bool was_stopped = false;  ///< ended for ChildOptions::stopped_s
  double seconds = 0;
};

/// Runs it to its end and waits. What is left of its group afterwards is killed, and so is what it started in groups or
/// sessions of their own. Fails with kind `launch` when it
/// can't be started, naming the program and the cause.
[[nodiscard]] Result<ChildEnd> run_child(const ChildOptions& options);

}  // namespace muster
