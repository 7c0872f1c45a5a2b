/// A whole run once more, by hand.
#pragma once

#include "muster/launcher.hpp"

namespace muster {

/// `command_line` without options for unattended runs: --quiet, --lock, and actions on nodes. A user who repeats a
/// night's command in the morning does not mean to drain by it.
[[nodiscard]] Argv rerun_by_hand(const Argv& command_line);

}  // namespace muster
