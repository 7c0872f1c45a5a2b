// muster run --submit: a job whose script runs muster again, on nodes that the batch system chooses, and whose report
// is brought back. docs/submit.md.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "app/binding/scheduler_gpus.hpp"
#include "app/inputs/lines.hpp"
#include "app/inputs/load.hpp"
#include "app/inputs/options.hpp"
#include "app/inputs/prepare.hpp"
#include "app/inputs/simulation.hpp"
#include "app/inputs/site_nodes.hpp"
#include "app/runs/action_lines.hpp"
#include "app/runs/job_progress.hpp"
#include "app/runs/node_service.hpp"
#include "app/runs/outputs.hpp"
#include "app/runs/read_run.hpp"
#include "app/runs/run_folder.hpp"
#include "app/runs/scheduled_run.hpp"
#include "base/clock.hpp"
#include "base/lists.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "muster/probe.hpp"
#include "run/job_options.hpp"
#include "run/job_report.hpp"
#include "run/job_watch.hpp"
#include "system/allocation.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr std::size_t most_job_output = 4u << 20;

/// All that is decided before anything is written.
struct Submission {
  const SchedulerSpec* scheduler = nullptr;
  SystemProfile system;
  Plan plan;
  JobRequest request;
  JobChoice choice;
  NodeRequest nodes;
};

Result<const SchedulerSpec*> find_a_scheduler() {
  std::vector<std::string> programs;
  for (const auto* scheduler : all_schedulers()) {
    if (!find_program(scheduler->program).empty()) return scheduler;
    programs.emplace_back(scheduler->program);
  }
  return fail(
      ErrorKind::usage, "--submit",
      fmt::format("there is no {} on PATH; start muster on a login node of the cluster, or without --submit here",
                  join(programs, ", ")));
}

Result<void> refuse_inside_of_job() {
  const auto allocation = find_allocation();
  if (!allocation) return tl::unexpected(allocation.error());
  if (!*allocation) return {};
  return fail(
      ErrorKind::usage, "--submit",
      fmt::format("muster already runs inside {} job {}; leave out --submit to run in it, or start muster outside",
                  (*allocation)->scheduler, (*allocation)->job));
}

/// The nodes are not known yet: their number counts, and the profile's description of them.
Site imagined_site(const SystemProfile& system, const NodeRequest& nodes) {
  Site site;
  site.launcher = "in the job";
  site.nodes = nodes.names;
  for (int i = static_cast<int>(site.nodes.size()) + 1; i <= nodes.count; ++i)
    site.nodes.push_back(fmt::format("node{}", i));
  for (const auto& partition : system.partitions) {
    // A job that asks for a task on every core, also on those that jobs do not get, never starts.
    const auto reserved = static_cast<int>(partition.node.reserved_cores.size());
    if (partition.node.cores > 0) site.cores = std::max(1, partition.node.cores - reserved);
    if (partition.node.gpus) site.gpus = partition.node.gpus->count;
  }
  return site;
}

bool has_cores(const SystemProfile& system) {
  return std::any_of(system.partitions.begin(), system.partitions.end(),
                     [](const PartitionProfile& partition) { return partition.node.cores > 0; });
}

/// One for each GPU, as the batch scripts of sites have it; else as many as a check wants.
int tasks_of_node(const RunOptions& options, const Submission& submission, int gpus_per_node) {
  if (options.site.ranks_per_node) return *options.site.ranks_per_node;
  if (gpus_per_node > 0) return gpus_per_node;
  for (const PartitionProfile& partition : submission.system.partitions)
    if (partition.node.gpus && partition.node.gpus->count > 0) return partition.node.gpus->count;
  return tasks_per_node(submission.plan, has_cores(submission.system));
}

/// The share of a task in the cores that jobs get, with all hardware threads where the site binds to these. A single
/// task of an exclusive node has all of it anyway.
int cpus_of_task(const SystemProfile& system, int tasks) {
  for (const PartitionProfile& partition : system.partitions) {
    const ExpectedNode& node = partition.node;
    const int cores = node.cores - static_cast<int>(node.reserved_cores.size());
    const auto& refuses = partition.scheduler_refuses;
    const bool is_refused = is_in("--cpus-per-task", refuses);
    if (is_refused || tasks < 2 || cores / tasks < 2) continue;
    const bool has_threads = node.bind && node.bind->smt && node.cpu && node.cpu->smt > 1;
    return cores / tasks * (has_threads ? node.cpu->smt : 1);
  }
  return 0;
}

std::vector<std::string> modules_of(const SystemProfile& system, const std::string& environment) {
  for (const auto& one : system.environments)
    if (one.name == environment) return one.modules;
  return {};
}

