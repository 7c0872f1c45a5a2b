/// The messages of srun when a step fails, verbatim. For srun.cpp alone.
#pragma once

#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include "base/number.hpp"
#include "base/text.hpp"
#include "launchers/agent_remedy.hpp"
#include "muster/launcher.hpp"

namespace muster::srun {

/// A message that explains a failed launch as a whole.
struct KnownFailure {
  std::string_view text;
  std::string_view sentence;  ///< `{}`: the node, or `a node`
  std::string_view remedy;
  bool is_job_gone = false;  ///< nothing that is seen after it is anybody's fault
};

inline constexpr KnownFailure known_failures[] = {
    {"execve(): ", "the agent can't be started on {}", agent_remedy},
    {"Unable to satisfy cpu bind request", "Slurm can't bind the ranks to CPUs as the job asks",
     "request whole nodes (sbatch or salloc --exclusive), and give srun neither -c nor --exact nor --exclusive (-J, "
     "launcher_options): masks may only have CPUs of the step"},
    {"Unable to layout tasks", "the step has too few CPUs for the ranks as the job requests them",
     "request whole nodes (--exclusive), or fewer ranks or CPUs per rank: --ranks-per-node, and -c, --hint and "
     "--threads-per-core (-J, launcher_options)"},
    {"Task launch for ", "Slurm could not start ranks on {}",
     "see scontrol show node and whether slurmd runs there, or leave the node out with --nodes"},
    {"More processors requested than permitted", "the allocation has fewer CPUs on a node than requested ranks",
     "request fewer --ranks-per-node, or an allocation with more tasks (--ntasks-per-node, --exclusive)"},
    {"Invalid generic resource (gres) specification", "Slurm can't give the ranks the GPUs that the job's options name",
     "request GPUs per node (--gpus-per-node), not a total (--gpus), which parts of the nodes can't have"},
    {"Requested node configuration is not available",
     "the allocation does not have the nodes or resources of this launch",
     "name nodes of the allocation with --nodes, and leave out options (-J) that it was not granted"},
    {"Cannot request more threads per core", "the launch requests more threads per core than the job",
     "leave out --threads-per-core and --hint (-J, launcher_options), or give them to sbatch or salloc, too"},
    {"Invalid MPI type", "srun does not support the requested MPI type",
     "leave out --mpi (-J), or choose one of srun --mpi=list"},
    {"Invalid job id specified", "Slurm does not know the job around muster: it has ended",
     "start muster again in a new allocation", true},
    {" has expired", "the job around muster has ended",
     "see why (scontrol show job, sacct), and start again in a new one", true},
    {"already completing or completed", "the job around muster has ended",
     "see why (scontrol show job, sacct), and start again in a new one", true},
    {"Unable to contact slurm controller", "Slurm's controller does not answer", "try again when squeue works"},
    {"unrecognized option", "srun does not support one of its options", "correct the options (-J, profile)"},
};

/// The messages of tasks when their PMI library does not start.
inline constexpr KnownFailure known_starts[] = {
    {"_pmi_set_af_in_use:PMI ERROR", "Cray's PMI did not start on {}",
     "export PMI_SHARED_SECRET=\"\" before srun; where Fortran programs don't start on 512 nodes or more, also "
     "PMI_NO_PREINITIALIZE=y"},
};

/// Why Slurm ended a step, from the end of `*** STEP 2.0 ON nid001 CANCELLED AT 2026-11-21T19:23:00 DUE TO TIME LIMIT
/// ***`.
inline constexpr KnownFailure known_ends[] = {
    {"DUE TO NODE FAILURE", "Slurm ended the job's step: it counts {} as failed",
     "see scontrol show node for the reason; jobs outlive the loss of a node with --no-kill"},
    {"DUE TO TIME LIMIT", "Slurm ended the job: its time limit was reached", "request more time (--time)"},
    {"DUE TO PREEMPTION", "Slurm ended the job: another one took its nodes",
     "run it again, in a partition or QOS that is not preempted"},
    {"CANCELLED AT", "the job or its step was cancelled", "see who cancelled it (scancel), and run it again"},
};

/// `text` without `mark` when it begins with that.
inline std::string_view after(std::string_view text, std::string_view mark) {
  return text.substr(0, mark.size()) == mark ? text.substr(mark.size()) : text;
}

/// Lines of srun itself and of the daemon that starts tasks, not of tasks.
inline bool is_message(std::string_view line) {
  return line.substr(0, 5) == "srun:" || line.substr(0, 10) == "slurmstepd";
}

inline std::string_view word_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return {};
  text.remove_prefix(at + mark.size());
  return text.substr(0, text.find_first_of(" \t\n:,"));
}

