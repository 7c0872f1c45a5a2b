#include "run/start_trials.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "run/launch.hpp"
#include "run/start_complaint.hpp"

namespace muster {

namespace {

/// Side by side: each takes a launcher, a port and ranks. Where more groups than that do not start, most of the machine
/// is at fault.
constexpr std::size_t most_side_by_side = 32;

/// One after the other: a node that does not answer takes seconds.
constexpr double most_seconds_looking = 30;

struct StartTrial {
  std::unique_ptr<CleanupProcess::InFlight> in_flight;
  std::unique_ptr<Launch> launch;
  LaunchDiagnosis::Inspection inspection;
};

class TrialRounds {
 public:
  explicit TrialRounds(const StartTrials& setup) : setup_(setup) {}
  /// Which of them started.
  [[nodiscard]] std::vector<bool> start_all(const std::vector<Bisection::Group>& groups);
  /// Of the last single node that did not start; empty: unknown.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const std::string& remedy() const { return remedy_; }
  /// Another user kept a node from starting, and may have kept others.
  [[nodiscard]] const std::optional<LaunchOutcome>& disturbance() const { return disturbance_; }
  /// A trial was not made (descriptors, disk, processes of this node), or cut short: nothing follows from it.
  [[nodiscard]] bool is_incomplete() const { return is_incomplete_; }

 private:
  void begin(const Bisection::Group& group, StartTrial& trial);
  /// Which of them started; `collided`: those that others beside them kept from it.
  std::vector<bool> start_side_by_side(const std::vector<Bisection::Group>& groups, std::vector<std::size_t>& collided);

