/// The folder that a launcher makes for itself below TMPDIR, under a name that other users can predict.
#pragma once

#include <optional>

#include "muster/launcher.hpp"
#include "muster/verdict.hpp"

namespace muster {

/// Why the launcher can't have that folder on this node: a file, a link, or a folder of another user is in its place,
/// where Open MPI 4.1 fails or deletes files elsewhere. none: it is free, or the caller's own. `environment` is added
/// to this process's.
[[nodiscard]] std::optional<Finding> foreign_session_folder(const LauncherSpec& launcher,
                                                            const LauncherIdentity& identity,
                                                            const Environment& environment);

}  // namespace muster
