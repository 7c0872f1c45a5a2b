#include "run/diagnose.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "run/data_network.hpp"
#include "run/failure_text.hpp"
#include "run/launch_causes.hpp"
#include "run/process_status.hpp"
#include "run/rank_complaint.hpp"
#include "run/stuck_finalize.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

// The launcher asks its daemons to end over the network that has lost them; the remote shell ends them.
constexpr double cut_off_grace_s = 1;

/// A launcher listens at a few; more would be another program.
std::vector<std::string> ports_option(const std::set<int>& ports) {
  constexpr std::size_t most_ports = 16;
  if (ports.empty() || ports.size() > most_ports) return {};
  return {"--launcher-ports", fmt::format("{}", fmt::join(ports, ","))};
}

/// Its daemon may try to reach the ended launcher for minutes. Empty: none is known.
std::string node_that_loses_packets(const std::vector<NodeAutopsy>& seen) {
  const auto finding = explain_losses(losses_of(seen));
  return finding && finding->culprits.front().kind == CulpritKind::node ? finding->culprits.front().node : "";
}

}  // namespace

LaunchDiagnosis::LaunchDiagnosis(Loop& loop, RemoteExec reach, const SessionOptions& options)
    : loop_(loop), remote_(std::move(reach)), options_(options) {}

void LaunchDiagnosis::look(const Launch& launch, Inspection& inspection) {
  IncompleteHandshakes here;
  if (!launch.has_ended() && launch.pid() > 0) {
    const auto status = process_status(launch.pid());
    inspection.launcher = status ? to_state(status->state) : ProcessState::gone;
    inspection.launcher_process = status;
    // Its own: one for each node and rank, and each may have called more than once.
    const std::size_t own = 4 * (inspection.nodes.size() + static_cast<std::size_t>(std::max(inspection.ranks, 0)));
    if (launch.stage() == LaunchStage::start_up)
      inspection.overloaded_port = find_overloaded_port(launch.pid(), 100 + own);
    inspection.foreign_caller = find_foreign_caller({launch.pid()});
    inspection.called_node.clear();
    inspection.launcher_ports = listening_ports(launch.pid());
    if (remote_.launcher->reads_handshakes_in_turn)
      here = incomplete_handshakes_of(tcp_connections(), sockets_in_this_network({launch.pid()}));
  }
  inspection.seen = autopsy(inspection);
  if (!launch.has_ended()) look_for_callers(std::move(here), inspection);
  const auto status = process_status(launch.pid());
  const bool is_left = status && to_state(status->state) != ProcessState::zombie;
  if (launch.has_ended() || !is_left) inspection.launcher = ProcessState::gone;
  inspection.cut_off = lost_to_the_network(inspection);
}

std::vector<LostNode> LaunchDiagnosis::find_lost(const Launch& launch, Inspection inspection) {
  look(launch, inspection);
  std::vector<LostNode> lost = std::move(inspection.cut_off);
  std::set<std::string> silent;
  for (const NodeAutopsy& node : inspection.seen)
    if (!node.answered) silent.insert(node.node);
  if (silent.empty()) return lost;
  for (const NodeAutopsy& node : autopsy(inspection))
    if (!node.answered && silent.count(node.node) > 0)
      lost.push_back(explain_no_answer(node.node, node.error, options_.self));
  return lost;
}

std::vector<NodeAutopsy> LaunchDiagnosis::look_at_nodes(const Launch& launch, Inspection inspection) {
  if (launch.pid() > 0) inspection.launcher_ports = listening_ports(launch.pid());
  return autopsy(inspection);
}

