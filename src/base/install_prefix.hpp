/// Where this program is installed.
#pragma once

#include "base/files.hpp"

namespace muster {

/// PREFIX of PREFIX/bin/muster. Empty where that is unknown, as without /proc: nothing may then be taken from below it,
/// or it would come from the current folder.
[[nodiscard]] fs::path install_prefix();

}  // namespace muster
