// Actions on nodes: asks the batch system, plans (run/node_actions.hpp), records, does, and looks at what came of it.
#include "run/node_actions.hpp"

#include <cstdlib>
#include <fmt/format.h>

#include "app/inputs/load.hpp"
#include "app/runs/action_lines.hpp"
#include "app/runs/node_service.hpp"
#include "app/runs/scheduled_run.hpp"
#include "app/runs/scheduled_run_record.hpp"
#include "base/files.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "run/owner_tag.hpp"

namespace muster {

namespace {

constexpr double deadline_s = 30;
constexpr int most_drained = 2;

void announce(const std::vector<LeftAlone>& left, ActionLines& lines) {
  const auto most = lines.most_left_alone();
  for (std::size_t i = 0; i < left.size() && i < most; ++i)
    lines.say("{} is left as it is: {}", left[i].node, left[i].why);
  if (left.size() > most) lines.say("and {} more", left.size() - most);
}

/// One conversation with the batch system about the nodes of one report.
class Acting {
 public:
  Acting(const SchedulerSpec& scheduler, const RunReport& report, const RunOptions& options)
      : scheduler_(scheduler), report_(report), run_(options), options_(options.night), lines_(options.quiet) {}

  /// False: something could not be done.
  bool carry_out() {
    if (const auto refusal = refuse_all(report_); !refusal.empty()) {
      lines_.say("{}", refusal);
      return true;
    }
    const auto nodes = ask({});
    if (!nodes) return trouble("nothing was done to nodes", nodes.error());
    const auto plan = plan_actions(report_, *nodes, request());
    if (!plan.refusal.empty()) lines_.say("{}", plan.refusal);
    announce(plan.left_alone, lines_);
    carry_out(plan.actions, *nodes);
    if (!drained_.empty()) keep_to_the_cap();
    return is_well_;
  }

 private:
  /// Until one goes wrong: what does not come out as it was meant is not tried on further nodes.
  void carry_out(const std::vector<WantedAction>& actions, const std::vector<NodeService>& nodes) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const auto& action = actions[i];
      if (options_.dry_run_actions) {
        lines_.say("would {} {}: {}", to_string(action.kind), action.node, shell_line(argv(action)));
      } else if (!act(action, nodes)) {
        if (const auto left = actions.size() - i - 1; left > 0)
          lines_.say("{} not tried", counted(left, "further action"));
        return;
      }
    }
  }

  ActionRequest request() const { return {!options_.on_fail.empty(), !options_.on_pass.empty(), most()}; }

  int most() const { return options_.max_drain.value_or(most_drained); }

  Argv argv(const WantedAction& action) const {
    return action.kind == ActionKind::drain ? scheduler_.drain(action.node, action.reason)
                                            : scheduler_.resume(action.node);
  }

  bool trouble(const std::string& what, const Error& error) {
    lines_.say("{}: {}", what, to_string(error));
    is_well_ = false;
    return false;
  }

  Result<std::string> run(const LaunchCommand& command) const {
    const auto done = run_program(command.argv, deadline_s, command.env);
    if (!done) return tl::unexpected(done.error());
    if (done->timed_out)
      return fail(ErrorKind::launch, command.argv[0], fmt::format("did not answer within {:.0f} s", deadline_s));
    if (done->end.shell_status() != 0) return fail(ErrorKind::launch, command.argv[0], complaint_of(*done));
    return done->out;
  }

  Result<std::vector<NodeService>> ask(std::string_view node) const {
    const auto reported = run(scheduler_.ask_service(node));
    if (!reported) return tl::unexpected(reported.error());
    auto nodes = scheduler_.read_service(*reported);
    if (nodes.empty())
      return fail(ErrorKind::launch, std::string(scheduler_.service_program), "printed no readable node");
    return nodes;
  }

  /// The node may have changed since the plan was made.
  Result<void> is_unchanged(const WantedAction& action, const std::vector<NodeService>& planned_on) const {
    const auto now = ask(action.node);
    if (!now) return tl::unexpected(now.error());
    for (const auto& then : planned_on)
      if (then.node == action.node && now->size() == 1 && now->front().node == action.node &&
          now->front().reason == then.reason && now->front().is_drained == then.is_drained &&
          now->front().is_down == then.is_down)
        return {};
    return fail(ErrorKind::launch, action.node, "it was changed meanwhile; it is left as it is");
  }