void LaunchDiagnosis::look_for_callers(IncompleteHandshakes here, Inspection& inspection) {
  std::map<std::string, IncompleteHandshakes> handshakes{{"", std::move(here)}};
  bool have_all_answered = !inspection.seen.empty();
  for (const NodeAutopsy& node : inspection.seen) {
    have_all_answered = have_all_answered && node.answered;
    handshakes[node.node] = node.incomplete_handshakes;
    if (inspection.foreign_caller || !node.foreign_caller) continue;
    inspection.foreign_caller = node.foreign_caller;
    if (!is_this_node(node.node)) inspection.called_node = node.node;
  }
  inspection.far_caller = find_far_caller(handshakes, have_all_answered);
}

std::vector<LostNode> LaunchDiagnosis::lost_to_the_network(const Inspection& inspection) {
  std::vector<NodePlaces> places;
  for (const NodeAutopsy& node : inspection.seen)
    if (node.answered) places.push_back({node.node, node.places});
  return look_at_networks(loop_, remote_, options_.networks, std::move(places));
}

std::vector<NodeAutopsy> LaunchDiagnosis::autopsy(const Inspection& inspection) {
  std::vector<NodeAutopsy> found;
  std::vector<std::string> away;
  for (const auto& node : inspection.nodes) {
    if (!is_this_node(node)) {
      away.push_back(node);
      continue;
    }
    found.push_back(look_at_this_node(inspection.tag, inspection.launcher_ports));
    found.back().node = node;
  }
  if (away.empty()) return found;
  std::vector<std::string> words{"autopsy", "--tag", inspection.tag};
  const auto ports = ports_option(inspection.launcher_ports);
  words.insert(words.end(), ports.begin(), ports.end());
  for (auto& answer : ask_nodes(loop_, remote_, away, words, options_.deadlines.autopsy_s)) {
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

bool LaunchDiagnosis::must_end_daemons(const Inspection& inspection, const std::string& node) {
  if (!inspection.cut_off.empty()) return true;
  const auto is_below_a_stopped_one = [](const RankRemains& rank) { return is_stopped(rank.parent_state); };
  return std::any_of(inspection.seen.begin(), inspection.seen.end(), [&](const NodeAutopsy& seen) {
    return seen.node == node && std::any_of(seen.ranks.begin(), seen.ranks.end(), is_below_a_stopped_one);
  });
}

std::map<std::string, std::string> LaunchDiagnosis::clean_nodes(const std::vector<std::string>& nodes,
                                                                const std::string& tag,
                                                                const std::vector<std::string>& options) {
  const double grace = options_.deadlines.grace_s;
  std::vector<std::string> words{"clean", "--tag", tag, "--grace", fmt::format("{}", grace)};
  words.insert(words.end(), options.begin(), options.end());
  std::map<std::string, std::string> stuck;
  if (nodes.empty()) return stuck;
  for (const auto& answer : ask_nodes(loop_, remote_, nodes, words, grace + 4, grace + 3)) {
    if (!answer.answered) continue;
    std::vector<std::string> survivors;
    for (const auto line : lines(answer.out))
      if (!line.empty() && line.find_first_not_of("0123456789") == std::string_view::npos) survivors.emplace_back(line);
    if (!survivors.empty()) stuck[answer.node] = fmt::format("process {} can't be ended", human_list(survivors));
  }
  return stuck;
}

std::map<std::string, std::string> LaunchDiagnosis::clear_away(Launch& launch, const Inspection& inspection) {
  const double grace = options_.deadlines.grace_s;
  std::optional<ProcessStatus> launcher = inspection.launcher_process;
  std::set<int> ports = inspection.launcher_ports;
  if (!launcher && !launch.has_ended() && launch.pid() > 0) {
    launcher = process_status(launch.pid());
    ports = listening_ports(launch.pid());
  }
  launch.stop(inspection.cut_off.empty() ? grace : std::min(grace, cut_off_grace_s));
  std::vector<std::string> answering;
  for (const auto& node : inspection.seen)
    if (node.answered) answering.push_back(node.node);
  if (inspection.seen.empty()) answering = inspection.nodes;
  const std::string lossy = node_that_loses_packets(inspection.seen);
  const auto others = std::stable_partition(answering.begin(), answering.end(), [&](const std::string& node) {
    return node == lossy || must_end_daemons(inspection, node);
  });
  auto stuck = clean_nodes({answering.begin(), others}, inspection.tag, {"--daemons"});
  stuck.merge(clean_nodes({others, answering.end()}, inspection.tag, {}));
  const auto wake = loop_.after(grace + 2, [] {});
  const double until = monotonic_seconds() + grace + 2;
  loop_.run_until([&] { return launch.has_ended() || monotonic_seconds() > until; });
  // While ranks start, one may have been too young to be found the first time.
  if (launch.stage() == LaunchStage::start_up && launch.has_ended()) {
    std::vector<std::string> options{"--launcher-has-ended"};
    const auto known = launcher ? ports_option(free_ports(ports)) : std::vector<std::string>();
    if (!known.empty()) {
      std::vector<std::string> hosts = own_hosts();
      hosts.push_back(host_name());
      options.insert(options.end(), known.begin(), known.end());
      options.insert(options.end(), {"--launcher-hosts", fmt::format("{}", fmt::join(hosts, ",")), "--launcher-age",
                                     fmt::format("{:.1f}", seconds_since_start(*launcher))});
    }
    for (auto& [node, words] : clean_nodes(answering, inspection.tag, options)) stuck[node] = words;
  }
  return stuck;
}

/// The launcher ended before any rank was there: it did not like what it was asked.
Finding LaunchDiagnosis::refused_by_launcher(const Launch& launch, const Inspection& inspection) const {
  const auto message = launcher_complaint(launch.stderr_tail());
  if (launch.end()->shell_status() == 0)
    return {Verdict::error,
            fmt::format("{} ended with status 0 without starting muster-rank{}", program(),
                        message.empty() ? "" : ": " + message),
            {launcher_culprit(program())},
            "see what --agent and MUSTER_AGENT name, and whether an option given with -J makes the launcher do "
            "something else"};
  const auto explain = remote_.launcher->explain_silence;
  if (const auto notice = message.empty() && explain != nullptr ? explain(launch.argv()) : LauncherNotice();
      !notice.sentence.empty())
    return {Verdict::error,
            fmt::format("{} ended with status {} before any rank was there, and without a message; {}", program(),
                        launch.end()->shell_status(), notice.sentence),
            {launcher_culprit(program())},
            notice.remedy};
  return {
      Verdict::error,
      fmt::format("{} ended with status {} before any rank was there{}", program(), launch.end()->shell_status(),
                  message.empty() ? "" : ": " + message),
      {launcher_culprit(program())},
      fmt::format("its whole output is in {}; try its command line by hand", (inspection.folder / "stderr").string())};
}

LaunchFailure LaunchDiagnosis::failure_of(const Launch& launch, const Inspection& inspection) const {
  LaunchFailure failure;
  failure.cause = launch.is_past_deadline() ? LaunchFailure::Cause::deadline : LaunchFailure::Cause::launch_ended;
  failure.stage = std::string(to_string(launch.stage()));
  failure.deadline_s = launch.stage_deadline_s();
  failure.case_id = inspection.case_id;
  failure.ranks_expected = inspection.ranks;
  failure.nodes = inspection.seen;
  failure.cut_off = inspection.cut_off;
  failure.is_per_node = inspection.is_per_node;
  failure.launcher = program();
  failure.launcher_node = host_name();
  failure.launcher_pid = launch.pid();
  failure.launcher_state = inspection.launcher;
  failure.is_given_up = inspection.is_given_up;
  failure.has_shells = !options_.wrapper.empty() || options_.line != nullptr;
  failure.output = (inspection.folder / "stderr").string();
  failure.complaint = rank_complaint(launch.stderr_tail());
  failure.init = init_failure(launch.stderr_text());
  if (!failure.init.reason.empty()) failure.complaint = failure.init.reason;
  failure.has_left_finalize = !note_of_left_finalize(launch.stderr_text()).empty();
  return failure;
}

/// Nodes of a job that is gone can't be asked any more: that is why they are silent, and no fault of theirs.
void LaunchDiagnosis::explain_unreachable(LaunchFailure& failure) const {
  if (failure.notice.is_first_cause || remote_.launcher->read_notice == nullptr) return;
  for (const auto& node : failure.nodes) {
    if (node.answered) continue;
    auto message = remote_.launcher->read_notice(remote_.identity, node.error, 1);
    if (message.is_first_cause && !message.sentence.empty()) failure.notice = std::move(message);
  }
}

/// Hydra does not end where it can't start its proxies.
void LaunchDiagnosis::take_message(const Launch& launch, LaunchFailure& failure) {
  // A stopped one that muster ended reports what became of its signals.
  if (is_stopped(failure.launcher_state)) return;
  const bool has_ranks = std::any_of(failure.nodes.begin(), failure.nodes.end(), [](const NodeAutopsy& node) {
    return !node.answered || node.stopped_daemon != 0 || !node.ranks.empty();
  });
  if (launch.stage() != LaunchStage::start_up || has_ranks || !launch.end() || !failure.cut_off.empty()) return;
  // How it ended is muster's doing.
  LauncherNotice notice = launch.notice();
  failure.notice.sentence = std::move(notice.sentence);
  failure.notice.remedy = std::move(notice.remedy);
  failure.notice.node = std::move(notice.node);
  failure.notice.is_about_a_node = notice.is_about_a_node;
}

/// Of a launch that no rank of it explains, while it starts.
LaunchOutcome LaunchDiagnosis::explain_start(const Launch& launch, const LaunchFailure& failure) const {
  LaunchOutcome outcome{explain(failure)};
  const auto is_of_launcher = [](const Culprit& culprit) {
    return culprit.kind == CulpritKind::launcher && culprit.node.empty();
  };
  const auto& culprits = outcome.finding.culprits;
  outcome.may_be_a_nodes = launch.stage() == LaunchStage::start_up && !failure.notice.is_first_cause &&
                           !is_stopped(failure.launcher_state) &&
                           std::all_of(culprits.begin(), culprits.end(), is_of_launcher);
  return outcome;
}

LaunchOutcome LaunchDiagnosis::diagnose(const Launch& launch, const Inspection& inspection) const {
  LaunchEvidence evidence{launch, inspection, program(), {}};
  if (inspection.is_given_up) return {explain(failure_of(launch, inspection)), false};
  if (auto outcome = find_known_cause(evidence)) return std::move(*outcome);
  evidence.failure = failure_of(launch, inspection);
  LaunchFailure& failure = evidence.failure;
  const bool has_ended = failure.cause == LaunchFailure::Cause::launch_ended;
  if (has_ended && launch.end()) failure.notice = launch.notice();
  const bool has_first_cause = failure.notice.is_first_cause || failure.notice.signal;
  // It can't start its daemons there, or loses them, and reports no more than that.
  const bool is_of_the_network = has_ended && !failure.cut_off.empty() && !has_first_cause;
  failure.launcher_status = has_ended && launch.end() ? launch.end()->shell_status() : -1;
  if (is_of_the_network) return {explain(failure), false};
  if (!has_ended) take_message(launch, failure);
  explain_unreachable(failure);
  if (!has_ended)
    if (auto outcome = find_reported_cause(evidence)) return std::move(*outcome);
  if (!has_ended || !launch.end()) return explain_start(launch, failure);
  if (auto outcome = find_end_cause(evidence)) return std::move(*outcome);
  const bool none_started = std::all_of(failure.nodes.begin(), failure.nodes.end(),
                                        [](const NodeAutopsy& node) { return node.answered && node.ranks.empty(); });
  if (none_started) return {refused_by_launcher(launch, inspection), true};
  return explain_start(launch, failure);
}

}  // namespace muster
