#include "run/await_launch.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/clock.hpp"
#include "run/process_status.hpp"

namespace muster {

namespace {

// Often enough that a launcher which is stopped and continued in turn is not always seen while it is stopped.
constexpr double look_every_s = 0.25;
// Debuggers stop a launcher for a moment.
constexpr double stopped_s = 3;
constexpr double usual_start_s = 15;
constexpr double usual_finish_s = 3;
constexpr double second_look_s = 1;

bool needs_launcher(LaunchStage stage) {
  return stage == LaunchStage::start_up || stage == LaunchStage::finish;
}

bool is_stopped(int pid) {
  const auto status = pid > 0 ? process_status(pid) : std::nullopt;
  return status && to_state(status->state) == ProcessState::stopped;
}

double patience_s(const Launch& launch) {
  if (!needs_launcher(launch.stage()) || launch.has_ended()) return std::numeric_limits<double>::infinity();
  const double usual = launch.stage() == LaunchStage::start_up ? usual_start_s : usual_finish_s;
  return std::min(usual, launch.stage_deadline_s() / 2);
}

}  // namespace

void await_launch(Loop& loop, Launch& launch, LaunchDiagnosis& diagnosis, const LaunchDiagnosis::Inspection& inspection,
                  const std::function<bool()>& must_stop) {
  double stopped_since = 0;  // 0: it runs
  const auto look_at_launcher = loop.every(look_every_s, [&] {
    const double now = monotonic_seconds();
    if (!needs_launcher(launch.stage()) || !is_stopped(launch.pid()))
      stopped_since = 0;
    else if (stopped_since == 0)
      stopped_since = now;
    else if (now - stopped_since >= stopped_s)
      launch.give_up();
  });
  const auto is_over = [&] { return launch.is_over() || must_stop(); };
  std::set<LaunchStage> examined;
  const auto must_examine = [&] {
    return examined.count(launch.stage()) == 0 && launch.stage_elapsed_s() >= patience_s(launch);
  };
  while (!is_over()) {
    loop.run_until([&] { return is_over() || must_examine(); });
    if (is_over()) return;
    const LaunchStage stage = launch.stage();
    examined.insert(stage);
    if (!diagnosis.sees_stopped_process(launch, inspection)) continue;
    const double until = monotonic_seconds() + second_look_s;
    loop.run_until([&] { return is_over() || launch.stage() != stage || monotonic_seconds() >= until; });
    if (!is_over() && launch.stage() == stage && diagnosis.sees_stopped_process(launch, inspection)) launch.give_up();
  }
}

}  // namespace muster
