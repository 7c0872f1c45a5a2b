#include "run/given_line.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "run/examine.hpp"
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
  Loop loop;
  LaunchOrder order;
  order.tag = "line-" + random_hex(8);
  order.folder = folder;
  order.takes_any_world = true;
  Examiner::Scene scene;
  scene.nodes = {host_name()};
  scene.tag = order.tag;
  scene.folder = folder;
  Launch launch(loop, launcher, identity, options, std::move(order), {});
  if (auto started = launch.start(); !started)
    return {std::nullopt,
            {Verdict::error,
             to_string(started.error()),
             {{CulpritKind::launcher, std::string(launcher.name), "", -1}},
             "see that the launch line works with another program, such as hostname"}};
  loop.run_until([&] { return launch.is_over(); });
  if (launch.is_clean()) return {launch.world(), {}};
  Examiner examiner(loop, {&launcher, identity, {}, options.self}, options);
  if (launch.refusal().empty()) examiner.look(launch, scene);
  (void)examiner.clear_away(launch, scene);
  auto damage = examiner.diagnose(launch, scene);
  return {std::nullopt, explain_given_line(std::move(damage.finding), launch.stderr_tail(), options.agent)};
}

namespace {

/// Why no agent runs is the line's doing, whichever rank died of it first.
Finding by_the_line(Finding finding, std::string reason, std::string remedy) {
  finding.verdict = Verdict::error;
  finding.reason = std::move(reason);
  finding.remedy = std::move(remedy);
  finding.culprits = {{CulpritKind::launcher, "the launch line", "", -1}};
  return finding;
}

/// The line of `text` that holds `words`, without what a program writes before its message; empty: none.
std::string line_with(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == text.npos) return {};
  const std::size_t begin = text.rfind('\n', at) + 1;
  return printable_line(text.substr(begin, text.find('\n', at) - begin), 200);
}

}  // namespace

Finding explain_given_line(Finding finding, std::string_view stderr_text, const fs::path& agent) {
  if (const auto said = line_with(stderr_text, "error while loading shared libraries: "); !said.empty())
    return by_the_line(
        std::move(finding),
        fmt::format("the agent {} can't be loaded where the line starts it: {}", agent.string(), said),
        "bind a folder with the agent and its libraries into the container and name that agent with --agent "
        "(cmake --install with MUSTER_BUNDLE=ON, docs/launch-line.md), or name one that was built there");
  // A C library that is too old for the agent: `version `GLIBC_2.36' not found`.
  if (const auto said = line_with(stderr_text, "' not found (required by "); !said.empty())
    return by_the_line(std::move(finding),
                       fmt::format("the agent {} needs a newer C library than there is where the line starts it: {}",
                                   agent.string(), said),
                       "build muster in that container, and name its agent with --agent");
  for (const char* words : {"CPU binding outside of job step allocation", "Unable to satisfy cpu bind request"})
    if (const auto said = line_with(stderr_text, words); !said.empty())
      return by_the_line(
          std::move(finding), fmt::format("Slurm refuses the masks of the line: {}", said),
          "give srun a mask list or -c, never both (SLURM_CPUS_PER_TASK and --threads-per-core count as -c), "
          "and ask for whole nodes (--exclusive)");
  for (const std::string_view line : lines(stderr_text)) {
    if (line.find(agent.string()) == line.npos && line.find(agent.filename().string()) == line.npos) continue;
    const bool is_missing = line.find("No such file or directory") != line.npos ||
                            line.find("no such file or directory") != line.npos || line.find("not found") != line.npos;
    if (!is_missing) continue;
    return by_the_line(
        std::move(finding),
        fmt::format("the agent {} is not there where the line starts it: {}", agent.string(),
                    printable_line(trim(line), 200)),
        fmt::format("bind its folder into the container (singularity exec --bind {0}, apptainer exec --bind {0}), or "
                    "name a path that is there with --agent",
                    agent.parent_path().string()));
  }
  if (finding.reason.find("nothing that it started is muster's agent") != std::string::npos)
    finding.remedy =
        "end the line before the program, where muster's agent takes its place; a container's wrapper stays";
  // A program of the user's that took the agent for an argument of its own.
  if (finding.reason.find("before any rank was there") != std::string::npos)
    finding.remedy =
        "see that the line ends before the program, where muster's agent takes its place; " + finding.remedy;
  return finding;
}

}  // namespace muster