/// The run inside: all that was given, apart from what is for this side. Its profile is ours, found or not.
Argv inside_command(const RunOptions& options, const SystemProfile& system, const JobChoice& choice) {
  Argv argv{own_executable().string(), "run"};
  argv.insert(argv.end(), options.inside.begin(), options.inside.end());
  if (options.site.system.empty() && system.name != "generic") argv.push_back("--system=" + system.name);
  for (const auto& fill : choice.fills) argv.push_back("-J=" + fill);
  return argv;
}

Result<Submission> decide(const RunOptions& options, Chosen chosen) {
  Submission submission;
  auto scheduler = find_a_scheduler();
  if (!scheduler) return tl::unexpected(scheduler.error());
  submission.scheduler = *scheduler;
  submission.system = std::move(chosen.system);
  auto choice = choose_job_options(**scheduler, submission.system, options.site.environment, options.site.job_options);
  if (!choice) return tl::unexpected(choice.error());
  submission.choice = std::move(*choice);
  auto nodes = requested_nodes(options.site.nodes, **scheduler, submission.choice.options);
  if (!nodes) return tl::unexpected(nodes.error());
  submission.nodes = std::move(*nodes);
  if (!submission.nodes.none_idle.empty()) return submission;
  auto gpus = requested_gpus(**scheduler, submission.system, submission.choice.options, submission.nodes.names);
  const bool has_ranks = gpus.per_node == 0 && options.site.ranks_per_node;
  if (!options.site.ranks_per_node) gpus.note += gpus.ranks;
  if (!gpus.note.empty() && !has_ranks) submission.nodes.notes.push_back(std::move(gpus.note));
  submission.request.gpus_per_node = gpus.per_node;
  auto site = imagined_site(submission.system, submission.nodes);
  const int gpus_of_node = std::max(gpus.per_node, gpus.chosen);
  if (gpus_of_node > 0) site.gpus = gpus_of_node;
  auto plan = make_plan(chosen.loaded.checks, submission.system, chosen.select, site, all_probes());
  if (!plan) return tl::unexpected(plan.error());
  submission.plan = std::move(*plan);
  if (auto alone = refuse_beside_lines(options, chosen.loaded.checks, submission.plan); !alone)
    return tl::unexpected(alone.error());

  auto& request = submission.request;
  request.nodes = submission.nodes.count;
  request.node_names = submission.nodes.names;
  request.tasks_per_node = tasks_of_node(options, submission, gpus_of_node);
  request.cpus_per_task = cpus_of_task(submission.system, request.tasks_per_node);
  request.time_limit = time_needed(submission.plan);
  request.options = submission.choice.options;
  request.modules = modules_of(submission.system, options.site.environment);
  request.command = inside_command(options, submission.system, submission.choice);
  return submission;
}

/// Where things lie, once the run has a folder.
void place(JobRequest& request, const RunReport& report) {
  std::error_code ignored;
  request.name = "muster-" + report.run_id;
  request.folder = fs::current_path(ignored).string();
  request.starts = (fs::absolute(report.folder, ignored).lexically_normal() / "job").string();
  request.output = request.starts + "/output";
}

/// A line end in a name would end a line of the script, and what follows be a command of it.
Result<void> check_names(const JobRequest& request) {
  const auto is_control = [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f; };
  for (const std::string* name : {&request.folder, &request.starts})
    if (std::any_of(name->begin(), name->end(), is_control))
      return fail(ErrorKind::usage, "--submit",
                  fmt::format("{} has a line end or another control character in its name; start muster in another "
                              "folder, or name another one with --output",
                              printable_line(*name, 300)));
  return {};
}

/// Variables that would override the script are hidden from our job.
void forget_variables(const Submission& submission) {
  for (const auto& name : submission.scheduler->variables(submission.request)) unsetenv(name.c_str());
}

int show_script(const Submission& submission) {
  const auto script = fs::path(submission.request.starts) / "script";
  fmt::print("{}\n", submission.scheduler->script(submission.request));
  fmt::print("# submitted with: {}\n", shell_line(submission.scheduler->submit(script.string())));
  for (const auto& note : submission.nodes.notes) fmt::print("# {}\n", note);
  return 0;
}

WatchOptions watch_options(const JobRequest& request) {
  WatchOptions watch;
  watch.starts = request.starts;
  const char* text = std::getenv("MUSTER_SUBMIT_POLL");
  if (const auto pause = parse_duration(text == nullptr ? "" : text); pause && pause->value >= 0.05)
    watch.first_pause_s = watch.longest_pause_s = pause->value;
  return watch;
}

/// Queried while the job's end is explained; empty: no answer.
std::vector<NodeState> nodes_of(const SchedulerSpec& scheduler, const JobStatus& status) {
  const auto asked = run_program(scheduler.ask_nodes({}), 20);
  if (!asked || asked->timed_out) return {};
  auto nodes = scheduler.read_nodes(asked->out);
  std::erase_if(nodes, [&](const NodeState& node) { return !is_in(node.node, status.nodes); });
  return nodes;
}

