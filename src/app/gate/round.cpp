#include "app/gate/round.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "app/gate/connections.hpp"
#include "app/inputs/lines.hpp"
#include "app/inputs/session_setup.hpp"
#include "app/runs/outputs.hpp"
#include "base/clock.hpp"
#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "run/session.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr double least_round_s = 5;  // another launch is not worth starting with less
/// A node slower than this with every partner is slow, however processors are shared: fraction of the typical speed.
constexpr double least_share = 1.0 / 3;
/// Slow with so many is not by chance: a node with fewer partners is measured again before it is at fault.
constexpr std::size_t enough_partners = 3;

/// Nothing that hangs may take all of the time.
void tighten_deadlines(SessionOptions& session, const GateTime& time) {
  auto& deadlines = session.deadlines;
  deadlines.startup_s = std::min(deadlines.startup_s, 0.4 * time.deadline_s);
  deadlines.gap_s = 5;
  deadlines.finish_s = 8;  // ranks that leave MPI_Finalize need 6.5 s (run/stuck_finalize.cpp)
  deadlines.autopsy_s = 3;
  deadlines.grace_s = 1;
  session.ends_at = time.measuring_ends_at();
  session.forgives_once = false;
}

void tighten_deadlines(Plan& plan, const GateTime& time) {
  for (Case& item : plan.cases) item.timeout.value = std::min(item.timeout.value, time.deadline_s / 3);
}

std::vector<std::string> ids_of(const Plan& plan) {
  std::vector<std::string> ids;
  for (const Case& item : plan.cases) ids.push_back(item.id);
  return ids;
}

/// A line of the user's own may already have the sizes of the job: without the spare nodes.
void report_job_size(Plan& plan, std::size_t need) {
  for (Case& item : plan.cases)
    if (item.probe == "environment" && !item.shape.line.empty())
      item.params.set("job_nodes", {ParamType::integer, {static_cast<std::int64_t>(need)}});
}

/// Cases that judge the line that starts their ranks.
std::set<std::string> line_cases(const Plan& plan) {
  std::set<std::string> ids;
  for (const Case& item : plan.cases)
    if (!item.shape.line.empty() && is_in("line", item.tags)) ids.insert(item.id);
  return ids;
}

/// The cases `open` of a plan, on these of its nodes.
Plan narrowed(const Plan& plan, const std::vector<std::string>& nodes, const std::vector<std::string>& open) {
  Plan narrow = plan;
  narrow.cases.clear();
  std::vector<int> places(plan.cases.size(), -1);
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& item = plan.cases[i];
    const bool is_wanted = is_in(item.id, open);
    if (!is_wanted || !item.unable.empty() || item.min_nodes > static_cast<int>(nodes.size())) continue;
    places[i] = static_cast<int>(narrow.cases.size());
    narrow.cases.push_back(item);
    narrow.cases.back().shape.nodes = nodes;
  }
  for (PlannedLaunch& launch : narrow.launches) {
    launch.shape.nodes = nodes;
    std::erase_if(launch.items,
                  [&](const WorkItem& item) { return places[static_cast<std::size_t>(item.case_index)] < 0; });
    for (WorkItem& item : launch.items) item.case_index = places[static_cast<std::size_t>(item.case_index)];
  }
  std::erase_if(narrow.launches, [](const PlannedLaunch& launch) { return launch.items.empty(); });
  return narrow;
}

class Gate {
 public:
  Gate(const RunOptions& options, Prepared prepared, std::size_t need, GateTime time)
      : options_(options), prepared_(std::move(prepared)), need_(need), time_(time) {
    outcome_.nodes = prepared_.found.site.nodes;
    if (outcome_.nodes.empty()) outcome_.nodes = {host_name()};
    report_job_size(prepared_.plan, need);
    // An explicit timeout of a case overrides the share of the deadline.
    if (options.choose.timeout.empty()) tighten_deadlines(prepared_.plan, time);
  }

