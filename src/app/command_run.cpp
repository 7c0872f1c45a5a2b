#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <pwd.h>
#include <unistd.h>

#include "app/load.hpp"
#include "app/options.hpp"
#include "app/outputs.hpp"
#include "app/prepare.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "run/session.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

std::string user_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(geteuid());
}

RunReport header(const RunOptions& options, const Prepared& prepared) {
  RunReport report;
  const auto now = realtime_nanoseconds();
  report.run_id = random_hex(3);
  report.muster_version = MUSTER_VERSION;
  report.started = rfc3339(now);
  report.command_line = options.command_line;
  report.host = host_name();
  report.user = user_name();
  report.system = prepared.system.name;
  report.system_place = prepared.system.file;
  if (const fs::path machine = machine_folder(report.host); !machine.empty())
    report.simulated = simulated_name(machine).value_or("unknown");
  report.folder = (fs::path(options.output) / fmt::format("{}-{}", compact_timestamp(now), report.run_id)).string();
  return report;
}

/// What is planned, for the head of a report; replaced by what happened.
std::vector<LaunchRecord> planned_launches(const Prepared& prepared) {
  std::vector<LaunchRecord> planned;
  for (const auto& launch : prepared.plan.launches) {
    LaunchRecord record;
    record.launcher = prepared.found.identity.banner.empty()
                          ? prepared.plan.launcher
                          : fmt::format("{} ({})", prepared.plan.launcher, prepared.found.identity.banner);
    record.nodes = launch.shape.nodes.empty() ? std::vector<std::string>{host_name()} : launch.shape.nodes;
    record.ranks = launch.shape.ranks();
    record.outcome = "planned";
    planned.push_back(std::move(record));
  }
  return planned;
}

/// nullopt when MUSTER_STARTUP_TIMEOUT is not set or no time above 0.
std::optional<Seconds> startup_timeout() {
  const char* text = std::getenv("MUSTER_STARTUP_TIMEOUT");
  const auto parsed = parse_duration(text == nullptr ? "" : text);
  return parsed && parsed->value > 0 ? std::optional(*parsed) : std::nullopt;
}

SessionOptions session_options(const RunOptions& options, const Prepared& prepared, const RunReport& report) {
  SessionOptions session;
  session.agent = prepared.found.agent;
  session.self = own_executable();
  session.launcher_options = prepared.found.launcher_options;
  session.wrapper = prepared.found.wrapper;
  session.environment = prepared.found.environment;
  session.max_failures = options.max_failures;
  session.folder = report.folder;
  session.lost_nodes = prepared.found.lost_nodes;
  if (const char* address = std::getenv("MUSTER_WIRE_ADDRESS")) session.wire_address = address;
  if (const auto startup = startup_timeout()) session.deadlines.startup_s = startup->value;
  return session;
}

/// While reports are written a further Ctrl-C must not end us between two of them. The session has handlers of its own;
/// what it leaves behind when they go is this.
class SignalsHeld {
 public:
  SignalsHeld() {
    for (std::size_t i = 0; i < std::size(signals); ++i) {
      struct sigaction ignore = {};
      ignore.sa_handler = SIG_IGN;
      sigaction(signals[i], &ignore, &before_[i]);
    }
  }
  ~SignalsHeld() {
    for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  /// nohup, and shells for what they start in the background, had some ignored: so they stay.
  [[nodiscard]] std::vector<int> ends() const {
    std::vector<int> heeded;
    for (std::size_t i = 0; i < std::size(signals); ++i)
      if (before_[i].sa_handler != SIG_IGN) heeded.push_back(signals[i]);
    return heeded;
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(signals)] = {};
};

int conclude(const RunReport& report) {
  for (const auto& lost : report.unwritten) fmt::print(stderr, "muster: {}\n", printable_line(lost, 2000));
  const auto shown = flush_standard_output();
  if (!shown) fmt::print(stderr, "muster: {}\n", to_string(shown.error()));
  if (!shown && report.interrupted.empty()) return 2;
  return report.exit_status;
}

}  // namespace

int run_command(const RunOptions& options) {
  if (options.dry_run) return plan_command(options);
  if (std::getenv("MUSTER_STARTUP_TIMEOUT") != nullptr && !startup_timeout())
    return usage_error({ErrorKind::usage, "MUSTER_STARTUP_TIMEOUT", "must be a time above 0, such as 90s"});
  auto prepared = prepare(options);
  if (!prepared) return exit_usage;
  auto report = header(options, *prepared);
  if (auto made = make_folder(report.folder); !made) return usage_error(made.error());
  const auto give_back = [&] {
    std::error_code ignored;
    fs::remove_all(report.folder, ignored);
  };
  const auto made = make_folder(fs::path(report.folder) / "launches");
  auto outputs = Outputs::open(options.reports, options.color, options.quiet, report.folder);
  if (!made || !outputs) {
    give_back();
    return usage_error(made ? outputs.error() : made.error());
  }

  report.launches = planned_launches(*prepared);
  // From the start, so that `show latest` shows this run also when its driver is killed.
  const fs::path latest = fs::path(options.output) / "latest";
  std::error_code ignored;
  const fs::path former = fs::read_symlink(latest, ignored);
  if (auto linked = replace_symlink(latest, fs::path(report.folder).filename()); !linked)
    fmt::print(stderr, "muster: {}\n", printable_line(to_string(linked.error()), 2000));
  const SignalsHeld held;
  auto session = session_options(options, *prepared, report);
  session.ended_by = held.ends();
  const auto done = run_session(prepared->plan, *prepared->found.launcher, prepared->found.identity, session,
                                outputs->sinks(), report);
  if (!done) {
    give_back();
    if (former.empty())
      fs::remove(latest, ignored);
    else
      (void)replace_symlink(latest, former);
    fmt::print(stderr, "muster: {}; nothing was started: free space there or choose another folder with --output\n",
               printable_line(to_string(done.error()), 2000));
    return 2;
  }
  return conclude(report);
}

}  // namespace muster
