/// What the author of a batch system implements: a job's description in, script and command lines out, answers read; no
/// processes, no files, no environment. docs/submit.md describes it for users.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/launcher.hpp"
#include "muster/params.hpp"
#include "muster/result.hpp"

namespace muster {

/// One option of a job, as the batch system spells it out.
struct JobOption {
  std::string name;   ///< long, with dashes: `--account`
  std::string text;   ///< `--account=project_1`
  std::string place;  ///< where it was set: file:line:column of the profile; empty: -J
  friend bool operator==(const JobOption&, const JobOption&) = default;
};

/// What a batch script is made of.
struct JobRequest {
  std::string name;
  int nodes = 1;
  std::vector<std::string> node_names;  ///< these and no others; empty: any
  int tasks_per_node = 0;               ///< 0: not asked for
  int cpus_per_task = 0;                ///< as the batch system counts CPUs; 0: not asked for
  int gpus_per_node = 0;                ///< 0: not asked for; gives way to any of `options` that asks for GPUs
  Seconds time_limit{0};                ///< rounded up to what the batch system counts in
  std::vector<JobOption> options;       ///< go before what muster would ask for
  std::vector<std::string> modules;     ///< loaded before the command
  std::string folder;                   ///< where the command is started; absolute
  std::string output;                   ///< file for all that is printed, of every start; absolute
  /// What the job runs. Every start gets `--run-folder <starts>/<number of restarts>` behind it, and leaves its exit
  /// status in `<starts>/<number of restarts>.status`.
  Argv command;
  std::string starts;
};

enum class JobPhase {
  unknown,  ///< the batch system does not know the job (any more)
  waiting,
  running,
  ending,  ///< its end has begun
  ended,
};

/// Who has to be asked when a job did not run to its end.
enum class JobFault {
  none,    ///< it ended by itself, or has not ended
  node,    ///< a node of it failed
  nobody,  ///< it was taken away: cancelled, preempted
  job,     ///< it asked for too little, or failed
};

struct JobStatus {
  JobPhase phase = JobPhase::unknown;
  JobFault fault = JobFault::none;
  std::string state;               ///< in the batch system's spelling: `PENDING`
  std::string reason;              ///< likewise: `Priority`; empty: none
  std::string why;                 ///< that in words, behind "job 12": `waits for nodes to become free`
  std::string remedy;              ///< what to do about it; empty: wait
  bool is_stuck = false;           ///< it waits until a user or operator makes a change
  std::vector<std::string> nodes;  ///< that it has or had
  int restarts = 0;                ///< how often it was requeued
  int exit_status = 0;
  int signal = 0;
  double run_s = 0;            ///< of this start
  std::string expected_start;  ///< local time, as the batch system writes it; empty: unknown
  std::string ended_by;        ///< user who cancelled it; empty: unknown
  std::string partition;
  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

/// A node as the batch system sees it.
struct NodeState {
  std::string node;
  std::string state;      ///< `idle`, `drained`, ...
  std::string why;        ///< what an operator wrote; empty: nothing
  bool is_idle = false;   ///< a job could start there now
  bool is_usable = true;  ///< jobs get it, now or later
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

/// GPUs of a node, as the batch system counts them.
struct CountedGpus {
  std::string node;
  int count = 0;
  friend bool operator==(const CountedGpus&, const CountedGpus&) = default;
};

/// A node in a partition, as the batch system is configured. 0: unknown.
struct ConfiguredNode {
  std::string node;
  std::string partition;
  bool is_default = false;  ///< the partition of jobs that name none
  int cores = 0;            ///< physical ones
  int smt = 0;              ///< CPUs of a core
  int gpus = 0;
  std::string gpu_type;  ///< `h100`; empty: unknown, or several
  friend bool operator==(const ConfiguredNode&, const ConfiguredNode&) = default;
};

/// The state of a node that decides whether it may be drained.
struct NodeService {
  std::string node;  ///< as the batch system names it
  std::string host;  ///< as it calls itself
  std::string state;
  bool is_drained = false;  ///< gets no new jobs, by a user's or operator's request
  bool is_down = false;     ///< gets none, whatever the partition allows
  std::string reason;       ///< as it was written, by an operator or the batch system itself; empty: none
  std::string by;           ///< user who wrote it
  std::string since;        ///< when, UTC: `2026-11-22T18:02:43`; empty: unknown
  friend bool operator==(const NodeService&, const NodeService&) = default;
};

struct SchedulerSpec {
  std::string_view name;     ///< `slurm`
  std::string_view title;    ///< `Slurm`
  std::string_view program;  ///< that submits; looked up on PATH

