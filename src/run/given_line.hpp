/// The user's own launch line (`--launch`): the agent is started by it as the user's program would be.
/// docs/launch-line.md
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.hpp"
#include "config/given_line.hpp"
#include "model/record.hpp"
#include "muster/launcher.hpp"
#include "muster/verdict.hpp"
#include "run/diagnose.hpp"
#include "run/launch.hpp"
#include "run/line_tasks.hpp"

namespace muster {

struct SessionOptions;

/// A line, and what starts its ranks.
struct LineStart {
  GivenLine line;
  const LauncherSpec* launcher = nullptr;
  LauncherIdentity identity;
  fs::path agent;  ///< muster-rank
};

/// The launcher whose program the line starts; orterun and prterun are mpirun, mpiexec.hydra is mpiexec. nullptr: none
/// that muster knows.
[[nodiscard]] const LauncherSpec* launcher_of(const GivenLine& line);

/// The line with the agent behind it. Values of the agent's variables stand in the environment alone.
[[nodiscard]] LaunchCommand put_behind(const GivenLine& line, const LauncherSpec& launcher,
                                       const LauncherIdentity& identity, const AgentCommand& agent);

/// What started, or why nothing did.
struct GivenWorld {
  std::optional<World> world;
  Finding finding;
  int interrupted_by = 0;  ///< the signal that ended it (`ended_by` of the options); 0: none
};

/// Starts the line of `means.options` once, with an agent that has nothing to do, and waits for its end. `folder`,
/// which exists, takes command, stdout and stderr. What it started is ended when a signal arrives, and when this
/// process is killed.
[[nodiscard]] GivenWorld start_given_line(const LaunchMeans& means, const fs::path& folder);

/// A start of a line behind its first one, which worked.
struct LaterStart {
  int number = 2;
  bool has_ended = false;  ///< the launcher, by itself
  fs::path agent;
  Argv argv;  ///< of the line
};

/// What the line did wrong at that start, in place of `finding`, which was found about it as about any launch.
/// `finding` as it is where the launch had begun its cases.
[[nodiscard]] Finding explain_later_start(const Launch& launch, const LaunchDiagnosis::Inspection& inspection,
                                          Finding finding, const LaterStart& start);

/// A start that failed, beside what was found about it as about any launch.
struct LineFailure {
  Finding finding = {};
  std::string stderr_text = {};  ///< the end of it
  LineTasks tasks = {};
  LauncherNotice notice = {};  ///< the launcher's notice
  int launcher_status = -1;    ///< -1: it did not end
  Argv argv = {};              ///< of the line
  bool is_of_agent = false;    ///< an agent itself reported why: each of the others was ended for it
};

/// What the line itself caused, in place of `finding`: the agent or its libraries are not where the line starts
/// programs, or not each task of the line starts one agent. Pure.
[[nodiscard]] Finding explain_given_line(LineFailure failure, const fs::path& agent);

}  // namespace muster