  [[nodiscard]] GateOutcome pass() {
    const auto ids = ids_of(prepared_.plan);
    auto nodes = outcome_.nodes;
    Plan plan = prepared_.plan;
    while (!plan.cases.empty()) {
      if (!measure(plan)) break;
      choose(ids);
      const auto before = nodes.size();
      const auto again = slow_once();
      std::erase_if(nodes, [&](const std::string& node) { return is_at_fault(node) && again.count(node) == 0; });
      auto open = open_cases(reports_, nodes, ids);
      if (set_aside(nodes) || !again.empty())
        for (std::string& id : connection_cases(reports_)) open.push_back(std::move(id));
      const bool moves_rank_0 = move_rank_0(nodes, ids);
      // The user's own line starts ranks on all of its nodes again.
      if (has_line(plan)) break;
      const bool helps =
          (nodes.size() < before || !again.empty()) && (nodes.size() >= need_ || moves_rank_0) && !open.empty();
      if (!outcome_.chosen.empty() || !outcome_.interrupted.empty() || !helps || time_.left_s() < least_round_s) break;
      plan = narrowed(prepared_.plan, nodes, open);
      repeated_.insert(again.begin(), again.end());
    }
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] bool is_at_fault(const std::string& node) const {
    return std::any_of(outcome_.statuses.begin(), outcome_.statuses.end(),
                       [&](const NodeStatus& one) { return one.node == node && one.is_at_fault; });
  }

  /// One run, with a folder of its own.
  bool measure(const Plan& plan) {
    auto report = run_header(options_, prepared_.system);
    auto folder = RunFolder::make(options_, report);
    if (!folder) return fails(folder.error());
    const auto made = folder->make_inside("launches");
    // Standard output is the command's.
    auto outputs =
        Outputs::open({fmt::format("console={}", (folder->path() / "report.txt").string())}, {"never"}, folder->path());
    if (!made || !outputs) {
      folder->give_back();
      return fails(made ? outputs.error() : made.error());
    }
    keep_line_folders(prepared_.found, folder->path() / "launches");
    report.launches = planned_launches(prepared_);
    folder->link();
    auto session = session_options(options_, prepared_, report);
    tighten_deadlines(session, time_);
    session.ended_by = held_.ends();
    if (reports_.empty()) session.began = time_.began;
    const auto done =
        run_session(plan, {*prepared_.found.launcher, prepared_.found.identity, session}, outputs->sinks(), report);
    if (!done) {
      folder->give_back();
      return fails(done.error());
    }
    // Printed once: later runs no longer have these nodes.
    prepared_.found.lost_nodes.clear();
    outcome_.folders.push_back(report.folder);
    outcome_.interrupted = report.interrupted;
    outcome_.simulated = report.simulated;
    outcome_.variables = report.variables;
    reports_.push_back(std::move(report));
    return true;
  }

  bool fails(const Error& error) {
    if (reports_.empty()) outcome_.error = error;
    return false;
  }

  /// The rates of pairs of nodes show nodes that are slow with all partners, also where ranks share cores and probes do
  /// not judge speed.
  void mark_slow(std::vector<NodeStatus>& statuses, const NodeConnections& connections) {
    const auto far = out_of_touch(connections, least_share);
    const auto mark = [&](std::size_t node, bool is_sure) {
      NodeStatus& one = statuses[node];
      if (!one.is_good) return;
      one.is_good = false;
      one.is_at_fault = is_sure;
      one.check = "connections";
      const auto partners = printable_line(compress_hostlist(partners_of(connections, node)), 200);
      one.reason = fmt::format(
          "reaches at most {} with {}; the usual node reaches {}", format_value(*connections.best_of(node), "GB/s"),
          is_sure ? "every other node that it was tried with" : partners + ", and was tried with no other",
          format_value(*usual_best(connections), "GB/s"));
      one.remedy =
          is_sure ? "look at that node's network adapter, its cable and its driver, and keep it out of jobs until then"
                  : "look at their network adapters, or measure them with others: muster run -n p2p";
    };
    slow_.clear();
    for (const std::size_t node : far.slow) {
      const std::string& name = outcome_.nodes[node];
      slow_.insert(name);
      mark(node, repeated_.count(name) > 0 || partners_of(connections, node).size() >= enough_partners);
    }
    unclear_.clear();
    for (const std::size_t node : far.unclear) {
      mark(node, false);
      unclear_.push_back({outcome_.nodes[node], partners_of(connections, node)});
    }
  }

