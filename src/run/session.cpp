#include "run/session.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "evaluate/evaluate.hpp"
#include "model/json.hpp"
#include "run/await_launch.hpp"
#include "run/cleanup_process.hpp"
#include "run/diagnose.hpp"
#include "run/given_line.hpp"
#include "run/launch.hpp"
#include "run/name_lookup.hpp"
#include "run/per_node.hpp"
#include "run/results.hpp"
#include "run/session_folder.hpp"
#include "run/start_complaint.hpp"
#include "run/start_trials.hpp"
#include "run/stuck_finalize.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr double tick_s = 0.1;
constexpr int most_fruitless = 2;  // launches in a row that finished no case
constexpr int most_collisions = 3;

/// Programs lie beside the check that names them.
std::string folder_of(const std::string& file) {
  std::error_code ignored;
  return fs::absolute(file, ignored).parent_path().lexically_normal().string();
}

/// What all ranks do at once: one case, or with --per-node that of each node.
using Bundle = std::vector<WorkItem>;

/// What starts the ranks of a launch: the launcher of the run, or the user's own line.
struct Way {
  const LauncherSpec& launcher;
  const LauncherIdentity& identity;
  SessionOptions options;

  [[nodiscard]] LaunchMeans means() const { return {launcher, identity, options}; }
  [[nodiscard]] std::string title() const {
    return identity.banner.empty() ? std::string(launcher.name)
                                   : fmt::format("{} ({})", launcher.name, identity.banner);
  }
};

/// A launch still to be made.
struct Task {
  PlannedLaunch launch;
  int fruitless = 0;
  std::size_t lost_nodes = 0;  ///< when it was last launched
  int collisions = 0;          ///< launches that another mpirun of this user kept from starting
};

/// What a launcher of muster's own command line starts ranks for root with, where that was not set already; empty:
/// nothing.
std::string note_for_root(const Way& way, const JobShape& shape) {
  if (way.options.line != nullptr || ::geteuid() != 0) return {};
  std::vector<std::string> set;
  for (const auto& [name, value] : way.launcher.command(way.identity, shape, {}, way.options.launcher_options).env) {
    const char* now = std::getenv(name.c_str());
    // Others depend on the shape of the launch.
    const bool is_for_root = name.find("ALLOW_RUN_AS_ROOT") != name.npos;
    if (is_for_root && (now == nullptr || now != value)) set.push_back(name + "=" + value);
  }
  if (set.empty()) return {};
  return fmt::format("run as root: muster sets {} for {}, which refuses root otherwise", human_list(set),
                     way.identity.banner);
}

/// The user's own line runs as it would without muster.
/// What keeps a launch on these nodes from being started.
std::optional<Finding> find_obstacle(const Way& way, JobShape shape) {
  if (way.options.line != nullptr) return std::nullopt;
  shape.job_nodes = way.options.job_nodes;
  const std::string why = way.launcher.cannot_place == nullptr ? "" : way.launcher.cannot_place(shape);
  if (!why.empty())
    return Finding{Verdict::error,
                   why,
                   {{CulpritKind::launcher, std::string(way.launcher.name), "", -1}},
                   "choose others with --nodes, or a launcher that takes names of nodes, such as --launcher mpirun"};
  return foreign_session_folder(way.launcher, way.identity, way.options.environment);
}

class Session {
 public:
  Session(const Plan& plan, const LaunchMeans& means, const std::vector<ReporterSink>& sinks, RunReport& report)
      : plan_(plan),
        launcher_(means.launcher),
        identity_(means.identity),
        options_(means.options),
        report_(report),
        results_(plan, means.options, sinks, report) {}

  [[nodiscard]] Result<void> run();

