#include "run/given_line.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "base/clock.hpp"
#include "run/examine.hpp"
#include "run/keeper.hpp"
#include "run/launch.hpp"
#include "system/system.hpp"

namespace muster {

const LauncherSpec* launcher_of(const GivenLine& line) {
  std::string name = base_name(line.argv.front());
  if (name == "orterun" || name == "prterun" || name == "mpirun.openmpi" || name == "mpirun.mpich") name = "mpirun";
  if (name == "mpiexec.hydra" || name == "mpiexec.openmpi" || name == "mpiexec.mpich") name = "mpiexec";
  const auto* launcher = find_launcher(name);
  return launcher != nullptr && !launcher->program.empty() ? launcher : nullptr;
}

LaunchCommand put_behind(const GivenLine& line, const LauncherSpec& launcher, const LauncherIdentity& identity,
                         const AgentCommand& agent) {
  LaunchCommand command{line.argv, line.env};
  if (launcher.pass_on != nullptr) {
    const Argv names = launcher.pass_on(identity, agent.env);
    command.argv.insert(command.argv.begin() + 1, names.begin(), names.end());
  }
  command.argv.insert(command.argv.end(), agent.argv.begin(), agent.argv.end());
  return command;
}

GivenWorld start_given_line(const LauncherSpec& launcher, const LauncherIdentity& identity,
                            const SessionOptions& options, const fs::path& folder) {
  Keeper keeper;
  Loop loop;
  LaunchOrder order;
  order.tag = "line-" + random_hex(8);
  order.folder = folder;
  order.takes_any_world = true;
  Examiner::Scene scene;
  scene.nodes = {host_name()};
  scene.tag = order.tag;
  scene.folder = folder;
  const Keeper::InFlight in_flight(keeper, scene.tag);
  Launch launch(loop, launcher, identity, options, std::move(order), {});
  if (auto started = launch.start(); !started)
    return {std::nullopt,
            {Verdict::error,
             to_string(started.error()),
             {{CulpritKind::launcher, std::string(launcher.name), "", -1}},
             "see that the launch line works with another program, such as hostname"},
            0};
  int interrupted_by = 0;
  std::vector<std::shared_ptr<Loop::SignalWatch>> signals;
  for (const int signal : options.ended_by)
    signals.push_back(loop.on_signal(signal, [&](int which) { interrupted_by = which; }));
  loop.run_until([&] { return launch.is_over() || interrupted_by != 0; });
  if (launch.is_clean()) return {launch.world(), {}, interrupted_by};
  Examiner examiner(loop, {&launcher, identity, {}, options.self}, options);
  if (launch.refusal().empty() && interrupted_by == 0) examiner.look(launch, scene);
  (void)examiner.clear_away(launch, scene);
  if (interrupted_by != 0) return {std::nullopt, {}, interrupted_by};
  auto damage = examiner.diagnose(launch, scene);
  return {std::nullopt, explain_given_line(std::move(damage.finding), launch.stderr_tail(), options.agent), 0};
}

}  // namespace muster