  /// Slow by their connections alone, and measured once: what else uses a link or its processors passes. Another
  /// measurement shows it; it is worth its time where these nodes are needed.
  [[nodiscard]] std::set<std::string> slow_once() const {
    std::set<std::string> once;
    for (const NodeStatus& one : outcome_.statuses)
      if (one.check == "connections" && slow_.count(one.node) > 0 && repeated_.count(one.node) == 0)
        once.insert(one.node);
    return once;
  }

  [[nodiscard]] std::vector<std::string> partners_of(const NodeConnections& connections, std::size_t node) const {
    std::vector<std::string> partners;
    for (std::size_t other = 0; other < outcome_.nodes.size(); ++other)
      if (connections.between(node, other)) partners.push_back(outcome_.nodes[other]);
    return partners;
  }

  /// Who is it, of two that are slow with each other? The one that stays slow when it is tried with others. False when
  /// no node is excluded for that.
  bool set_aside(std::vector<std::string>& nodes) const {
    std::set<std::string> aside;
    for (const auto& [node, partners] : unclear_)
      if (aside.count(node) == 0) aside.insert(partners.begin(), partners.end());
    return std::erase_if(nodes, [&](const std::string& node) { return aside.count(node) > 0; }) > 0;
  }

  /// Once: a mistake of rank 0 alone moves with rank 0, or stays with its node. False where no node is left to try.
  bool move_rank_0(std::vector<std::string>& nodes, const std::vector<std::string>& ids) {
    const auto aside = nodes_of_rank_0_to_leave_out(reports_, outcome_.nodes, ids);
    if (has_moved_rank_0_ || aside.empty() || nodes.size() <= aside.size()) return false;
    has_moved_rank_0_ = true;
    return std::erase_if(nodes, [&](const std::string& node) { return aside.count(node) > 0; }) > 0;
  }

  void choose(const std::vector<std::string>& ids) {
    auto statuses = assess_nodes(reports_, outcome_.nodes, ids, line_cases(prepared_.plan));
    const auto connections = connections_of(reports_, outcome_.nodes);
    mark_slow(statuses.nodes, connections);
    std::vector<std::size_t> good;
    for (std::size_t i = 0; i < statuses.nodes.size(); ++i)
      if (statuses.nodes[i].is_good) good.push_back(i);
    const auto best = well_connected(connections, good, statuses.apart, need_);
    outcome_.statuses = std::move(statuses.nodes);
    outcome_.unjudged = std::move(statuses.unjudged);
    outcome_.chosen.clear();
    outcome_.spare.clear();
    outcome_.kept_apart = best.size() < need_ ? good.size() - best.size() : 0;
    for (const std::size_t node : good) {
      const bool is_chosen = best.size() == need_ && is_in(node, best);
      (is_chosen ? outcome_.chosen : outcome_.spare).push_back(outcome_.nodes[node]);
    }
  }

  const RunOptions& options_;
  Prepared prepared_;
  std::size_t need_;
  GateTime time_;
  const SignalsHeld held_;
  std::vector<RunReport> reports_;
  bool has_moved_rank_0_ = false;
  std::set<std::string> slow_;                                             ///< slow with every partner
  std::set<std::string> repeated_;                                         ///< of them: what was measured again
  std::vector<std::pair<std::string, std::vector<std::string>>> unclear_;  ///< a node, and whom alone it was tried with
  GateOutcome outcome_;
};

}  // namespace

double GateTime::measuring_ends_at() const {
  return began + deadline_s - std::min(8.0, 0.25 * deadline_s);
}

double GateTime::left_s() const {
  return measuring_ends_at() - monotonic_seconds();
}

GateOutcome pass_gate(const RunOptions& options, Prepared prepared, std::size_t need, GateTime time) {
  return Gate(options, std::move(prepared), need, time).pass();
}

}  // namespace muster