 private:
  void watch_signals();
  void carry_out(Task task);
  [[nodiscard]] Task without_barred_cases(Task task);
  [[nodiscard]] Task without_lost_nodes(Task task);
  [[nodiscard]] const Case& case_of(const WorkItem& item) const {
    return plan_.cases[static_cast<std::size_t>(item.case_index)];
  }
  [[nodiscard]] std::vector<Bundle> bundles_of(const PlannedLaunch& planned) const;
  [[nodiscard]] LaunchOrder order_of(const PlannedLaunch& planned, const std::vector<Bundle>& bundles, int index) const;
  [[nodiscard]] LaunchEvents events_of(const std::vector<Bundle>& bundles, int index);
  [[nodiscard]] Way way_of(const JobShape& shape) const;
  [[nodiscard]] LaunchDiagnosis diagnosis_of(const Way& way);
  [[nodiscard]] LaunchDiagnosis::Inspection inspection_of(const Launch& launch, const PlannedLaunch& planned) const;
  [[nodiscard]] LaunchOutcome examine(Launch& launch, const PlannedLaunch& planned, const Way& way,
                                      const StoppedProcesses& stopped);
  [[nodiscard]] LaunchOutcome of_clean(Launch& launch, const PlannedLaunch& planned, const Way& way);
  [[nodiscard]] LaunchOutcome of_left_finalize(const Launch& launch, const PlannedLaunch& planned, const Way& way);
  [[nodiscard]] LaunchOutcome clear_collision(Launch& launch, const PlannedLaunch& planned, const Way& way);
  [[nodiscard]] LaunchOutcome find_nodes_that_do_not_start(const PlannedLaunch& planned, const Way& way,
                                                           LaunchOutcome outcome);
  void blame(const LaunchOutcome& outcome, const std::vector<NodeAutopsy>& nodes, const JobShape& shape);
  void set_aside(const std::string& node, const std::string& why);
  void settle(Task task, const std::vector<Bundle>& bundles, Launch& launch, const LaunchOutcome& outcome, int index);
  void settle_in_flight(const Bundle& bundle, Launch& launch, const LaunchOutcome& outcome, int index);
  void give_up(const std::vector<WorkItem>& items, const Finding& finding);
  [[nodiscard]] bool must_stop() const {
    return !report_.interrupted.empty() || results_.is_over_limit() || is_time_up();
  }
  [[nodiscard]] bool is_time_up() const { return options_.ends_at > 0 && monotonic_seconds() > options_.ends_at; }
  [[nodiscard]] Finding why_stopped() const;
  [[nodiscard]] std::vector<std::string> nodes_of(const JobShape& shape) const;

  const Plan& plan_;
  const LauncherSpec& launcher_;
  const LauncherIdentity& identity_;
  const SessionOptions& options_;
  RunReport& report_;
  CleanupProcess cleanup_;  // before anything that could start a thread
  Loop loop_;
  Results results_;
  std::vector<std::shared_ptr<Loop::SignalWatch>> signals_;
  std::deque<Task> queue_;
  std::map<std::string, int> blamed_;        ///< node -> times it was the culprit
  std::map<std::string, std::string> lost_;  ///< node -> why it is set aside
  std::map<std::string, int> line_starts_;   ///< of lines of the user's own, with the first, which had no case
  std::set<int> barred_;                     ///< cases that brought a launch down
};

Result<void> Session::run() {
  watch_signals();
  if (auto begun = results_.begin(); !begun) return begun;
  report_.launches.clear();  // what was planned; from here on what happens
  for (const LostNode& lost : options_.lost_nodes) {
    set_aside(lost.node, lost.why);
    results_.settle_node(lost);
  }
  for (const auto& launch : plan_.launches) queue_.push_back({launch, 0});
  const auto ticker = loop_.every(tick_s, [this] { results_.tick(); });
  while (!queue_.empty()) {
    auto task = std::move(queue_.front());
    queue_.pop_front();
    if (must_stop())
      give_up(task.launch.items, why_stopped());
    else
      carry_out(std::move(task));
  }
  results_.end();
  return {};
}

void Session::watch_signals() {
  for (const int signal : options_.ended_by)
    signals_.push_back(loop_.on_signal(signal, [this](int which) {
      if (report_.interrupted.empty()) report_.interrupted = std::string("SIG") + sigabbrev_np(which);
    }));
}

