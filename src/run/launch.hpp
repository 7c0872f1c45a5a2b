/// One launch: the launcher's process, the wire to rank 0, and the deadline of the stage it is in.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/frame.hpp"
#include "base/loop.hpp"
#include "model/record.hpp"
#include "muster/launcher.hpp"
#include "run/launch_tag.hpp"
#include "run/messages.hpp"
#include "run/sealed_frames.hpp"
#include "run/session.hpp"
#include "system/simulated_affinity.hpp"

namespace muster {

/// What a launch is asked to do.
struct LaunchOrder {
  LaunchTag tag;  ///< unique; names recorder files
  JobShape shape;
  std::vector<JobItem> items;
  std::vector<double> timeouts;  ///< per item, seconds
  bool takes_any_world = false;  ///< whatever starts is right: `shape` is not known yet
  fs::path folder;               ///< for command, stdout, stderr; exists
};

/// Notifications while it runs. Called from the loop.
struct LaunchEvents {
  std::function<void(const World&)> on_world;
  std::function<void(int item)> on_case_begin;
  std::function<void(int item, std::vector<Observation> observations, double seconds)> on_case_end;
};

enum class LaunchStage { start_up, gap, in_case, finish };
[[nodiscard]] std::string_view to_string(LaunchStage stage);

class Launch {
 public:
  Launch(Loop& loop, const LaunchMeans& means, LaunchOrder order, LaunchEvents events);
  ~Launch();

  /// Starts listening and the launcher. Fails with kind `launch` or `system`.
  [[nodiscard]] Result<void> start();

  /// Nothing more will come: it ended and was read to its end, a deadline passed, or an agent refused.
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] bool has_ended() const { return end_.has_value(); }
  [[nodiscard]] bool is_past_deadline() const { return past_deadline_; }
  /// All work reported, launcher ended with 0.
  [[nodiscard]] bool is_clean() const;
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// Ranks have the names of other nodes than the asked ones; the launch is over.
  [[nodiscard]] const std::optional<Finding>& wrong_names() const { return wrong_names_; }
  [[nodiscard]] const std::string& refusal_remedy() const { return refusal_remedy_; }
  [[nodiscard]] LaunchStage stage() const { return stage_; }
  [[nodiscard]] int item() const { return item_; }  ///< in flight; -1: none
  [[nodiscard]] double stage_deadline_s() const { return stage_deadline_s_; }
  [[nodiscard]] double stage_elapsed_s() const;
  [[nodiscard]] std::optional<ProcessEnd> end() const { return end_; }
  [[nodiscard]] const std::optional<World>& world() const { return world_; }
  [[nodiscard]] int pid() const;  ///< of the launcher; 0: it was not started
  [[nodiscard]] std::vector<Observation>& partial() { return parts_; }
  [[nodiscard]] const Argv& argv() const { return argv_; }
  [[nodiscard]] const std::string& tag() const { return order_.tag.tag; }
  [[nodiscard]] LauncherNotice notice() const;
  [[nodiscard]] std::string stderr_tail() const;
  /// All that is kept of it: what comes last may be many ranks' consequence of what came first.
  [[nodiscard]] std::string stderr_text() const;

  /// So many other processes have called that rank 0's connection may have been lost among theirs.
  [[nodiscard]] bool is_flooded() const { return is_flooded_; }

