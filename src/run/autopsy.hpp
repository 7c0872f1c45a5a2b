/// What is left of a launch on a node, and what it means. `muster node autopsy` prints it; the driver explains it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/record.hpp"
#include "run/flight_recorder.hpp"
#include "run/incomplete_handshakes.hpp"
#include "run/init_failure.hpp"
#include "run/listening_ports.hpp"
#include "run/lost_node.hpp"
#include "run/lost_packets.hpp"
#include "run/network_place.hpp"

namespace muster {

enum class ProcessState : std::uint8_t {
  running,          ///< R or S
  stopped,          ///< T
  uninterruptible,  ///< D
  zombie,           ///< Z: dead, not yet reaped
  gone,             ///< no such pid, or the pid is another process by now
  traced,           ///< t: a debugger, or strace for a moment
};

[[nodiscard]] constexpr bool is_stopped(ProcessState state) {
  return state == ProcessState::stopped || state == ProcessState::traced;
}
[[nodiscard]] std::string_view to_string(ProcessState state);
/// From the letter in /proc/PID/stat.
[[nodiscard]] ProcessState to_state(char state);

struct RankRemains {
  FlightRecord record;
  ProcessState state = ProcessState::gone;
  std::string kernel_function;  ///< /proc/PID/wchan when uninterruptible
  std::string program = {};     ///< command line of the program that it runs; empty: none
  ProcessState program_state = ProcessState::gone;
  ProcessState parent_state = ProcessState::gone;  ///< of the process that started it: the launcher or its daemon
};

struct NodeAutopsy {
  std::string node;       ///< as the driver names it
  bool answered = false;  ///< false: unreachable, `error` is the reason
  std::string error = {};
  double now_s = 0;  ///< CLOCK_MONOTONIC of that node when it looked
  std::vector<RankRemains> ranks = {};
  int stopped_daemon = 0;                            ///< process of the launch's daemon that is stopped; 0: none is
  std::optional<ForeignCaller> foreign_caller = {};  ///< of a rank, or of a daemon of this user's launchers
  IncompleteHandshakes incomplete_handshakes = {};   ///< that these received from other hosts, and users sent to them
  std::vector<PathLoss> losses = {};                 ///< of their connections to other addresses
  std::vector<NetworkPlace> places = {};             ///< addresses by which other nodes may reach it
};

/// What has become of the process that wrote it.
[[nodiscard]] ProcessState state_of(const FlightRecord& record);

/// Looks at this node. Takes milliseconds; sends no signal, changes nothing. `launcher_ports`: at which the launcher
/// listens. Its daemon on this node has one of them on its command line, and started no rank that could name it yet.
[[nodiscard]] NodeAutopsy look_at_this_node(const std::string& tag, const std::set<int>& launcher_ports = {});
[[nodiscard]] nlohmann::json to_json(const NodeAutopsy& autopsy);
[[nodiscard]] Result<NodeAutopsy> node_autopsy_from_json(const nlohmann::json& json);

/// Of all nodes.
[[nodiscard]] std::vector<NodeLosses> losses_of(const std::vector<NodeAutopsy>& nodes);

/// A launcher that has ended. Its daemons on other nodes are those that were called with one of these.
struct EndedLauncher {
  std::vector<std::string> hosts;  ///< names and addresses of its host
  std::set<int> ports;             ///< at which it listened; empty: its daemons are left alone
  double age_s = 0;                ///< time from its start to the question; no daemon of it is older
};

/// What clean_this_node() ends beside the ranks that have recorders.
struct CleanOptions {
  bool launcher_has_ended = false;  ///< also what has the launch's tag in its environment and no recorder yet
  /// Also the daemons of MPI's launchers that started these ranks: on a node that their network has lost, nothing else
  /// does.
  bool ends_daemons = false;
  EndedLauncher launcher = {};  ///< also daemons that it started and that have not started ranks yet
};

/// Ends the ranks of launch `tag` on this node by their recorded pids (TERM and CONT, `grace_s` later KILL; also the
/// process groups of programs they started), and removes recorder files and shared memory that they left in
/// /dev/shm. A pid that is another process by now, and memory that another process has mapped, are left alone. Returns
/// the pids that survived KILL for 2 s (uninterruptible); their recorder files stay.
[[nodiscard]] std::vector<int> clean_this_node(const std::string& tag, double grace_s,
                                               const CleanOptions& options = {});
/// Ends them alone, as after the launcher has ended: what they recorded stays.
void end_ranks_on_this_node(const std::string& tag, double grace_s);

/// Removes the recorder files, and the shared memory, of ranks on this node that have ended and whose file is older
/// than `age_s` seconds: what a launch leaves whose driver was killed before it could clean up.
void forget_old_launches(double age_s);

/// What the driver knows when a launch goes wrong.
struct LaunchFailure {
  enum class Cause { deadline, launch_ended } cause = Cause::deadline;
  std::string stage;      ///< `start-up`, `case`, `gap`, `finish`
  std::string case_id;    ///< of the case in flight; empty: none
  double deadline_s = 0;  ///< that passed
  int ranks_expected = 0;
  std::vector<NodeAutopsy> nodes;
  /// Nodes that answer over the remote shell, and that a network between the ranks has lost.
  std::vector<LostNode> cut_off;
  bool is_per_node = false;   ///< ranks of one node do not wait for those of others within a case
  LauncherNotice notice;      ///< the launcher's notice, once it ended
  int launcher_status = -1;   ///< -1: still running at the time
  bool has_shells = false;    ///< ranks may be below a shell, of a wrapper or of the user's launch line
  std::string launcher;       ///< `mpirun`
  std::string launcher_node;  ///< where the driver runs
  int launcher_pid = 0;
  ProcessState launcher_state = ProcessState::running;
  bool is_given_up = false;  ///< for a stopped launcher, daemon or rank, before a deadline passed: nothing else counts
  std::string output;        ///< file with the standard error of ranks and launcher; empty: unknown
  std::string complaint;     ///< its last line about an error of a rank; empty: none
  InitFailure init;          ///< what MPI wrote there where MPI_Init failed
  bool has_left_finalize = false;  ///< some rank left MPI_Finalize, which did not return (run/stuck_finalize.hpp)
};

/// Who was where: one finding with reason, culprits, remedy. Pure.
/// `rank 5 on nid003 is stopped in barrier, iteration 12; 7 ranks wait for it`
/// `nid002 does not answer (ssh: connect timed out); 4 ranks wait`
/// `rank 1 on nid001 was killed by signal 9 (SIGKILL) in run, step barrier`
[[nodiscard]] Finding explain(const LaunchFailure& failure);

}  // namespace muster