Finding Session::why_stopped() const {
  if (!report_.interrupted.empty())
    return {Verdict::unmeasured,
            fmt::format("not finished: the run was interrupted by {}", report_.interrupted),
            {},
            "run it again"};
  if (is_time_up())
    return {Verdict::unmeasured, "not finished: the time for all checks together was up", {}, "give it more time"};
  return {Verdict::unmeasured,
          fmt::format("not finished: --max-failures {} is reached", options_.max_failures),
          {},
          "repair what failed, or raise --max-failures"};
}

namespace {

/// Why a case can't be done without these nodes. A name that does not resolve is the job's fault, and no node's.
Finding gone_finding(const std::vector<std::string>& missed, const std::map<std::string, std::string>& why) {
  std::vector<std::string> lost;
  std::copy_if(missed.begin(), missed.end(), std::back_inserter(lost),
               [&](const std::string& node) { return !is_unresolved(why.at(node)); });
  if (lost.empty()) return unresolved(missed);
  Finding finding{Verdict::fail,
                  fmt::format("node lost: {} ({})", human_list(lost), why.at(lost[0])),
                  {},
                  "bring the node back or leave it out with --nodes",
                  Subject::node};
  for (const auto& node : lost) finding.culprits.push_back(node_culprit(node));
  return finding;
}

}  // namespace

void Session::give_up(const std::vector<WorkItem>& items, const Finding& finding) {
  for (const auto& item : items) results_.settle_unlaunched(item, finding);
}

std::vector<std::string> Session::nodes_of(const JobShape& shape) const {
  return shape.nodes.empty() ? std::vector<std::string>{host_name()} : shape.nodes;
}

/// Takes the nodes that are set aside out of the task; cases that can't do without them are settled here.
Task Session::without_lost_nodes(Task task) {
  std::vector<std::string> gone;
  auto& nodes = task.launch.shape.nodes;
  std::erase_if(nodes, [&](const std::string& node) {
    if (lost_.count(node) == 0) return false;
    gone.push_back(node);
    return true;
  });
  if (gone.empty()) return task;
  std::vector<WorkItem> kept;
  for (const auto& item : task.launch.items) {
    const auto& of = case_of(item);
    const bool is_of_one = !of.host.empty();
    const bool is_untouched = is_of_one && lost_.count(of.host) == 0;
    // The user's own line would start ranks on all of its nodes again.
    const bool can_do_without = task.launch.shape.line.empty() && !is_of_one && !nodes.empty() &&
                                of.min_nodes <= static_cast<int>(nodes.size());
    if (can_do_without)
      results_.note_case(item.case_index, fmt::format("without {}, set aside: {}", human_list(gone), lost_[gone[0]]));
    if (is_untouched || can_do_without) {
      kept.push_back(item);
      continue;
    }
    const auto missed = is_of_one ? std::vector<std::string>{of.host} : gone;
    results_.settle_unlaunched(item, gone_finding(missed, lost_));
  }
  task.launch.items = std::move(kept);
  return task;
}

/// What brought a launch down is not started again; nor are ranks on a node that has nothing left to do.
Task Session::without_barred_cases(Task task) {
  std::erase_if(task.launch.items, [&](const WorkItem& item) {
    if (barred_.count(item.case_index) == 0) return false;
    results_.settle_unlaunched(item, {Verdict::unmeasured,
                                      "not started again: an earlier repetition ended its launch",
                                      {},
                                      "see the repetition that failed"});
    return true;
  });
  const auto& items = task.launch.items;
  if (items.empty() || case_of(items.front()).host.empty()) return task;
  std::erase_if(task.launch.shape.nodes, [&](const std::string& node) {
    const bool is_lost = lost_.count(node) != 0;  // needed still, to settle what is missed
    return !is_lost &&
           std::none_of(items.begin(), items.end(), [&](const WorkItem& item) { return case_of(item).host == node; });
  });
  return task;
}

