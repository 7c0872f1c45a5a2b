/// After a failed launch: inspects its nodes, ends remaining processes, and determines the cause.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/loop.hpp"
#include "run/autopsy.hpp"
#include "run/launch.hpp"
#include "run/listening_ports.hpp"
#include "run/process_status.hpp"
#include "run/remote_exec.hpp"
#include "run/session.hpp"

namespace muster {

/// What is wrong with a launch, and whose fault it is.
struct LaunchOutcome {
  Finding finding;
  bool is_total = false;    ///< launching again can't help: launcher missing, agent of another MPI
  bool is_certain = false;  ///< no rank can start on the nodes at fault: the next launch goes without them
  /// The launch died or hung while it started, and a node of it may be at fault: it is unknown whether, and which.
  bool may_be_a_nodes = false;
  bool is_of_single_nodes = false;  ///< what was reported is of each node alone: no network between them is the cause
};

/// What a launch was given up for before a deadline passed.
struct StoppedProcesses {
  bool is_launcher = false;
  std::vector<NodeAutopsy> nodes = {};  ///< those that answered; on one at least, a daemon or a rank is stopped
};

class LaunchDiagnosis {
 public:
  /// Loop and options must outlive this.
  LaunchDiagnosis(Loop& loop, RemoteExec reach, const SessionOptions& options);

  /// What is asked about, and what was seen of it.
  struct Inspection {
    std::vector<std::string> nodes;
    std::string tag;
    int ranks = 0;
    std::string case_id;       ///< in flight; empty: none
    bool is_per_node = false;  ///< nodes do not wait for each other in it
    fs::path folder;           ///< of the launch: command, stdout, stderr
    std::vector<NodeAutopsy> seen;
    std::vector<LostNode> cut_off;  ///< that the remote shell reaches and a network between the ranks does not
    ProcessState launcher = ProcessState::running;
    bool is_given_up = false;                       ///< for stopped processes: the launcher, or some of those in `seen`
    std::optional<OverloadedPort> overloaded_port;  ///< of the launcher, while ranks start
    std::optional<ForeignCaller> foreign_caller;    ///< of the launcher, of one of its daemons or of a rank
    std::set<int> launcher_ports;                   ///< at which it listens
    std::optional<ProcessStatus> launcher_process;  ///< as it was then
    std::string called_node;                        ///< of that daemon or rank; empty: this one
    std::optional<FarCaller> far_caller;            ///< from another host than the one it called
  };

  /// Looks at launcher and ranks where they stand. Sends no signal.
  void look(const Launch& launch, Inspection& inspection);
  /// Nodes of a launch that has ended which do not answer twice (once: it may be busy), or which a network between the
  /// ranks has lost.
  [[nodiscard]] std::vector<LostNode> find_lost(const Launch& launch, Inspection inspection);
  /// Ranks and daemons of a launch that has not ended, where they stand.
  [[nodiscard]] std::vector<NodeAutopsy> look_at_nodes(const Launch& launch, Inspection inspection);
  /// Ends launcher and ranks, and removes what they left on the nodes that answer. Returns the nodes on which something
  /// would not end, with why.
  [[nodiscard]] std::map<std::string, std::string> clear_away(Launch& launch, const Inspection& inspection);
  /// Whether nothing but KILL reaches the launcher's daemon there: it is stopped, or its network has lost a
  /// node.
  [[nodiscard]] static bool must_end_daemons(const Inspection& inspection, const std::string& node);
  [[nodiscard]] LaunchOutcome diagnose(const Launch& launch, const Inspection& inspection) const;

 private:
  /// Has `muster clean` end what the launch left on the nodes; by node: what could not be ended.
  std::map<std::string, std::string> clean_nodes(const std::vector<std::string>& nodes, const std::string& tag,
                                                 const std::vector<std::string>& options);
  [[nodiscard]] std::vector<NodeAutopsy> autopsy(const Inspection& inspection);
  static void look_for_callers(IncompleteHandshakes here, Inspection& inspection);
  [[nodiscard]] std::vector<LostNode> lost_to_the_network(const Inspection& inspection);
  [[nodiscard]] Finding refused_by_launcher(const Launch& launch, const Inspection& inspection) const;
  [[nodiscard]] LaunchOutcome explain_start(const Launch& launch, const LaunchFailure& failure) const;
  void explain_unreachable(LaunchFailure& failure) const;
  /// Of a launcher that did not end by itself, although it reports that it can't start ranks.
  static void take_message(const Launch& launch, LaunchFailure& failure);
  [[nodiscard]] LaunchFailure failure_of(const Launch& launch, const Inspection& inspection) const;
  [[nodiscard]] std::string program() const { return std::string(remote_.launcher->name); }

  Loop& loop_;
  RemoteExec remote_;
  const SessionOptions& options_;
};

}  // namespace muster
