#include "run/launch_causes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "run/agent.hpp"
#include "run/failure_text.hpp"
#include "run/start_complaint.hpp"

namespace muster {

Culprit launcher_culprit(const std::string& name) {
  return {CulpritKind::launcher, name, "", -1};
}

namespace {

/// One cause; nullopt: it is not this.
using Diagnosis = std::optional<LaunchOutcome> (*)(const LaunchEvidence& evidence);

std::optional<LaunchOutcome> wrong_names(const LaunchEvidence& evidence) {
  if (!evidence.launch.wrong_names()) return std::nullopt;
  return LaunchOutcome{*evidence.launch.wrong_names(), false};
}

std::optional<LaunchOutcome> refused_by_agent(const LaunchEvidence& evidence) {
  const Launch& launch = evidence.launch;
  if (launch.refusal().empty()) return std::nullopt;
  LaunchOutcome outcome{
      {Verdict::error, launch.refusal(), {launcher_culprit(evidence.program)}, launch.refusal_remedy()}, true};
  // With a rank per node, an agent that its launcher does not reach is a world of its own: a node alone proves nothing.
  const bool has_several_per_node = evidence.inspection.ranks > static_cast<int>(evidence.inspection.nodes.size());
  outcome.may_be_a_nodes = !launch.world() && has_several_per_node && launch.refusal().starts_with(agent_built_for);
  outcome.is_of_single_nodes = true;
  return outcome;
}

std::optional<LaunchOutcome> complained_by_rank(const LaunchEvidence& evidence) {
  if (!evidence.is_starting()) return std::nullopt;
  auto complaint = explain_complaint(evidence.launch.stderr_text(), evidence.inspection.nodes);
  if (!complaint) return std::nullopt;
  const bool is_total = complaint->culprits.empty();
  const bool is_certain = complaint->verdict == Verdict::fail;
  // The first agent that complains ends the others: whether they would have complained as well is unknown.
  return LaunchOutcome{std::move(*complaint), is_total, is_certain, is_total && !is_certain, true};
}

std::string find_caller_remedy(int port, const std::string& node = {}) {
  return fmt::format("find the process that connects to that port{}: ss --tcp --processes '( dport = {} )'",
                     node.empty() ? "" : " on " + node, port);
}

/// Other users can flood its ports: nothing that ranks and nodes do not do then is their fault.
std::optional<LaunchOutcome> crowded_launcher_port(const LaunchEvidence& evidence) {
  const auto& crowded = evidence.inspection.overloaded_port;
  if (!evidence.is_starting() || !crowded) return std::nullopt;
  return LaunchOutcome{
      {Verdict::error,
       fmt::format("other processes keep {} connections to port {} of {}, in which those of ranks may be lost",
                   crowded->connections, crowded->port, evidence.program),
       {launcher_culprit(evidence.program)},
       find_caller_remedy(crowded->port)},
      true};
}

/// A stopped process or a node that can't be reached, which no other user makes: handshakes that wait are not the cause
/// then.
bool has_cause_of_its_own(const LaunchDiagnosis::Inspection& inspection) {
  const auto has_stopped = [](const RankRemains& rank) {
    return is_stopped(rank.state) || is_stopped(rank.program_state) || is_stopped(rank.parent_state);
  };
  const auto is_at_fault = [&](const NodeAutopsy& node) {
    return !node.answered || node.stopped_daemon != 0 || std::any_of(node.ranks.begin(), node.ranks.end(), has_stopped);
  };
  return is_stopped(inspection.launcher) || !inspection.cut_off.empty() ||
         std::any_of(inspection.seen.begin(), inspection.seen.end(), is_at_fault);
}

/// Open MPI's mpirun and its daemons read handshakes one after the other, and so do ranks.
std::optional<LaunchOutcome> called_by_another_user(const LaunchEvidence& evidence) {
  if (!evidence.inspection.foreign_caller || has_cause_of_its_own(evidence.inspection)) return std::nullopt;
  const auto& [port, user] = *evidence.inspection.foreign_caller;
  const std::string& node = evidence.inspection.called_node;
  return LaunchOutcome{
      {Verdict::error,
       node.empty() ? fmt::format("user {} is connected to port {} of {} or of a rank", user, port, evidence.program)
                    : fmt::format("user {} is connected to port {} of {}'s daemon or of a rank on {}", user, port,
                                  evidence.program, node),
       {launcher_culprit(evidence.program)},
       find_caller_remedy(port, node)},
      evidence.is_starting()};
}

/// From any host, also of one that takes no part.
std::optional<LaunchOutcome> called_by_another_host(const LaunchEvidence& evidence) {
  const auto& caller = evidence.inspection.far_caller;
  if (!caller || has_cause_of_its_own(evidence.inspection)) return std::nullopt;
  const std::string whose = caller->called.empty() ? evidence.program + " or of a rank"
                                                   : evidence.program + "'s daemon or of a rank on " + caller->called;
  const std::string who = caller->node.empty() ? fmt::format("{}, which is not a node of this launch,", caller->host)
                                               : fmt::format("user {} on {}", caller->user, caller->node);
  const std::string admit =
      caller->node.empty() ? ", or let a firewall admit only nodes to the ports of this cluster" : "";
  return LaunchOutcome{
      {Verdict::error,
       fmt::format("{} is connected to port {} of {}, which waits for the rest of a handshake", who, caller->port,
                   whose),
       {launcher_culprit(evidence.program)},
       fmt::format("on {}, find the process that connects to that port: ss --tcp --processes '( dport = {} )'{}",
                   caller->node.empty() ? caller->host : caller->node, caller->port, admit)},
      evidence.is_starting()};
}

/// Other users can flood the port; what rank 0 wrote is not theirs.
std::optional<LaunchOutcome> flooded_driver_port(const LaunchEvidence& evidence) {
  const Launch& launch = evidence.launch;
  if (!launch.is_flooded() || launch.world() || launch.stderr_tail().find("rank 0: wire: ") == std::string::npos)
    return std::nullopt;
  return LaunchOutcome{
      {Verdict::error,
       "other processes made so many connections to the driver's port that rank 0's was lost among them",
       {},
       "find the process that connects to ports of this node: ss --tcp --processes"},
      true};
}

/// The launcher was ended by a signal of its own, not by what its ranks did.
std::optional<LaunchOutcome> launcher_killed(const LaunchEvidence& evidence) {
  const LaunchFailure& failure = evidence.failure;
  const int signal = evidence.launch.end()->signal;
  if (signal == 0) return std::nullopt;
  return LaunchOutcome{{Verdict::error,
                        fmt::format("the launcher {} was ended by {} during {}", evidence.program, signal_words(signal),
                                    failure.stage == "case" ? failure.case_id : failure.stage),
                        {launcher_culprit(evidence.program)},
                        "find out which user or program ended it; its ranks ended with it"},
                       false};
}

std::optional<LaunchOutcome> ended_with_its_ranks(const LaunchEvidence& evidence) {
  const LauncherNotice& notice = evidence.failure.notice;
  if (evidence.is_starting() && !notice.rank && !notice.signal) return std::nullopt;
  LaunchOutcome outcome{explain(evidence.failure), false};
  outcome.may_be_a_nodes =
      evidence.is_starting() && !evidence.failure.init.reason.empty() && outcome.finding.culprits.empty();
  return outcome;
}

std::optional<LaunchOutcome> explained_by_launcher(const LaunchEvidence& evidence) {
  const LauncherNotice& notice = evidence.failure.notice;
  if (notice.sentence.empty()) return std::nullopt;
  return LaunchOutcome{{Verdict::error, notice.sentence, {launcher_culprit(evidence.program)}, notice.remedy},
                       true,
                       false,
                       notice.is_about_a_node && !notice.is_first_cause};
}

std::optional<LaunchOutcome> first_of(std::span<const Diagnosis> table, const LaunchEvidence& evidence) {
  for (const Diagnosis diagnosis : table)
    if (auto outcome = diagnosis(evidence)) return outcome;
  return std::nullopt;
}

/// Whatever became of the launch, in this order.
constexpr Diagnosis of_any_launch[] = {wrong_names,           refused_by_agent,       complained_by_rank,
                                       crowded_launcher_port, called_by_another_user, called_by_another_host,
                                       flooded_driver_port};
/// Of one whose launcher has ended, in this order.
constexpr Diagnosis of_ended_launch[] = {launcher_killed, ended_with_its_ranks, explained_by_launcher};

}  // namespace

std::optional<LaunchOutcome> find_known_cause(const LaunchEvidence& evidence) {
  return first_of(of_any_launch, evidence);
}

std::optional<LaunchOutcome> find_reported_cause(const LaunchEvidence& evidence) {
  return evidence.failure.notice.is_first_cause ? std::nullopt : explained_by_launcher(evidence);
}

std::optional<LaunchOutcome> find_end_cause(const LaunchEvidence& evidence) {
  return first_of(of_ended_launch, evidence);
}

}  // namespace muster