std::vector<Bundle> Session::bundles_of(const PlannedLaunch& planned) const {
  std::vector<Bundle> bundles;
  for (const auto& item : planned.items) {
    const auto is_with = [&](const WorkItem& other) {
      return !case_of(item).host.empty() && item.repetition == other.repetition &&
             common_id(case_of(item)) == common_id(case_of(other));
    };
    if (bundles.empty() || !is_with(bundles.back().front())) bundles.emplace_back();
    bundles.back().push_back(item);
  }
  return bundles;
}

LaunchOrder Session::order_of(const PlannedLaunch& planned, const std::vector<Bundle>& bundles, int index) const {
  LaunchOrder order;
  order.tag = make_launch_tag(fmt::format("{}-{}", report_.run_id, index + 1));
  order.shape = planned.shape;
  order.folder = options_.folder / "launches" / std::to_string(index + 1);
  for (const auto& bundle : bundles) {
    const auto& of = case_of(bundle.front());
    const int position = static_cast<int>(order.items.size());
    auto& item = order.items.emplace_back(
        JobItem{position, common_id(of), of.probe, dump(to_json(of.params)), folder_of(of.file)});
    if (!(of.node == no_expectations)) item.node = dump(to_json(of.node));
    item.timeout_s = of.timeout.value;
    order.timeouts.push_back(of.timeout.value);
    item.is_per_node = !of.host.empty();
    if (!item.is_per_node) continue;
    std::set<std::string> hosts;
    for (const auto& work : bundle) hosts.insert(case_of(work).host);
    for (const auto& node : planned.shape.nodes)
      if (hosts.count(node) == 0) item.not_on.push_back(node);
  }
  return order;
}

LaunchEvents Session::events_of(const std::vector<Bundle>& bundles, int index) {
  LaunchEvents events;
  events.on_world = [this, index](const World& world) { results_.world(index, world); };
  events.on_case_begin = [this, &bundles](int item) {
    for (const auto& work : bundles[static_cast<std::size_t>(item)]) results_.began(work);
  };
  events.on_case_end = [this, &bundles, index](int item, std::vector<Observation> observations, double seconds) {
    const auto& bundle = bundles[static_cast<std::size_t>(item)];
    const auto& work = bundle.front();
    if (!case_of(work).host.empty()) return results_.settle_on_nodes(bundle, index, observations, seconds);
    results_.settle({work.case_index, work.repetition, index, true, std::move(observations), {}, seconds});
  };
  return events;
}

Way Session::way_of(const JobShape& shape) const {
  if (shape.line.empty() || options_.lines == nullptr) return {launcher_, identity_, options_};
  const LineStart& start = options_.lines->at(shape.line);
  Way way{*start.launcher, start.identity, options_};
  way.options.line = &start.line;
  way.options.agent = start.agent;
  // What reaches the nodes of a job by one launcher does not by another.
  if (start.launcher != &launcher_) way.options.launcher_options.clear();
  return way;
}

