#include "run/session.hpp"

#include <algorithm>
#include <csignal>
#include <deque>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "evaluate/evaluate.hpp"
#include "model/json.hpp"
#include "run/autopsy.hpp"
#include "run/launch.hpp"
#include "run/reach.hpp"
#include "run/results.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr double tick_s = 0.1;
constexpr int most_fruitless = 2;  // launches in a row that finished no case

/// A launch still to be made.
struct Task {
  PlannedLaunch launch;
  int fruitless = 0;
};

/// What is wrong with a launch, and whose fault it is.
struct Damage {
  Finding finding;
  bool is_total = false;  ///< launching again can't help: launcher missing, agent of another MPI
};

Culprit launcher_culprit(const std::string& name) {
  return {CulpritKind::launcher, name, "", -1};
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("signal {} (SIG{})", signal, name);
}

class Session {
 public:
  Session(const Plan& plan, const LauncherSpec& launcher, const LauncherIdentity& identity,
          const SessionOptions& options, const std::vector<ReporterSink>& sinks, RunReport& report)
      : plan_(plan),
        launcher_(launcher),
        identity_(identity),
        options_(options),
        report_(report),
        reach_{&launcher, identity, options.launcher_options, options.self},
        results_(plan, options, sinks, report) {}

  [[nodiscard]] Result<void> run();

 private:
  void watch_signals();
  void carry_out(Task task);
  [[nodiscard]] Task without_lost_nodes(Task task);
  [[nodiscard]] LaunchOrder order_of(const PlannedLaunch& planned, int index) const;
  [[nodiscard]] LaunchEvents events_of(const PlannedLaunch& planned, int index);
  void supervise(Launch& launch);
  [[nodiscard]] std::vector<NodeAutopsy> autopsy(const JobShape& shape, const std::string& tag);
  void clear_away(Launch& launch, const JobShape& shape, const std::string& tag, const std::vector<NodeAutopsy>& nodes);
  [[nodiscard]] Damage examine(Launch& launch, const JobShape& shape, const std::string& tag);
  [[nodiscard]] Finding refused_by_launcher(const Launch& launch, const std::string& program) const;
  [[nodiscard]] Damage diagnose(Launch& launch, std::vector<NodeAutopsy> nodes);
  void blame(const Finding& finding, const std::vector<NodeAutopsy>& nodes, const JobShape& shape);
  void set_aside(const std::string& node, const std::string& why);
  void settle(Task task, Launch& launch, const Damage& damage, int index);
  void give_up(const std::vector<WorkItem>& items, const Finding& finding);
  [[nodiscard]] bool must_stop() const { return !report_.interrupted.empty() || results_.is_over_limit(); }
  [[nodiscard]] Finding why_stopped() const;
  [[nodiscard]] std::vector<std::string> nodes_of(const JobShape& shape) const;

  const Plan& plan_;
  const LauncherSpec& launcher_;
  const LauncherIdentity& identity_;
  const SessionOptions& options_;
  RunReport& report_;
  Reach reach_;
  Loop loop_;
  Results results_;
  std::vector<std::shared_ptr<Loop::SignalWatch>> signals_;
  std::deque<Task> queue_;
  std::map<std::string, int> blamed_;        ///< node -> times it was the culprit
  std::map<std::string, std::string> lost_;  ///< node -> why it is set aside
  std::set<int> barred_;                     ///< cases that brought a launch down
};

Result<void> Session::run() {
  watch_signals();
  if (auto begun = results_.begin(); !begun) return begun;
  report_.launches.clear();  // what was planned; from here on what happens
  for (const auto& [node, why] : options_.lost_nodes) {
    set_aside(node, why);
    results_.settle_node(node, why);
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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
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
  return {Verdict::unmeasured,
          fmt::format("not finished: --max-failures {} is reached", options_.max_failures),
          {},
          "mend what failed, or raise --max-failures"};
}

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
    const auto& of = plan_.cases[static_cast<std::size_t>(item.case_index)];
    if (!nodes.empty() && of.min_nodes <= static_cast<int>(nodes.size())) {
      results_.note_case(item.case_index, fmt::format("without {}, set aside: {}", human_list(gone), lost_[gone[0]]));
      kept.push_back(item);
      continue;
    }
    Finding finding{Verdict::fail,
                    fmt::format("node lost: {} ({})", human_list(gone), lost_[gone[0]]),
                    {},
                    "bring the node back or leave it out with --nodes"};
    for (const auto& node : gone) finding.culprits.push_back({CulpritKind::node, node, node, -1});
    results_.settle_unlaunched(item, finding);
  }
  task.launch.items = std::move(kept);
  return task;
}