  const StartTrials& setup_;
  int made_ = 0;
  bool is_incomplete_ = false;
  std::string reason_;
  std::string remedy_;
  std::optional<LaunchOutcome> disturbance_;
};

void TrialRounds::begin(const Bisection::Group& group, StartTrial& trial) {
  LaunchOrder order;
  order.tag = make_launch_tag(fmt::format("{}-s{}", setup_.tag, ++made_));
  order.shape = setup_.shape;
  order.shape.nodes = group;
  order.folder = setup_.folder / std::to_string(made_);
  trial.inspection.nodes = group;
  trial.inspection.tag = order.tag.tag;
  trial.inspection.ranks = order.shape.ranks();
  trial.inspection.folder = order.folder;
  trial.in_flight = std::make_unique<CleanupProcess::InFlight>(setup_.cleanup, order.tag.tag);
  const auto made = make_folder(order.folder);
  trial.launch = std::make_unique<Launch>(setup_.loop, setup_.means, std::move(order), LaunchEvents{});
  if (made && trial.launch->start()) return;
  trial.launch.reset();
  is_incomplete_ = true;
}

std::vector<bool> TrialRounds::start_all(const std::vector<Bisection::Group>& groups) {
  std::vector<std::size_t> collided;
  std::vector<bool> started = start_side_by_side(groups, collided);
  for (const std::size_t one : collided) {
    std::vector<std::size_t> again;
    started[one] = start_side_by_side({groups[one]}, again).front();
    if (!again.empty()) is_incomplete_ = true;
  }
  return started;
}

std::vector<bool> TrialRounds::start_side_by_side(const std::vector<Bisection::Group>& groups,
                                                  std::vector<std::size_t>& collided) {
  std::vector<StartTrial> trials(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) begin(groups[i], trials[i]);
  setup_.loop.run_until([&] {
    return setup_.must_stop() || std::all_of(trials.begin(), trials.end(), [](const StartTrial& trial) {
             return !trial.launch || trial.launch->is_over();
           });
  });
  if (setup_.must_stop()) is_incomplete_ = true;
  std::vector<bool> started;
  const auto& [launcher, identity, options] = setup_.means;
  LaunchDiagnosis diagnosis(setup_.loop, {&launcher, identity, options.launcher_options, options.self}, options);
  const double until = monotonic_seconds() + most_seconds_looking;
  for (StartTrial& trial : trials) {
    if (is_incomplete_ || disturbance_) break;
    if (!trial.launch || trial.launch->is_clean() || trial.launch->has_ended() || trial.inspection.nodes.size() > 1)
      continue;
    // Another user may keep those that are left from starting.
    is_incomplete_ = monotonic_seconds() > until || setup_.must_stop();
    if (is_incomplete_) break;
    diagnosis.look(*trial.launch, trial.inspection);
    if (trial.inspection.foreign_caller || trial.inspection.far_caller)
      disturbance_ = diagnosis.diagnose(*trial.launch, trial.inspection);
  }
  for (const StartTrial& trial : trials)
    if (trial.launch && !trial.launch->is_clean()) trial.launch->stop(options.deadlines.grace_s);
  for (StartTrial& trial : trials) {
    started.push_back(trial.launch && trial.launch->is_clean());
    if (started.back() || !trial.launch) continue;
    const bool is_tried_again = has_collided(trial.launch->stderr_tail());
    if (is_tried_again) collided.push_back(started.size() - 1);
    (void)diagnosis.clear_away(*trial.launch, trial.inspection);
    if (is_tried_again || trial.inspection.nodes.size() != 1 || !trial.launch->has_ended()) continue;
    const Finding finding = diagnosis.diagnose(*trial.launch, trial.inspection).finding;
    reason_ = finding.reason;
    remedy_ = finding.remedy;
  }
  return started;
}

/// Some remedies name the node of the last trial.
std::string remedy_for(const Bisection::Group& bad, const std::string& remedy) {
  const bool names_it = bad.size() == 1 && remedy.find(bad.front()) != std::string::npos;
  return names_it ? remedy : fmt::format("on {}: {}", human_list(bad, 8), remedy);
}

}  // namespace

LaunchOutcome try_starts(const StartTrials& trials, LaunchOutcome outcome) {
  TrialRounds tried(trials);
  Bisection bisection(trials.shape.nodes);
  for (int rounds = 0; !bisection.round().empty(); ++rounds) {
    const bool is_hopeless = rounds > 1 && bisection.has_started_none();
    if (trials.must_stop() || is_hopeless || bisection.round().size() > most_side_by_side) return outcome;
    bisection.take(tried.start_all(bisection.round()));
    if (tried.is_incomplete()) return outcome;
    if (tried.disturbance()) return *tried.disturbance();
  }
  if (bisection.has_started_none()) return outcome;
  const auto& bad = bisection.nodes_at_fault();
  if (bad.empty() && bisection.apart().empty()) return outcome;
  LaunchOutcome found;
  Finding& finding = found.finding;
  finding.subject = Subject::node;
  const std::string why = tried.reason().empty() ? outcome.finding.reason : tried.reason();
  if (bad.empty() && outcome.is_of_single_nodes) return outcome;
  if (bad.empty()) {
    // Once more: what failed may have been of that moment.
    const std::vector<bool> again = tried.start_all({bisection.apart().front()});
    if (tried.is_incomplete() || again.front()) return outcome;
    const std::string names = human_list(bisection.apart().front(), 8);
    finding.verdict = Verdict::fail;
    finding.reason = fmt::format("ranks do not start on {} together, though each half of them starts by itself: {}",
                                 names, outcome.finding.reason);
    finding.remedy = fmt::format("check the network between {}; {}", names, outcome.finding.remedy);
    found.is_total = true;
    return found;
  }
  finding.verdict = Verdict::fail;
  finding.reason = fmt::format("no rank starts on {}, and ranks start on the other nodes: {}", human_list(bad, 8), why);
  for (const auto& node : bad) finding.culprits.push_back(node_culprit(node));
  finding.remedy = remedy_for(bad, tried.remedy().empty() ? outcome.finding.remedy : tried.remedy());
  found.is_certain = true;
  return found;
}

}  // namespace muster