void Session::carry_out(Task task) {
  task = without_lost_nodes(without_barred_cases(std::move(task)));
  if (task.launch.items.empty()) return;
  task.lost_nodes = lost_.size();

  const int index = static_cast<int>(report_.launches.size());
  const auto bundles = bundles_of(task.launch);
  auto order = order_of(task.launch, bundles, index);
  const Way way = way_of(task.launch.shape);
  ++line_starts_.try_emplace(task.launch.shape.line, 1).first->second;
  LaunchRecord record;
  record.launcher = way.title();
  record.nodes = nodes_of(task.launch.shape);
  record.ranks = task.launch.shape.ranks();
  std::set<int> listed;
  for (const auto& item : task.launch.items)
    if (listed.insert(item.case_index).second) record.cases.push_back(case_of(item).id);
  report_.launches.push_back(record);
  if (auto made = make_folder(order.folder); !made) results_.trouble(to_string(made.error()));

  if (const std::string note = note_for_root(way, task.launch.shape); !note.empty()) results_.note_once(note);
  const double began = monotonic_seconds();
  const CleanupProcess::InFlight in_flight(cleanup_, order.tag.tag);
  Launch launch(loop_, way.means(), std::move(order), events_of(bundles, index));
  results_.watch(&launch);
  LaunchOutcome outcome;
  bool has_lost_its_folder = false;
  if (auto obstacle = find_obstacle(way, task.launch.shape)) {
    outcome = {std::move(*obstacle), true};
  } else if (auto started = launch.start(); !started) {
    outcome = {{Verdict::error,
                to_string(started.error()),
                {{CulpritKind::launcher, std::string(way.launcher.name), "", -1}},
                "see muster doctor for what this node can launch"},
               true};
  } else {
    auto diagnosis = diagnosis_of(way);
    const auto stopped =
        await_launch(loop_, launch, diagnosis, inspection_of(launch, task.launch), [this] { return must_stop(); });
    has_lost_its_folder = launch.has_ended() && !launch.world() && task.collisions < most_collisions && !must_stop() &&
                          has_collided(launch.stderr_tail());
    if (has_lost_its_folder)
      outcome = clear_collision(launch, task.launch, way);
    else if (!launch.is_clean())
      outcome = examine(launch, task.launch, way, stopped);
    else
      outcome = of_clean(launch, task.launch, way);
    if (const std::string note = note_of_left_finalize(launch.stderr_text()); !note.empty()) {
      results_.note_once(note);
      if (launch.is_clean() && outcome.finding.reason.empty()) outcome = of_left_finalize(launch, task.launch, way);
    }
  }
  results_.watch(nullptr);
  auto& kept = report_.launches[static_cast<std::size_t>(index)];
  kept.argv = launch.argv();
  kept.seconds = monotonic_seconds() - began;
  kept.outcome = outcome.finding.reason.empty() ? "finished" : outcome.finding.reason;
  if (!launch.trouble().empty()) results_.trouble(launch.trouble());
  if (!has_lost_its_folder) return settle(std::move(task), bundles, launch, outcome, index);
  ++task.collisions;
  results_.notice(fmt::format("launching again: {}", kept.outcome));
  queue_.push_front(std::move(task));
}

LaunchDiagnosis Session::diagnosis_of(const Way& way) {
  return {loop_, {&way.launcher, way.identity, way.options.launcher_options, way.options.self}, way.options};
}

LaunchDiagnosis::Inspection Session::inspection_of(const Launch& launch, const PlannedLaunch& planned) const {
  LaunchDiagnosis::Inspection inspection;
  inspection.nodes = nodes_of(planned.shape);
  inspection.tag = launch.tag();
  inspection.ranks = planned.shape.ranks();
  inspection.case_id = launch.item() >= 0 ? results_.running() : "";
  inspection.is_per_node = !case_of(planned.items.front()).host.empty();
  inspection.folder = options_.folder / "launches" / std::to_string(report_.launches.size());
  return inspection;
}

/// Its daemons on other nodes may not have ended yet.
LaunchOutcome Session::clear_collision(Launch& launch, const PlannedLaunch& planned, const Way& way) {
  for (const auto& [node, why] : diagnosis_of(way).clear_away(launch, inspection_of(launch, planned)))
    set_aside(node, why);
  LaunchOutcome outcome;
  outcome.finding.reason = "another mpirun of this user removed the folder of Open MPI's files while it started";
  return outcome;
}

/// Its ranks may have finished without their daemon. Those that had not may be left.
LaunchOutcome Session::of_clean(Launch& launch, const PlannedLaunch& planned, const Way& way) {
  const LauncherNotice notice = launch.notice();
  if (!notice.is_about_a_node || notice.node.empty()) return {};
  for (const auto& [node, why] : diagnosis_of(way).clear_away(launch, inspection_of(launch, planned)))
    set_aside(node, why);
  return {{Verdict::fail,
           notice.sentence + "; its ranks had finished",
           {{CulpritKind::launcher, "daemon", notice.node, -1}},
           notice.remedy}};
}