/// `srun: error: nid002: tasks 2-3: Killed`
struct TaskEnd {
  std::string node;
  std::optional<int> rank;  ///< where it is one task alone
  std::optional<int> signal;
  std::optional<int> exit_status;
};

/// Slurm names signals as strsignal() does.
inline std::optional<int> signal_named(std::string_view words) {
  words = words.substr(0, words.find(" (core dumped)"));
  if (words == "Out Of Memory") return SIGKILL;
  for (int signal = 1; signal < 32; ++signal) {
    const char* name = ::sigdescr_np(signal);
    if (name != nullptr && words == name) return signal;
  }
  return std::nullopt;
}

inline std::optional<TaskEnd> task_end(std::string_view line) {
  constexpr std::string_view error = "srun: error: ";
  constexpr std::string_view exited = "Exited with exit code ";
  if (line.substr(0, error.size()) != error) return std::nullopt;
  line.remove_prefix(error.size());
  const std::size_t node_end = line.find(": task");
  const std::size_t words = line.rfind(": ");
  if (node_end == line.npos || words <= node_end) return std::nullopt;
  const std::string_view tasks = line.substr(node_end + 2, words - node_end - 2);
  const std::string_view what = trim(line.substr(words + 2));
  TaskEnd end;
  end.node = printable_line(line.substr(0, node_end), 255);
  if (tasks.substr(0, 5) == "task ") end.rank = parse_number_from(tasks.substr(5), 0);
  if (what.substr(0, exited.size()) == exited)
    end.exit_status = parse_number_from(what.substr(exited.size()), 0);
  else
    end.signal = signal_named(what);
  if (!end.signal && !end.exit_status) return std::nullopt;
  return end;
}

inline void put(const KnownFailure& known, LauncherNotice& notice) {
  const std::string_view named = notice.node.empty() ? std::string_view("a node") : std::string_view(notice.node);
  notice.sentence = fmt::format(fmt::runtime(known.sentence), named);
  notice.remedy = known.remedy;
}

/// The node that a failed start happened on: named in the message itself, or in the first word on tasks that ended.
inline std::string failed_node(std::string_view text, std::string_view line) {
  if (const auto node = word_after(line, "failed on node "); !node.empty()) return printable_line(node, 255);
  for (const std::string_view other : lines(text)) {
    if (const auto node = word_after(other, "failed on node "); is_message(other) && !node.empty())
      return printable_line(node, 255);
    if (const auto end = task_end(other)) return end->node;
  }
  return {};
}

/// True when the launch as a whole failed for a reason that is known.
inline bool explain_launch(std::string_view text, LauncherNotice& notice) {
  for (const KnownFailure& failure : known_failures)
    for (const std::string_view line : lines(text)) {
      if (!is_message(line) || line.find(failure.text) == line.npos) continue;
      if (failure.sentence.find("{}") != failure.sentence.npos) notice.node = failed_node(text, line);
      put(failure, notice);
      notice.is_first_cause = failure.is_job_gone;
      return true;
    }
  for (const KnownFailure& failure : known_starts)
    if (text.find(failure.text) != text.npos) {
      notice.node = failed_node(text, {});
      put(failure, notice);
      return true;
    }
  return false;
}

/// Daemons of some nodes may report that a step was cancelled before others report the cause.
inline void take_cancellation(std::string_view text, LauncherNotice& notice) {
  notice.is_first_cause = true;
  for (const KnownFailure& end : known_ends) {
    const bool is_node = end.text == known_ends[0].text;
    for (const std::string_view line : lines(text)) {
      if (!is_message(line)) continue;
      const bool is_named = is_node && line.find("Node failure on ") != line.npos;
      if (!is_named && line.find(end.text) == line.npos) continue;
      if (is_node) notice.node = printable_line(word_after(text, "Node failure on "), 255);
      return put(end, notice);
    }
  }
}

/// The first thing that went wrong: a task that ended by itself, or Slurm that ended them all. Messages on tasks that
/// come after that are consequences.
inline void explain_end(std::string_view text, LauncherNotice& notice) {
  bool is_aborted = false;
  for (const std::string_view line : lines(text)) {
    if (!is_message(line)) continue;
    if (line.find(" CANCELLED AT ") != line.npos) return take_cancellation(text, notice);
    if (line.find("Job step aborted") != line.npos || line.find("Node failure on ") != line.npos) is_aborted = true;
    const auto end = task_end(line);
    if (!end || is_aborted) continue;
    notice.node = end->node;
    notice.rank = end->rank;
    notice.signal = end->signal;
    notice.exit_status = end->exit_status;
    return;
  }
}

}  // namespace muster::srun
