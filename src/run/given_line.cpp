#include "run/given_line.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "base/clock.hpp"
#include "model/launcher_words.hpp"
#include "run/cleanup_process.hpp"
#include "run/start_complaint.hpp"
#include "system/system.hpp"

namespace muster {

const LauncherSpec* launcher_of(const GivenLine& line) {
  const auto* launcher = find_launcher(launcher_of_program(line.argv[line.launcher]));
  return launcher != nullptr && !launcher->program.empty() ? launcher : nullptr;
}

LaunchCommand put_behind(const GivenLine& line, const LauncherSpec& launcher, const LauncherIdentity& identity,
                         const AgentCommand& agent) {
  LaunchCommand command{line.argv, line.env};
  if (launcher.pass_on != nullptr) {
    const Argv names = launcher.pass_on(identity, agent.env);
    const auto behind = command.argv.begin() + static_cast<std::ptrdiff_t>(line.launcher) + 1;
    command.argv.insert(behind, names.begin(), names.end());
  }
  command.argv.insert(command.argv.end(), agent.argv.begin(), agent.argv.end());
  return command;
}

namespace {

LineTasks line_tasks_of(const fs::path& folder, const LaunchDiagnosis::Inspection& inspection) {
  constexpr std::size_t most_read = 64u << 20;
  const auto text = read_file(folder / "stderr", most_read);
  return read_line_tasks(text ? *text : std::string(), inspection.seen);
}

/// The agent that the launcher names ended well (its record goes then), and so a program that the line puts around it
/// did not. Others may have been ended by the launcher before they were done.
bool is_ended_by_wrapper(const Launch& launch, const LaunchDiagnosis::Inspection& inspection) {
  if (launch.stage() != LaunchStage::finish || !launch.has_ended() || launch.end()->shell_status() == 0) return false;
  const LauncherNotice notice = launch.notice();
  if (notice.signal || notice.is_first_cause) return false;
  return !inspection.seen.empty() &&
         std::all_of(inspection.seen.begin(), inspection.seen.end(), [&](const NodeAutopsy& node) {
           return node.answered && std::none_of(node.ranks.begin(), node.ranks.end(), [&](const RankRemains& remains) {
                    return !notice.rank || remains.record.rank == *notice.rank;
                  });
         });
}

Finding ended_by_wrapper(int status) {
  return {Verdict::error,
          fmt::format(
              "the launch line ended with status {} after muster's agents had ended with 0: a wrapper around them did, "
              "or the launcher itself",
              status),
          {{CulpritKind::launcher, "the launch line", "", -1}},
          "where the line has a wrapper, let it end with the status of the program that it starts (exec \"$@\"), or "
          "leave it out; otherwise see what the launcher prints at the end"};
}

/// Of a launch that has ended, or was ended.
LineFailure failure_of(const Launch& launch, const LaunchDiagnosis::Inspection& inspection, bool has_ended,
                       Finding finding) {
  LineFailure failure;
  failure.finding = std::move(finding);
  failure.stderr_text = launch.stderr_tail();
  failure.tasks = line_tasks_of(inspection.folder, inspection);
  if (has_ended) failure.launcher_status = launch.end()->shell_status();
  if (has_ended) failure.notice = launch.notice();
  failure.is_of_agent =
      !launch.refusal().empty() || explain_complaint(failure.stderr_text, inspection.nodes).has_value();
  return failure;
}

}  // namespace

Finding explain_later_start(const Launch& launch, const LaunchDiagnosis::Inspection& inspection, Finding finding,
                            const LaterStart& start) {
  if (finding.verdict == Verdict::unmeasured) return finding;
  // Of a node that does not answer, no task was seen.
  const bool is_all_seen = std::all_of(inspection.seen.begin(), inspection.seen.end(),
                                       [](const NodeAutopsy& node) { return node.answered; });
  if (is_ended_by_wrapper(launch, inspection))
    finding = ended_by_wrapper(launch.end()->shell_status());
  else if (launch.stage() != LaunchStage::start_up)
    return finding;
  else if (is_all_seen) {
    LineFailure failure = failure_of(launch, inspection, start.has_ended, std::move(finding));
    failure.argv = start.argv;
    finding = explain_given_line(std::move(failure), start.agent);
  }
  finding.reason += fmt::format(" (at start {} of the launch line; its first start worked)", start.number);
  return finding;
}

GivenWorld start_given_line(const LaunchMeans& means, const fs::path& folder) {
  const auto& [launcher, identity, options] = means;
  CleanupProcess cleanup;
  Loop loop;
  LaunchOrder order;
  order.tag = make_launch_tag("line");
  order.folder = folder;
  order.takes_any_world = true;
  LaunchDiagnosis::Inspection inspection;
  inspection.nodes = {host_name()};
  inspection.tag = order.tag.tag;
  inspection.folder = folder;
  const CleanupProcess::InFlight in_flight(cleanup, inspection.tag);
  Launch launch(loop, means, std::move(order), {});
  if (auto started = launch.start(); !started)
    return {std::nullopt,
            {Verdict::error,
             to_string(started.error()),
             {{CulpritKind::launcher, std::string(launcher.name), "", -1}},
             "see that the launch line works with another program, such as hostname"},
            0};
  int interrupted_by = 0;
  std::vector<std::shared_ptr<Loop::SignalWatch>> signals;
  for (const int signal : options.ended_by)
    signals.push_back(loop.on_signal(signal, [&](int which) { interrupted_by = which; }));
  loop.run_until([&] { return launch.is_over() || interrupted_by != 0; });
  LineFailure failure;
  if (launch.is_clean()) {
    failure.tasks = line_tasks_of(folder, inspection);
    if (failure.tasks.with_several_agents().empty()) return {launch.world(), {}, interrupted_by};
    failure.launcher_status = 0;
    return {std::nullopt, explain_given_line(std::move(failure), options.agent), interrupted_by};
  }
  LaunchDiagnosis diagnosis(loop, {&launcher, identity, {}, options.self}, options);
  const bool has_ended = launch.has_ended();
  if (launch.refusal().empty() && interrupted_by == 0) diagnosis.look(launch, inspection);
  (void)diagnosis.clear_away(launch, inspection);
  if (interrupted_by != 0) return {std::nullopt, {}, interrupted_by};
  failure.tasks = line_tasks_of(folder, inspection);
  const bool has_several = !failure.tasks.with_several_agents().empty();
  if (!has_several && is_ended_by_wrapper(launch, inspection))
    return {std::nullopt, ended_by_wrapper(launch.end()->shell_status()), 0};
  failure = failure_of(launch, inspection, has_ended, diagnosis.diagnose(launch, inspection).finding);
  failure.argv = options.line->argv;
  return {std::nullopt, explain_given_line(std::move(failure), options.agent), 0};
}

}  // namespace muster