LaunchOrder Session::order_of(const PlannedLaunch& planned, int index) const {
  LaunchOrder order;
  order.tag = fmt::format("{}-{}-{}", report_.run_id, index + 1, random_hex(3));
  order.shape = planned.shape;
  order.folder = options_.folder / "launches" / std::to_string(index + 1);
  for (const auto& item : planned.items) {
    const auto& of = plan_.cases[static_cast<std::size_t>(item.case_index)];
    const int position = static_cast<int>(order.items.size());
    order.items.push_back({position, of.id, of.probe, dump(to_json(of.params))});
    order.timeouts.push_back(of.timeout.value);
  }
  return order;
}

LaunchEvents Session::events_of(const PlannedLaunch& planned, int index) {
  LaunchEvents events;
  events.on_world = [this, index](const World& world) { results_.world(index, world); };
  events.on_case_begin = [this, &planned](int item) { results_.began(planned.items[static_cast<std::size_t>(item)]); };
  events.on_case_end = [this, &planned, index](int item, std::vector<Observation> observations, double seconds) {
    const auto& work = planned.items[static_cast<std::size_t>(item)];
    results_.settle({work.case_index, work.repetition, index, true, std::move(observations), {}, seconds});
  };
  return events;
}

void Session::supervise(Launch& launch) {
  loop_.run_until([&] { return launch.is_over() || must_stop(); });
}

void Session::carry_out(Task task) {
  std::erase_if(task.launch.items, [&](const WorkItem& item) {
    if (barred_.count(item.case_index) == 0) return false;
    results_.settle_unlaunched(item, {Verdict::unmeasured,
                                      "not started again: an earlier repetition brought its launch down",
                                      {},
                                      "see the repetition that failed"});
    return true;
  });
  task = without_lost_nodes(std::move(task));
  if (task.launch.items.empty()) return;

  const int index = static_cast<int>(report_.launches.size());
  auto order = order_of(task.launch, index);
  const auto tag = order.tag;
  LaunchRecord record;
  record.launcher =
      identity_.banner.empty() ? std::string(launcher_.name) : fmt::format("{} ({})", launcher_.name, identity_.banner);
  record.nodes = nodes_of(task.launch.shape);
  record.ranks = task.launch.shape.ranks();
  for (const auto& item : order.items)
    if (record.cases.empty() || record.cases.back() != item.case_id) record.cases.push_back(item.case_id);
  report_.launches.push_back(record);
  if (auto made = make_folder(order.folder); !made) results_.trouble(to_string(made.error()));

  const double began = monotonic_seconds();
  Launch launch(loop_, launcher_, identity_, options_, std::move(order), events_of(task.launch, index));
  results_.watch(&launch);
  Damage damage;
  if (auto started = launch.start(); !started) {
    damage = {{Verdict::error,
               to_string(started.error()),
               {launcher_culprit(std::string(launcher_.name))},
               "see muster doctor for what this node can launch"},
              true};
  } else {
    supervise(launch);
    if (!launch.is_clean()) damage = examine(launch, task.launch.shape, tag);
  }
  results_.watch(nullptr);
  auto& kept = report_.launches[static_cast<std::size_t>(index)];
  kept.argv = launch.argv();
  kept.seconds = monotonic_seconds() - began;
  kept.outcome = damage.finding.reason.empty() ? "finished" : damage.finding.reason;
  if (!launch.trouble().empty()) results_.trouble(launch.trouble());
  settle(std::move(task), launch, damage, index);
}

