/// Finds out where checks will run: launcher, agent, nodes and what the nodes have.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/inputs/options.hpp"
#include "base/files.hpp"
#include "model/plan.hpp"
#include "muster/launcher.hpp"
#include "run/given_line.hpp"
#include "run/lost_node.hpp"
#include "run/network_choice.hpp"
#include "run/select.hpp"
#include "system/allocation.hpp"

namespace muster {

struct SessionOptions;

/// The values of MUSTER_WIRE_ADDRESS and MUSTER_STARTUP_TIMEOUT.
void take_session_variables(SessionOptions& session);

struct SiteFound {
  const LauncherSpec* launcher = nullptr;
  LauncherIdentity identity;
  std::optional<Error> no_launch;  ///< why nothing can be launched: launcher missing, agent missing
  fs::path agent;
  Argv launcher_options;
  std::optional<GivenLine> line;           ///< --launch
  std::map<std::string, LineStart> lines;  ///< by JobShape::line: that of --launch, or those of checks
  /// Of the first start of each: command, stdout, stderr; removed with this. By its name in the run's folder.
  std::map<std::string, std::shared_ptr<const fs::path>> line_folders;
  Argv wrapper;             ///< of the environment: in front of the agent
  Environment environment;  ///< of the environment: for every rank
  Site site;
  std::optional<Allocation> allocation;  ///< the scheduler's job around muster
  std::vector<LostNode> lost_nodes;
  NetworkChoice networks;  ///< those that ranks use
};

/// Fails with kind `usage` for what the command line got wrong: unknown launcher, bad host list.
/// Asks no node but this one.
[[nodiscard]] Result<SiteFound> find_site(const SiteOptions& options, const SystemProfile& system);
/// Asks nodes other than this one for their cores (seconds when one is down); those that do not answer are lost. Fails
/// with kind `usage` when two names are one machine.
[[nodiscard]] Result<void> ask_the_nodes(SiteFound& found, const SystemProfile& system);

/// The identity of found.launcher, asked of the program of found.line where there is one, and the agent that fits it.
[[nodiscard]] Result<void> take_launcher(SiteFound& found, const std::string& chosen_agent);

/// Cores, domains and GPUs of this machine, where all ranks run here, or of the one that the nodes are pretended to be.
void look_here(Site& site);

/// Whether this node is one of those that ranks run on.
[[nodiscard]] bool has_this_node(const Site& site);

/// GPUs that this node's kernel shows.
[[nodiscard]] int count_gpus(const fs::path& root = "/");
/// Folder of the machine that the nodes are pretended to be, by MUSTER_MACHINE; empty: they are real.
[[nodiscard]] fs::path simulated_folder(const Site& site);

/// The launcher as it describes itself; kind `launch` when it is missing or unknown.
/// `program`: another than the launcher's own, by name or path.
[[nodiscard]] Result<LauncherIdentity> identify(const LauncherSpec& launcher, const std::string& program = {});
/// muster-rank for that launcher: --agent, $MUSTER_AGENT, muster-rank-<flavor>, muster-rank beside muster or in
/// ../libexec/muster. Kind `launch` when there is none.
[[nodiscard]] Result<fs::path> find_agent(const std::string& chosen, const std::string& flavor);

}  // namespace muster
