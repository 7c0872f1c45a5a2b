/// Launch lines of the user's own: that of --launch, and those of checks. docs/launch-line.md
#pragma once

#include <string>
#include <vector>

#include "app/inputs/options.hpp"
#include "app/inputs/site.hpp"
#include "config/given_line.hpp"
#include "model/check.hpp"
#include "model/plan.hpp"

namespace muster {

/// The line that --launch names: itself, or with `@FILE` and `@FILE:LINE` the one of a batch script, of which nothing
/// is executed. Prints on standard error what is left out of a script. Fails with kind `usage`.
[[nodiscard]] Result<GivenLine> read_launch_option(const std::string& option);

/// The launcher that the line starts; `like` (--launcher) names the one that a site's own program behaves like. Fails
/// with kind `usage`; `where` stands in front of the message.
[[nodiscard]] Result<const LauncherSpec*> line_launcher(const GivenLine& line, const std::string& like,
                                                        const std::string& where);

/// Starts the line of --launch once, and takes nodes and ranks per node from what starts; otherwise does nothing. What
/// went wrong is in `found.site.lines`. Fails with kind `usage` when nodes have different numbers of ranks.
[[nodiscard]] Result<void> take_line_world(const SiteOptions& options, SiteFound& found);

/// As above, of the lines of checks that have cases in `plan`, each once.
[[nodiscard]] Result<void> start_check_lines(const SiteOptions& options, const std::vector<Check>& checks,
                                             const Plan& plan, SiteFound& found);

/// Copies what the first starts of lines printed, which came before the run had a folder, into its folder of launches.
void keep_line_folders(const SiteFound& found, const fs::path& launches);

/// A check with a line of its own goes together with none of the options that shape launches. Fails with kind `usage`
/// and the place of the first such check in `plan`.
[[nodiscard]] Result<void> refuse_beside_lines(const RunOptions& options, const std::vector<Check>& checks,
                                               const Plan& plan);

/// Whether ranks of some launch are started by a line of the user's own: on all of its nodes, each time.
[[nodiscard]] bool has_line(const Plan& plan);

}  // namespace muster