/// What the run inside has kept becomes part of this run's folder, as if it had been here.
void move_up(const fs::path& start, const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(start, ignored)) {
    const auto name = entry.path().filename();
    if (name != "report.json" && !fs::exists(folder / name, ignored)) fs::rename(entry.path(), folder / name, ignored);
  }
}

JobReturn fetch(const Submission& submission, const RunOptions& options, JobEnd end) {
  JobReturn back;
  back.news = std::move(end.news);
  back.interrupted = std::move(end.interrupted);
  back.is_finished = end.is_finished;
  back.inside_status = end.inside_status;
  back.notes = std::move(end.notes);
  back.notes.insert(back.notes.end(), submission.nodes.notes.begin(), submission.nodes.notes.end());
  back.submitted_on = host_name();
  back.output_file = submission.request.output;
  if (auto output = read_file(submission.request.output, most_job_output)) back.output = std::move(*output);
  if (const auto start = last_start(submission.request.starts); !start.empty())
    if (auto reported = read_run(start)) back.reported = std::move(*reported);
  if (back.news.status.fault == JobFault::node) back.nodes = nodes_of(*submission.scheduler, back.news.status);
  auto inside = options;
  inside.submit = false;
  inside.site.nodes.clear();
  inside.site.job_options.clear();
  inside.site.launcher_options.insert(inside.site.launcher_options.end(), submission.choice.fills.begin(),
                                      submission.choice.fills.end());
  inside.output = RunOptions{}.output;
  back.inside_prefix = rerun_prefix(inside);
  back.outside_prefix = rerun_prefix(options);
  return back;
}

int show_report(const RunReport& reported, Outputs& outputs, const RunOptions& options) {
  auto report = reported;
  for (const auto& error : replay(report, outputs.sinks())) {
    report.unwritten.push_back(to_string(error));
    if (report.interrupted.empty()) report.exit_status = 2;
  }
  return act_on_nodes(report, options, conclude(report));
}

std::string announced(const Submission& submission, const RunReport& report) {
  const auto& request = submission.request;
  return fmt::format("submitting a job for {} node{}; this run is {}", request.nodes, request.nodes == 1 ? "" : "s",
                     report.folder);
}

}  // namespace

int submit_command(const RunOptions& options) {
  if (const int status = refuse_simulation(options.site.is_simulated); status != 0) return status;
  if (auto outside = refuse_inside_of_job(); !outside) return usage_error(outside.error());
  if (auto able = check_scheduled_run(options.night); !able) return usage_error(able.error());
  auto chosen = choose(options);
  if (!chosen) return exit_usage;
  auto submission = decide(options, std::move(*chosen));
  if (!submission) return usage_error(submission.error());
  const double began = monotonic_seconds();
  auto report = run_header(options, submission->system);
  if (const std::string& why = submission->nodes.none_idle; !why.empty())
    return options.dry_run ? usage_error({ErrorKind::usage, "--nodes", why}) : miss_scheduled_run(options, report, why);
  place(submission->request, report);
  if (auto fits = check_names(submission->request); !fits) return usage_error(fits.error());
  if (options.dry_run) {
    warn_of_actions(options.night);
    return show_script(*submission);
  }
  RunLock lock;
  if (const auto out = enter_scheduled_run(lock, options, report, submission->nodes.names)) return *out;
  warn_of_actions(options.night);

  auto folder = RunFolder::make(options, report);
  if (!folder) return usage_error(folder.error());
  const auto script = fs::path(submission->request.starts) / "script";
  auto made = make_folder(submission->request.starts);
  if (made) made = write_file(script, submission->scheduler->script(submission->request), 0700);
  auto outputs =
      Outputs::open(options.reports, {options.color, options.quiet, lines_beside_report(options)}, folder->path());
  if (!made || !outputs) {
    folder->give_back();
    return usage_error(made ? outputs.error() : made.error());
  }
  folder->link();
  forget_variables(*submission);
  JobProgress progress(options.quiet);
  const SignalsHeld held;
  auto watch = watch_options(submission->request);
  watch.ended_by = held.ends();
  for (const auto& note : submission->nodes.notes) progress.say(note);
  progress.say(announced(*submission, report));
  watch.on_news = [&](const JobNews& news) { progress.show(*submission->scheduler, news); };
  auto end = run_job(*submission->scheduler, script, watch);
  progress.end();
  if (!end) {
    folder->give_back();
    fmt::print(stderr, "muster: {}\nnothing was started\n", printable_line(to_string(end.error()), 2000));
    return exit_usage;
  }
  auto back = fetch(*submission, options, std::move(*end));
  back.seconds = monotonic_seconds() - began;
  if (const auto start = last_start(submission->request.starts); !start.empty()) move_up(start, folder->path());
  return show_report(report_of_job(*submission->scheduler, report, submission->plan, std::move(back)), *outputs,
                     options);
}

}  // namespace muster
