#include <cstdlib>
#include <fmt/format.h>

#include "app/inputs/lines.hpp"
#include "app/inputs/load.hpp"
#include "app/inputs/machine_files.hpp"
#include "app/inputs/options.hpp"
#include "app/inputs/prepare.hpp"
#include "app/inputs/session_setup.hpp"
#include "app/inputs/simulation.hpp"
#include "app/runs/action_lines.hpp"
#include "app/runs/node_service.hpp"
#include "app/runs/outputs.hpp"
#include "app/runs/run_folder.hpp"
#include "app/runs/run_history.hpp"
#include "app/runs/scheduled_run.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "reporters/common/mail.hpp"
#include "run/session.hpp"
#include "system/simulated_affinity.hpp"
#include "system/system.hpp"

namespace muster {

std::vector<LaunchRecord> planned_launches(const Prepared& prepared) {
  std::vector<LaunchRecord> planned;
  for (const auto& launch : prepared.plan.launches) {
    LaunchRecord record;
    const auto line = prepared.found.lines.find(launch.shape.line);
    const bool is_line = line != prepared.found.lines.end();
    const std::string name = is_line ? std::string(line->second.launcher->name) : prepared.plan.launcher;
    const std::string& banner = is_line ? line->second.identity.banner : prepared.found.identity.banner;
    record.launcher = banner.empty() ? name : fmt::format("{} ({})", name, banner);
    record.nodes = launch.shape.nodes.empty() ? std::vector<std::string>{host_name()} : launch.shape.nodes;
    record.ranks = launch.shape.ranks();
    record.outcome = "planned";
    planned.push_back(std::move(record));
  }
  return planned;
}

namespace {

/// nullopt when MUSTER_STARTUP_TIMEOUT is not set or no time above 0.
std::optional<Seconds> startup_timeout() {
  const char* text = std::getenv("MUSTER_STARTUP_TIMEOUT");
  const auto parsed = parse_duration(text == nullptr ? "" : text);
  return parsed && parsed->value > 0 ? std::optional(*parsed) : std::nullopt;
}

}  // namespace

void take_session_variables(SessionOptions& session) {
  if (const char* address = std::getenv("MUSTER_WIRE_ADDRESS")) session.wire_address = address;
  if (const auto startup = startup_timeout()) session.deadlines.startup_s = startup->value;
}

SessionOptions session_options(const RunOptions& options, const Prepared& prepared, const RunReport& report) {
  SessionOptions session;
  session.agent = prepared.found.agent;
  session.self = own_executable();
  session.launcher_options = prepared.found.launcher_options;
  session.wrapper = prepared.found.wrapper;
  if (prepared.found.allocation) session.job_nodes = prepared.found.allocation->nodes;
  session.environment = prepared.found.environment;
  session.max_failures = options.max_failures;
  session.folder = report.folder;
  session.is_simulated = options.site.is_simulated;
  if (!simulated_folder(prepared.found.site).empty()) session.affinity_library = shipped_stand_ins() / affinity_library;
  session.lost_nodes = prepared.found.lost_nodes;
  session.networks = prepared.found.networks;
  session.lines = &prepared.found.lines;
  take_session_variables(session);
  return session;
}

int run_command(const RunOptions& options) {
  const double began = monotonic_seconds();
  if (const int status = refuse_simulation(options.site.is_simulated); status != 0) return status;
  if (auto able = check_scheduled_run(options.night); !able) return usage_error(able.error());
  if (options.dry_run) {
    warn_of_actions(options.night);
    return plan_command(options);
  }
  if (std::getenv("MUSTER_STARTUP_TIMEOUT") != nullptr && !startup_timeout())
    return usage_error({ErrorKind::usage, "MUSTER_STARTUP_TIMEOUT", "must be a time above 0, such as 90s"});
  RunReport report;
  RunLock lock;
  int refused = exit_usage;
  const auto begin = [&](const SystemProfile& system, const std::vector<std::string>& nodes) {
    report = run_header(options, system);
    const auto out = enter_scheduled_run(lock, options, report, nodes.empty() ? std::vector{report.host} : nodes);
    refused = out.value_or(exit_usage);
    return !out;
  };
  auto prepared = prepare(options, begin);
  if (!prepared) return refused;
  warn_of_actions(options.night);
  auto folder = RunFolder::make(options, report);
  if (!folder) return usage_error(folder.error());
  const auto made = folder->make_inside("launches");
  auto outputs =
      Outputs::open(options.reports, {options.color, options.quiet, lines_beside_report(options)}, folder->path());
  if (!made || !outputs) {
    folder->give_back();
    return usage_error(made ? outputs.error() : made.error());
  }

  keep_line_folders(prepared->found, folder->path() / "launches");
  report.launches = planned_launches(*prepared);
  folder->link();
  const SignalsHeld held;
  auto session = session_options(options, *prepared, report);
  session.ended_by = held.ends();
  session.began = began;
  const auto past = past_of(options, prepared->plan);
  session.past = past ? &*past : nullptr;
  const auto done = run_session(prepared->plan, {*prepared->found.launcher, prepared->found.identity, session},
                                outputs->sinks(), report);
  if (!done) {
    folder->give_back();
    fmt::print(stderr, "muster: {}; nothing was started: free space there or choose another folder with --output\n",
               printable_line(to_string(done.error()), 2000));
    return 2;
  }
  if (outputs->are_all_files()) fmt::print(stderr, "{}", remarks_of(report));
  keep_in_history(options, report);
  return act_on_nodes(report, options, conclude(report));
}

}  // namespace muster