/// Ranks left MPI_Finalize: by a defect of their MPI, or because a node was lost in the meantime.
LaunchOutcome Session::of_left_finalize(const Launch& launch, const PlannedLaunch& planned, const Way& way) {
  const std::vector<LostNode> lost = diagnosis_of(way).find_lost(launch, inspection_of(launch, planned));
  if (lost.empty()) return {};
  for (const LostNode& one : lost) set_aside(one.node, one.why);
  LaunchOutcome outcome{explain_lost(lost)};
  outcome.finding.reason += "; the ranks had ended all cases, and left MPI_Finalize";
  return outcome;
}

LaunchOutcome Session::examine(Launch& launch, const PlannedLaunch& planned, const Way& way,
                               const StoppedProcesses& stopped) {
  const auto& shape = planned.shape;
  LaunchDiagnosis diagnosis = diagnosis_of(way);
  LaunchDiagnosis::Inspection inspection = inspection_of(launch, planned);
  const bool has_ended = launch.has_ended();
  inspection.is_given_up = stopped.is_launcher || !stopped.nodes.empty();
  inspection.seen = stopped.nodes;
  if (stopped.is_launcher)
    inspection.launcher = ProcessState::stopped;
  else if (!inspection.is_given_up && !must_stop() && launch.refusal().empty() && !launch.wrong_names())
    diagnosis.look(launch, inspection);
  for (const auto& [node, why] : diagnosis.clear_away(launch, inspection)) set_aside(node, why);
  if (must_stop()) return {why_stopped(), false};
  auto outcome = diagnosis.diagnose(launch, inspection);
  if (outcome.may_be_a_nodes && inspection.cut_off.empty())
    outcome = find_nodes_that_do_not_start(planned, way, std::move(outcome));
  for (const LostNode& lost : inspection.cut_off)
    if (std::any_of(outcome.finding.culprits.begin(), outcome.finding.culprits.end(),
                    [&](const Culprit& culprit) { return culprit.node == lost.node; }))
      set_aside(lost.node, lost.why);
  if (!shape.line.empty())
    outcome.finding = explain_later_start(launch, inspection, std::move(outcome.finding),
                                          {line_starts_[shape.line], has_ended, way.options.agent,
                                           way.options.line != nullptr ? way.options.line->argv : Argv()});
  // Nodes can't be queried when the scheduler took them away, which is not a fault.
  const bool is_somebodys_fault = outcome.finding.verdict != Verdict::unmeasured;
  if (!outcome.is_total && is_somebodys_fault) blame(outcome, inspection.seen, shape);
  return outcome;
}

/// The launch died or hung while it started, for unknown reasons: groups of its nodes are started.
LaunchOutcome Session::find_nodes_that_do_not_start(const PlannedLaunch& planned, const Way& way,
                                                    LaunchOutcome outcome) {
  const auto nodes = nodes_of(planned.shape);
  if (nodes.size() < 2 || !planned.shape.line.empty()) return outcome;
  results_.notice(fmt::format("starting groups of the {} nodes, to find those that keep the launch from starting: {}",
                              nodes.size(), outcome.finding.reason));
  const StartTrials trials{loop_,
                           way.means(),
                           cleanup_,
                           planned.shape,
                           make_launch_tag(fmt::format("{}-{}", report_.run_id, report_.launches.size())).tag,
                           options_.folder / "launches" / fmt::format("{}-start", report_.launches.size()),
                           [this] { return must_stop(); }};
  return try_starts(trials, std::move(outcome));
}