  Result<void> is_done(const WantedAction& action) const {
    const auto now = ask(action.node);
    if (!now) return tl::unexpected(now.error());
    const auto& node = now->front();
    const bool is_fine =
        action.kind == ActionKind::drain ? node.is_drained && node.reason == action.reason : !node.is_drained;
    if (is_fine) return {};
    return fail(ErrorKind::launch, action.node,
                fmt::format("is {} afterwards, with the reason \"{}\"", node.state, node.reason));
  }

  Result<void> attempt(const WantedAction& action) const {
    if (auto done = run({argv(action), {}}); !done) return tl::unexpected(done.error());
    return is_done(action);
  }

  Result<void> keep(const WantedAction& action, const std::string& outcome) const {
    return record_action(run_, report_, {std::string(to_string(action.kind)), action.node, action.reason, outcome});
  }

  /// Recorded before it is done: what can't be recorded is not done.
  bool act(const WantedAction& action, const std::vector<NodeService>& planned_on) {
    const auto what = fmt::format("could not {} {}", to_string(action.kind), action.node);
    if (const auto same = is_unchanged(action, planned_on); !same) return trouble(what, same.error());
    if (const auto kept = keep(action, "begun"); !kept)
      return trouble(what + ", as it can't be recorded", kept.error());
    const auto done = attempt(action);
    if (const auto kept = keep(action, done ? "done" : to_string(done.error())); !kept)
      trouble("not recorded", kept.error());
    if (!done) return trouble(what, done.error());
    if (action.kind == ActionKind::drain) drained_.push_back(action);
    lines_.say("{} {}: {}", action.kind == ActionKind::drain ? "drained" : "resumed", action.node, action.reason);
    return true;
  }

  /// Other runs may have drained at the same moment, each within the cap by itself. Each looks again when it is done,
  /// and takes back its own when there are too many; the last one to look sees at most as many as there may be.
  void keep_to_the_cap() {
    const auto nodes = ask({});
    if (!nodes) {
      trouble("can't count the nodes that are drained now", nodes.error());
      return;
    }
    if (drained_by_muster(*nodes) <= most()) return;
    lines_.say("others drained at the same time: {} are, and --max-drain is {}; this run takes back its own",
               drained_by_muster(*nodes), most());
    for (auto action : drained_) {
      action.kind = ActionKind::resume;
      act(action, *nodes);
    }
  }

  const SchedulerSpec& scheduler_;
  const RunReport& report_;
  const RunOptions& run_;
  const ScheduledRunOptions& options_;
  ActionLines lines_;
  std::vector<WantedAction> drained_;
  bool is_well_ = true;
};

}  // namespace

Result<void> check_scheduled_run(const ScheduledRunOptions& options) {
  if (options.max_drain && options.on_fail.empty())
    return fail(ErrorKind::usage, "--max-drain",
                "nothing is drained without --on-fail drain; add it, or leave this out");
  if (!wants_actions(options)) {
    if (options.dry_run_actions)
      return fail(ErrorKind::usage, "--dry-run-actions",
                  "there are no actions; add --on-fail drain or --on-pass resume");
    return {};
  }
  if (find_service() != nullptr) return {};
  return fail(ErrorKind::usage, options.on_fail.empty() ? "--on-pass" : "--on-fail",
              "there is no scontrol on PATH; start muster where Slurm's commands are, or leave the action out");
}

int act_on_nodes(const RunReport& report, const RunOptions& options, int status) {
  if (!wants_actions(options.night)) return status;
  const auto* scheduler = find_service();
  if (scheduler == nullptr) return status == 0 ? 2 : status;
  std::vector<LeftAlone> doubtful;
  if (options.night.on_pass.empty() && nodes_to_blame(report, doubtful).empty()) {
    ActionLines lines(options.quiet);
    announce(doubtful, lines);
    return status;
  }
  return Acting(*scheduler, report, options).carry_out() || status != 0 ? status : 2;
}

}  // namespace muster