std::vector<NodeAutopsy> Session::autopsy(const JobShape& shape, const std::string& tag) {
  std::vector<NodeAutopsy> found;
  std::vector<std::string> away;
  for (const auto& node : nodes_of(shape)) {
    if (!is_this_node(node)) {
      away.push_back(node);
      continue;
    }
    found.push_back(look_at_this_node(tag));
    found.back().node = node;
  }
  if (away.empty()) return found;
  for (auto& answer : ask_nodes(loop_, reach_, away, {"autopsy", "--tag", tag}, options_.deadlines.autopsy_s)) {
    NodeAutopsy seen;
    if (answer.answered) {
      auto parsed = node_autopsy_from_json(nlohmann::json::parse(last_object(answer.out), nullptr, false));
      if (parsed)
        seen = std::move(*parsed);
      else
        answer.error = "its answer could not be read: " + parsed.error().what;
      seen.answered = parsed.has_value();
    }
    seen.node = answer.node;
    if (!seen.answered) seen.error = answer.error;
    found.push_back(std::move(seen));
  }
  return found;
}

/// Ends launcher and ranks, and removes what they left on the nodes that answer.
void Session::clear_away(Launch& launch, const JobShape& shape, const std::string& tag,
                         const std::vector<NodeAutopsy>& nodes) {
  const double grace = options_.deadlines.grace_s;
  launch.stop(grace);
  std::vector<std::string> answering;
  for (const auto& node : nodes)
    if (node.answered) answering.push_back(node.node);
  if (nodes.empty()) answering = nodes_of(shape);
  const auto answers =
      ask_nodes(loop_, reach_, answering, {"clean", "--tag", tag, "--grace", fmt::format("{}", grace)}, grace + 4);
  for (const auto& answer : answers) {
    if (!answer.answered) continue;
    std::vector<std::string> survivors;
    for (const auto line : lines(answer.out))
      if (!line.empty() && line.find_first_not_of("0123456789") == std::string_view::npos) survivors.emplace_back(line);
    if (!survivors.empty()) set_aside(answer.node, fmt::format("process {} can't be ended", human_list(survivors)));
  }
  const auto wake = loop_.after(grace + 2, [] {});
  const double until = monotonic_seconds() + grace + 2;
  loop_.run_until([&] { return launch.has_ended() || monotonic_seconds() > until; });
}

Damage Session::examine(Launch& launch, const JobShape& shape, const std::string& tag) {
  std::vector<NodeAutopsy> nodes;
  if (!must_stop() && launch.refusal().empty()) nodes = autopsy(shape, tag);
  clear_away(launch, shape, tag, nodes);
  if (must_stop()) return {why_stopped(), false};
  auto damage = diagnose(launch, nodes);
  if (!damage.is_total) blame(damage.finding, nodes, shape);
  return damage;
}

/// The launcher ended before any rank was there: it did not like what it was asked.
Finding Session::refused_by_launcher(const Launch& launch, const std::string& program) const {
  const auto text = launch.stderr_tail();
  std::string said;
  for (const auto line : lines(text))
    if (const auto one = trim(line); said.empty() && one.size() > 3 && one.find_first_not_of("-=*") != one.npos)
      said = printable_line(one, 160);
  return {Verdict::error,
          fmt::format("{} ended with status {} before any rank was there{}", program, launch.end()->shell_status(),
                      said.empty() ? "" : ": " + said),
          {launcher_culprit(program)},
          fmt::format("all that it said is in {}; try its command line by hand",
                      (options_.folder / "launches" / std::to_string(report_.launches.size()) / "stderr").string())};
}