  /// As if the deadline of its stage had passed: it waits for what will not come.
  void give_up() { past_deadline_ = past_deadline_ || !end_.has_value(); }
  /// TERM to the launcher's group, KILL after `grace_s`. Turn the loop until has_ended().
  void stop(double grace_s);
  /// Files that could not be written (disk full); one sentence, empty when all is well.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  struct Log;
  struct Caller {
    std::shared_ptr<Listener::Connection> connection;
    double since = 0;
    bool is_known = false;  ///< has sent hello with the launch's key
  };
  [[nodiscard]] Result<void> listen();
  [[nodiscard]] std::string asked_binding_of(const JobShape& shape) const;
  [[nodiscard]] bool is_all_here() const;
  void place_files(LaunchCommand& command);
  [[nodiscard]] AgentCommand agent_command() const;
  [[nodiscard]] LaunchCommand command_for(const AgentCommand& agent) const;
  void enter(LaunchStage stage, double deadline_s);
  void accept(std::shared_ptr<Listener::Connection> connection);
  void drop(const std::shared_ptr<Listener::Connection>& from);
  static void disconnect(const Caller& caller);
  void drop_strangers();
  void stop_listening();
  /// False where a frame was not sealed by an agent of this launch, or came out of order.
  [[nodiscard]] bool is_key_missing() const;
  bool take_frames(FrameDecoder& decoder, const std::shared_ptr<Listener::Connection>& from);
  void note_tampering();
  /// `is_proven`: the sender has the key of rank 0.
  void take(const Frame& frame, const std::shared_ptr<Listener::Connection>& from, bool is_proven);
  void take_refusal(std::string_view text);
  void refuse(const std::string& reason, const std::string& remedy);
  void take_hello(const Frame& frame, const std::shared_ptr<Listener::Connection>& from, bool is_proven);
  void wait_for_key();
  void give_up_on_key();
  void take_world(const Frame& frame, const std::shared_ptr<Listener::Connection>& from);
  /// Why the ranks are not where they were asked for; empty: they are.
  [[nodiscard]] std::string misplaced() const;
  void refuse_moved_line();
  [[nodiscard]] std::vector<std::string> ranks_by_host() const;
  void take_part(const Frame& frame);
  void take_case_end(const Frame& frame);
  void note_trouble(const Error& error);
  [[nodiscard]] std::vector<std::byte> job_frame(const LaunchKey& key) const;

  Loop& loop_;
  const LauncherSpec& launcher_;
  const LauncherIdentity& identity_;
  const SessionOptions& options_;
  LaunchOrder order_;
  LaunchEvents events_;

  LaunchKey key_ = LaunchKey::random();
  LaunchKey key_of_rank_0_ = LaunchKey::random();
  FrameOpener opener_{key_, FrameSender::agent};
  FrameOpener opener_of_rank_0_{key_of_rank_0_, FrameSender::agent};
  Argv argv_;
  SimulatedLaunch simulated_;
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Listener::Connection> wire_;      ///< rank 0, once it proved itself
  bool is_greeted_ = false;                         ///< hello came; over standard output where `wire_` is null
  bool is_proven_ = false;                          ///< hello came with the key of rank 0
  std::shared_ptr<Loop::Timer> wait_for_key_;       ///< something without it called
  std::string unproven_refusal_, unproven_remedy_;  ///< of what that reported
  std::vector<Caller> callers_;
  bool is_flooded_ = false;  ///< more strangers called than are kept
  std::shared_ptr<Loop::Timer> look_at_callers_;
  FrameDecoder stdout_decoder_;
  std::shared_ptr<Process> process_;
  std::shared_ptr<Loop::Timer> deadline_;
  std::shared_ptr<Loop::Timer> last_look_;  ///< a deadline passes only when nothing is left to read
  std::shared_ptr<Loop::Timer> drain_;
  std::unique_ptr<Log> out_;
  std::unique_ptr<Log> err_;
  std::string stderr_text_;
  std::string stdout_text_;  ///< without frames: Hydra's notices are there

  LaunchStage stage_ = LaunchStage::start_up;
  double stage_began_ = 0;
  double stage_deadline_s_ = 0;
  bool past_deadline_ = false;
  bool is_stopped_ = false;
  bool finished_ = false;  ///< the `finish` message came
  bool drained_ = false;
  int item_ = -1;
  int done_ = 0;
  std::vector<Observation> parts_;
  std::optional<World> world_;
  std::optional<ProcessEnd> end_;
  std::string refusal_;
  std::optional<Finding> wrong_names_;
  std::string refusal_remedy_ =
      "name an agent that was built with the launcher's MPI with --agent (muster-rank or muster-rank-mpich), or start "
      "the agent with the launcher of its own MPI; if only some nodes refuse, install the agent of the others there";
  std::string trouble_;
};

}  // namespace muster
