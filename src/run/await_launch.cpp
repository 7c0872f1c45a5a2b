#include "run/await_launch.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <tuple>

#include "base/clock.hpp"
#include "run/process_status.hpp"

namespace muster {

namespace {

// Often enough that a launcher which is stopped and continued in turn is not always seen while it is stopped.
constexpr double look_every_s = 0.25;
constexpr double stopped_s = 3;  // a shorter stop does not count
constexpr double usual_start_s = 15;
constexpr double usual_finish_s = 3;
constexpr double second_look_s = 1;
constexpr std::size_t most_nodes = 256;  // that can be asked at once

/// Node, process, its start, and the last change of its recorder.
using StoppedKey = std::tuple<std::string, int, std::uint64_t, double>;

std::set<StoppedKey> stopped_in(const std::vector<NodeAutopsy>& nodes) {
  std::set<StoppedKey> found;
  for (const NodeAutopsy& node : nodes) {
    if (node.stopped_daemon != 0) found.insert({node.node, node.stopped_daemon, 0, 0});
    for (const RankRemains& rank : node.ranks) {
      const FlightRecord& record = rank.record;
      if (rank.state == ProcessState::stopped)
        found.insert({node.node, record.pid, record.start_ticks, record.changed_s});
      if (rank.parent_state == ProcessState::stopped)
        found.insert({node.node, record.parent, record.parent_start_ticks, 0});
    }
  }
  return found;
}

bool have_in_common(const std::set<StoppedKey>& one, const std::set<StoppedKey>& other) {
  return std::any_of(one.begin(), one.end(), [&](const StoppedKey& key) { return other.count(key) > 0; });
}

class Await {
 public:
  Await(Loop& loop, Launch& launch, LaunchDiagnosis& diagnosis, const LaunchDiagnosis::Inspection& inspection,
        const std::function<bool()>& must_stop)
      : loop_(loop), launch_(launch), diagnosis_(diagnosis), inspection_(inspection), must_stop_(must_stop) {}

  [[nodiscard]] StoppedProcesses run() {
    std::set<LaunchStage> examined;
    const auto must_examine = [&] {
      return examined.count(launch_.stage()) == 0 && launch_.stage_elapsed_s() >= patience_s();
    };
    while (!is_over()) {
      loop_.run_until([&] {
        watch_launcher();
        return is_over() || must_examine();
      });
      if (is_over()) break;
      examined.insert(launch_.stage());
      examine();
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_over() const { return launch_.is_over() || must_stop_(); }

  [[nodiscard]] bool is_needed() const {
    const LaunchStage stage = launch_.stage();
    return !launch_.has_ended() && (stage == LaunchStage::start_up || stage == LaunchStage::finish);
  }

  [[nodiscard]] double patience_s() const {
    if (!is_needed() || inspection_.nodes.size() > most_nodes) return std::numeric_limits<double>::infinity();
    const double usual = launch_.stage() == LaunchStage::start_up ? usual_start_s : usual_finish_s;
    return std::min(usual, launch_.stage_deadline_s() / 2);
  }

  /// Not within cases: this process shares its node with ranks that measure.
  void watch_launcher() {
    if (!is_needed())
      look_at_launcher_.reset();
    else if (!look_at_launcher_)
      look_at_launcher_ = loop_.every(look_every_s, [this] { look_at_launcher_now(); });
  }

  void look_at_launcher_now() {
    const auto status = is_needed() && launch_.pid() > 0 ? process_status(launch_.pid()) : std::nullopt;
    const double now = monotonic_seconds();
    if (!status || to_state(status->state) != ProcessState::stopped)
      stopped_since_ = 0;
    else if (stopped_since_ == 0)
      stopped_since_ = now;
    else if (now - stopped_since_ >= stopped_s && !is_over()) {
      found_.is_launcher = true;
      launch_.give_up();
    }
  }

  /// Nodes that do not answer are left out: in time that shows in another way.
  [[nodiscard]] std::vector<NodeAutopsy> look() {
    std::vector<NodeAutopsy> nodes = diagnosis_.look_at_nodes(launch_, inspection_);
    std::erase_if(nodes, [](const NodeAutopsy& node) { return !node.answered; });
    return nodes;
  }

  void examine() {
    const LaunchStage stage = launch_.stage();
    const auto has_left = [&] { return is_over() || launch_.stage() != stage; };
    const std::set<StoppedKey> first = stopped_in(look());
    if (first.empty() || has_left()) return;
    const double until = monotonic_seconds() + second_look_s;
    const auto wake = loop_.after(second_look_s, [] {});
    loop_.run_until([&] { return has_left() || monotonic_seconds() >= until; });
    if (has_left()) return;
    std::vector<NodeAutopsy> nodes = look();
    if (has_left() || !have_in_common(first, stopped_in(nodes))) return;
    found_.nodes = std::move(nodes);
    launch_.give_up();
  }

  Loop& loop_;
  Launch& launch_;
  LaunchDiagnosis& diagnosis_;
  const LaunchDiagnosis::Inspection& inspection_;
  const std::function<bool()>& must_stop_;
  std::shared_ptr<Loop::Timer> look_at_launcher_;
  StoppedProcesses found_;
  double stopped_since_ = 0;  ///< the launcher; 0: it runs
};

}  // namespace

StoppedProcesses await_launch(Loop& loop, Launch& launch, LaunchDiagnosis& diagnosis,
                              const LaunchDiagnosis::Inspection& inspection, const std::function<bool()>& must_stop) {
  return Await(loop, launch, diagnosis, inspection, must_stop).run();
}

}  // namespace muster
