/// Launches of nothing on groups of nodes, to find those that keep a launch from starting.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/loop.hpp"
#include "muster/launcher.hpp"
#include "run/bisection.hpp"
#include "run/cleanup_process.hpp"
#include "run/diagnose.hpp"
#include "run/session.hpp"

namespace muster {

struct StartTrials {
  Loop& loop;
  LaunchMeans means;
  CleanupProcess& cleanup;
  JobShape shape;  ///< of the launch that did not start
  std::string tag;
  fs::path folder;  ///< for those of the trials; made
  std::function<bool()> must_stop;
};

/// `outcome`: of the launch that did not start. Nodes on which nothing starts are its culprits then; where each half of
/// a group starts and the whole does not, the group is named and no node accused. As it was where no group starts, or
/// many do not.
[[nodiscard]] LaunchOutcome try_starts(const StartTrials& trials, LaunchOutcome outcome);

}  // namespace muster