  /// One option as given by -J or a profile: long or short, or `name=value`. Fails with kind `usage` for what can't be
  /// one, and for options that muster must choose itself, with what to write instead.
  Result<JobOption> (*read_option)(std::string_view word) = nullptr;
  /// `--partition` for `--partitoin`; empty: `name` is a known option, or like none (a plug-in of the site may have
  /// it).
  std::string (*meant_option)(std::string_view name) = nullptr;
  /// Variables of the environment that would stand over options of the script, or change how it is submitted.
  std::vector<std::string> (*variables)(const JobRequest&) = nullptr;
  std::string (*script)(const JobRequest&) = nullptr;
  Argv (*submit)(std::string_view script_file) = nullptr;
  /// The job's number. Fails with kind `launch`: the message, and the remedy.
  Result<std::string> (*read_submit)(std::string_view out, std::string_view err, int status) = nullptr;

  Argv (*ask)(std::string_view job) = nullptr;
  /// Phase `unknown` for a job that is not known. Fails with kind `launch` without an answer.
  Result<JobStatus> (*read_status)(std::string_view out, std::string_view err, int status) = nullptr;
  /// Of jobs that are not known any more, and who cancelled one; may not work everywhere.
  Argv (*ask_past)(std::string_view job) = nullptr;
  std::optional<JobStatus> (*read_past)(std::string_view out, std::string_view job) = nullptr;
  /// Jobs that wait in the partition, first those that are to start first.
  Argv (*ask_queue)(std::string_view partition) = nullptr;
  /// From 1; 0: not among them.
  int (*read_position)(std::string_view out, std::string_view job) = nullptr;
  Argv (*cancel)(std::string_view job) = nullptr;

  /// All nodes that a job with these options could get.
  Argv (*ask_nodes)(std::span<const JobOption> options) = nullptr;
  std::vector<NodeState> (*read_nodes)(std::string_view out) = nullptr;
  /// What runs in a job: nodes that are at work, apart from the one that its script occupies.
  Argv (*ask_steps)(std::string_view job) = nullptr;
  std::vector<std::string> (*read_busy)(std::string_view out) = nullptr;

  /// All partitions with their nodes: a node is listed once for each partition that it is in.
  Argv (*ask_configured)() = nullptr;
  std::vector<ConfiguredNode> (*read_configured)(std::string_view out) = nullptr;
  /// The cluster's name, which jobs have in the variable `cluster_variable`; empty: unknown.
  Argv (*ask_cluster)() = nullptr;
  std::string (*read_cluster)(std::string_view out) = nullptr;
  std::string_view cluster_variable = {};
  std::string_view partition_variable = {};  ///< variable of a job with its partition; empty: there is none
  /// GPUs of the nodes of a partition (empty: the default one).
  Argv (*ask_gpus)(std::string_view partition) = nullptr;
  std::vector<CountedGpus> (*read_gpus)(std::string_view out, std::string_view partition) = nullptr;
  /// The option of `options` by which the job asks for GPUs itself; empty: none.
  std::string (*gpu_option)(std::span<const JobOption> options) = nullptr;
  /// Whether the job that `ask` was answered about asked for GPUs: its launches get none otherwise, also where it has
  /// whole nodes.
  bool (*asks_for_gpus)(std::string_view out) = nullptr;

  /// How nodes are taken out of service and put back, and the program for it. Nodes are named as the batch system names
  /// them, one at a time. nullptr: that can't be done there. `ask_service` without a node asks for all.
  /// `greet_service` asks no more than whether anybody is there who would do it.
  std::string_view service_program = {};
  Argv (*greet_service)() = nullptr;
  bool (*is_greeted)(std::string_view out, int status) = nullptr;
  LaunchCommand (*ask_service)(std::string_view node) = nullptr;
  std::vector<NodeService> (*read_service)(std::string_view out) = nullptr;
  Argv (*drain)(std::string_view node, std::string_view reason) = nullptr;
  Argv (*resume)(std::string_view node) = nullptr;
};

/// Every batch system that was built in, by name. Generated from the folder.
[[nodiscard]] std::span<const SchedulerSpec* const> all_schedulers();
[[nodiscard]] const SchedulerSpec* find_scheduler(std::string_view name);

}  // namespace muster
