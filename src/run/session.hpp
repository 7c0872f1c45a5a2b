/// Carries out a plan: launches, listens, keeps deadlines, examines failed launches, launches the rest again, judges as
/// results come in. The only part of the driver that has a clock and processes.
#pragma once

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "model/plan.hpp"
#include "muster/launcher.hpp"
#include "muster/report.hpp"
#include "muster/reporter.hpp"
#include "run/lost_node.hpp"
#include "run/network_choice.hpp"

namespace muster {

struct GivenLine;
struct LineStart;
struct PastValues;

struct Deadlines {
  double startup_s = 60;  ///< from the start of the launcher to the last rank's introduction
  double gap_s = 10;      ///< between two cases
  double finish_s = 10;   ///< from the last case to the end of the launcher
  double autopsy_s = 5;   ///< per node, all in parallel
  double grace_s = 3;     ///< TERM to KILL
};

struct SessionOptions {
  fs::path agent;  ///< muster-rank
  fs::path self;   ///< muster, for autopsies on other nodes
  Argv launcher_options;
  const GivenLine* line = nullptr;  ///< of one launch: the user's own launch line; nullptr: the launcher's is made
  /// By JobShape::line; nullptr: no launch has one.
  const std::map<std::string, LineStart>* lines = nullptr;
  Argv wrapper;                             ///< put in front of the agent: a container, for example
  std::vector<std::string> job_nodes = {};  ///< of the scheduler's job around muster, in its order
  Environment environment;                  ///< for every rank
  Deadlines deadlines;
  int max_failures = 0;       ///< 0: no limit; cases after it are `unmeasured`
  bool forgives_once = true;  ///< a node is set aside when it is the culprit the second time, not the first
  std::optional<double> began = std::nullopt;  ///< monotonic; when the run began to be prepared; nullopt: now
  double ends_at = 0;                          ///< monotonic; what is not done by then is `unmeasured`; 0: no limit
  fs::path folder;                             ///< run folder; exists
  bool is_simulated =
      false;  ///< ranks are to be on a simulated machine; otherwise one that is makes the launch an error
  fs::path affinity_library;  ///< for ranks of a simulated machine: libmuster_affinity.so; empty: masks are described
  std::string wire_address;   ///< address that ranks call; empty: found; `none`: they write to standard output
  std::vector<LostNode> lost_nodes;                    ///< before the run
  NetworkChoice networks;                              ///< those that ranks use
  std::vector<int> ended_by{SIGINT, SIGTERM, SIGHUP};  ///< signals that end the run
  const PastValues* past = nullptr;                    ///< what earlier runs measured; nullptr: nothing is known
};

/// What starts ranks.
struct LaunchMeans {
  const LauncherSpec& launcher;
  const LauncherIdentity& identity;
  const SessionOptions& options;
};

/// A reporter and where it writes.
struct ReporterSink {
  Reporter* reporter = nullptr;
  std::ostream* out = nullptr;
  /// Puts into its file what the reporter wrote; called once, after run_finished. Sinks with a file are finished before
  /// those without, which can then report what could not be written. Empty: nothing to keep.
  std::function<Result<void>()> keep = {};
};

/// Runs the plan and fills `report` (its header is already set: id, start, command line, system).
/// Never throws for what happens on nodes; what could not be done is in the report. Fails before anything is shown or
/// started, with kind `system`, when the run folder can't keep the verdicts (a full disk).
[[nodiscard]] Result<void> run_session(const Plan& plan, const LaunchMeans& means,
                                       const std::vector<ReporterSink>& sinks, RunReport& report);

}  // namespace muster