/// Counts culprits per node and sets nodes aside: those that don't answer or on which no rank can start at once, the
/// others the second time, unless strict.
void Session::blame(const LaunchOutcome& outcome, const std::vector<NodeAutopsy>& nodes, const JobShape& shape) {
  for (const auto& node : nodes)
    if (!node.answered) set_aside(node.node, "does not answer: " + node.error);
  std::set<std::string> named;
  for (const auto& culprit : outcome.finding.culprits)
    if (!culprit.node.empty()) named.insert(culprit.node);
  // On the only node there is nothing else to turn to: its other cases are still worth measuring. So it is where all
  // nodes are to blame: they are slow together, or what they do is.
  if (shape.node_count() < 2 || static_cast<int>(named.size()) >= shape.node_count()) return;
  const bool forgives = options_.forgives_once && !outcome.is_certain;
  const int most = forgives ? 2 : 1;
  const std::string why = outcome.is_certain ? outcome.finding.reason
                          : forgives         ? "it was the culprit twice"
                                             : "it was the culprit";
  for (const auto& node : named)
    if (++blamed_[node] >= most) set_aside(node, why);
}

void Session::set_aside(const std::string& node, const std::string& why) {
  if (!lost_.emplace(node, why).second) return;
  results_.notice(fmt::format("{} is set aside: {}", node, why));
}

/// The case in flight fails, and is not started again. Of a case on many nodes that is so on those at fault; the others
/// have waited for them in vain, and go back into the queue.
void Session::settle_in_flight(const Bundle& bundle, Launch& launch, const LaunchOutcome& outcome, int index) {
  const auto is_named = [&](const WorkItem& work) {
    const auto& culprits = outcome.finding.culprits;
    return std::any_of(culprits.begin(), culprits.end(), [&](const Culprit& culprit) {
      return culprit.kind != CulpritKind::launcher && !culprit.node.empty() &&
             is_same_node(culprit.node, case_of(work).host);
    });
  };
  const bool is_somebody = std::any_of(bundle.begin(), bundle.end(), is_named);
  const bool is_per_node = !case_of(bundle.front()).host.empty();
  for (const auto& work : bundle) {
    if (is_somebody && !is_named(work)) continue;
    results_.settle({work.case_index,
                     work.repetition,
                     index,
                     false,
                     is_per_node ? std::vector<Observation>{} : std::move(launch.partial()),
                     {outcome.finding},
                     launch.stage_elapsed_s()});
    barred_.insert(work.case_index);
  }
}

/// Files what a launch left undone: the case in flight fails, the rest goes back into the queue.
void Session::settle(Task task, const std::vector<Bundle>& bundles, Launch& launch, const LaunchOutcome& outcome,
                     int index) {
  const auto done = [&](const WorkItem& item) { return results_.is_settled(item); };
  const auto before = task.launch.items.size();
  const int in_flight = launch.item();
  if (in_flight >= 0) settle_in_flight(bundles[static_cast<std::size_t>(in_flight)], launch, outcome, index);
  std::erase_if(task.launch.items, done);
  if (outcome.finding.reason.empty() && task.launch.items.empty()) return;
  if (must_stop()) return give_up(task.launch.items, why_stopped());
  if (outcome.is_total) {
    if (task.launch.items.empty()) results_.settle_launch(index, outcome.finding);
    return give_up(task.launch.items, outcome.finding);
  }
  if (in_flight < 0) results_.settle_launch(index, outcome.finding);
  if (task.launch.items.empty()) return;
  // Without a node that was in it, the next launch is another one.
  const bool has_come_further = task.launch.items.size() < before || lost_.size() > task.lost_nodes;
  task.fruitless = has_come_further ? 0 : task.fruitless + 1;
  if (task.fruitless >= most_fruitless)
    return give_up(task.launch.items, {Verdict::unmeasured,
                                       fmt::format("never started: {} launches in a row failed; the last one: {}",
                                                   task.fruitless, outcome.finding.reason),
                                       outcome.finding.culprits, outcome.finding.remedy});
  const auto left = task.launch.items.size();
  results_.notice(left == 1 ? "launching the remaining case again"
                            : fmt::format("launching the remaining {} cases again", left));
  queue_.push_front(std::move(task));
}

}  // namespace

Result<void> run_session(const Plan& plan, const LaunchMeans& means, const std::vector<ReporterSink>& sinks,
                         RunReport& report) {
  return Session(plan, means, sinks, report).run();
}

}  // namespace muster