Damage Session::diagnose(Launch& launch, std::vector<NodeAutopsy> nodes) {
  const auto program = std::string(launcher_.name);
  if (!launch.refusal().empty())
    return {{Verdict::error, launch.refusal(), {launcher_culprit(program)}, launch.refusal_remedy()}, true};
  Wreck wreck;
  wreck.cause = launch.is_past_deadline() ? Wreck::Cause::deadline : Wreck::Cause::launch_ended;
  wreck.stage = std::string(to_string(launch.stage()));
  wreck.deadline_s = launch.stage_deadline_s();
  if (launch.item() >= 0) wreck.case_id = results_.running();
  wreck.ranks_expected = report_.launches.back().ranks;
  wreck.nodes = std::move(nodes);
  if (wreck.cause == Wreck::Cause::launch_ended && launch.end()) {
    wreck.notice = launch.notice();
    wreck.launcher_status = launch.end()->shell_status();
    if (launch.end()->signal != 0)
      return {{Verdict::error,
               fmt::format("the launcher {} was ended by {} during {}", program, signal_text(launch.end()->signal),
                           wreck.stage == "case" ? wreck.case_id : wreck.stage),
               {launcher_culprit(program)},
               "see who ended it; the ranks it had started are gone with it"},
              false};
    const bool names_a_rank = wreck.notice.rank || wreck.notice.signal;
    if (launch.stage() == LaunchStage::start_up && !wreck.notice.sentence.empty() && !names_a_rank)
      return {{Verdict::error, wreck.notice.sentence, {launcher_culprit(program)}, wreck.notice.remedy}, true};
    const bool none_started = std::all_of(wreck.nodes.begin(), wreck.nodes.end(),
                                          [](const NodeAutopsy& node) { return node.answered && node.ranks.empty(); });
    if (launch.stage() == LaunchStage::start_up && none_started && !names_a_rank)
      return {refused_by_launcher(launch, program), true};
  }
  return {explain(wreck), false};
}

/// Counts culprits per node and sets nodes aside: those that don't answer at once, the others the second time.
void Session::blame(const Finding& finding, const std::vector<NodeAutopsy>& nodes, const JobShape& shape) {
  for (const auto& node : nodes)
    if (!node.answered) set_aside(node.node, "does not answer: " + node.error);
  std::set<std::string> named;
  for (const auto& culprit : finding.culprits)
    if (!culprit.node.empty()) named.insert(culprit.node);
  // On the only node there is nothing else to turn to: its other cases are still worth measuring.
  if (shape.node_count() < 2) return;
  for (const auto& node : named)
    if (++blamed_[node] >= 2) set_aside(node, "it was the culprit twice");
}

void Session::set_aside(const std::string& node, const std::string& why) {
  if (!lost_.emplace(node, why).second) return;
  results_.notice(fmt::format("{} is set aside: {}", node, why));
}

/// Files what a launch left undone: the case in flight fails, the rest goes back into the queue.
void Session::settle(Task task, Launch& launch, const Damage& damage, int index) {
  const auto done = [&](const WorkItem& item) { return results_.is_settled(item); };
  const auto before = task.launch.items.size();
  const int in_flight = launch.item();
  if (in_flight >= 0) {
    const auto work = task.launch.items[static_cast<std::size_t>(in_flight)];
    results_.settle({work.case_index,
                     work.repetition,
                     index,
                     false,
                     std::move(launch.partial()),
                     {damage.finding},
                     launch.stage_elapsed_s()});
    barred_.insert(work.case_index);
  }
  std::erase_if(task.launch.items, done);
  if (damage.finding.reason.empty() && task.launch.items.empty()) return;
  if (must_stop()) return give_up(task.launch.items, why_stopped());
  if (damage.is_total) return give_up(task.launch.items, damage.finding);
  if (in_flight < 0) results_.settle_launch(index, damage.finding);
  if (task.launch.items.empty()) return;
  task.fruitless = task.launch.items.size() < before ? 0 : task.fruitless + 1;
  if (task.fruitless >= most_fruitless)
    return give_up(task.launch.items, {Verdict::unmeasured,
                                       fmt::format("never started: {} launches in a row failed; the last one: {}",
                                                   task.fruitless, damage.finding.reason),
                                       damage.finding.culprits, damage.finding.remedy});
  const auto left = task.launch.items.size();
  results_.notice(left == 1 ? "launching the remaining case again"
                            : fmt::format("launching the remaining {} cases again", left));
  queue_.push_front(std::move(task));
}

}  // namespace

Result<void> run_session(const Plan& plan, const LauncherSpec& launcher, const LauncherIdentity& identity,
                         const SessionOptions& options, const std::vector<ReporterSink>& sinks, RunReport& report) {
  return Session(plan, launcher, identity, options, sinks, report).run();
}

}  // namespace muster
