/// Ends the ranks of a launch on one node when nothing else can: a process without MPI, one per node and launch.
#pragma once

#include <string>

namespace muster {

inline constexpr const char* watchdog_name = "muster-watchdog";  ///< as ps shows it

struct WatchdogTimes {
  /// After the deadline that a rank has recorded, and after the last rank: a driver that still lives examines the
  /// launch.
  double grace_s = 30;
  double orphan_s = 10;  ///< after the process that started a rank (a daemon of the launcher) has ended
  double look_s = 5;     ///< between two looks at the recorders
};

/// Forks the node's watchdog of launch `tag`, unless it is there already; call it after the recorder is made and before
/// MPI starts and before any thread. It ends with the last recorder and the launcher's daemon, which it ends after the
/// grace. Where a rank is past its recorded deadline by more
/// than the grace, or its parent has ended, all ranks of the launch on this node, their programs and the launcher's
/// daemon are ended: the driver, the launcher, its daemon or the network is lost. What they left is removed
/// (clean_this_node), after the end of the parent only when the grace has passed. Stopping or killing ranks does not
/// stop it. Where it can't be forked there is none.
void start_watchdog(const std::string& tag, const WatchdogTimes& times = {});

/// Waits until this node's watchdog of launch `tag` has ended, `most_s` seconds at most: it does so as soon as it sees
/// that the ranks have. A service manager ends what a service leaves, and logs that.
void await_end_of_watchdog(const std::string& tag, double most_s);

}  // namespace muster
