/// Probes outside of muster: found and opened by the driver, which sends the agent the files that it needs.
/// docs/tutorial-plugin-probe.md
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "muster/probe.hpp"
#include "muster/result.hpp"

namespace muster {

/// Folders and files to look at before others, separated by colons.
inline constexpr const char* env_plugins = "MUSTER_PLUGINS";
/// From the driver to the agent: files, separated by colons.
inline constexpr const char* env_plugin_files = "MUSTER_PLUGIN_FILES";

/// Where plug-ins are looked for: MUSTER_PLUGINS, the folders of this installation, that of the user.
[[nodiscard]] std::vector<fs::path> plugin_places();

/// For set_probe_source. Opens what lies in plugin_places(), each file first in a process of its own. What is refused
/// is left out, and reported on standard error: no run ends by it.
[[nodiscard]] std::vector<const ProbeSpec*> find_plugins(std::span<const ProbeSpec* const> built_in);
/// The same on the side of the agent: only the files that the driver named, and silently.
[[nodiscard]] std::vector<const ProbeSpec*> take_plugins(std::span<const ProbeSpec* const> built_in);

/// Where a probe of that name comes from; empty: it was built in.
[[nodiscard]] fs::path plugin_of(std::string_view probe);
/// What was refused, in the order of the files.
[[nodiscard]] const std::vector<Error>& refused_plugins();

/// `; FILE: why it was refused`, of all that were; empty when none was.
[[nodiscard]] std::string why_not_plugged();

}  // namespace muster
