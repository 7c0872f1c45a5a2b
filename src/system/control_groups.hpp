/// The control groups that this process is in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"

namespace muster {

struct ControlGroup {
  fs::path folder;   ///< where its files are
  std::string name;  ///< `/job/step_0`; `/` is the machine's, in a container its own
};

/// The groups of this process that may limit `controller` (`cpu`, `cpuset`, `memory`, `pids`), each before the one that
/// holds it: of version 2 (`0::/job`), and of version 1 (`4:cpu,cpuacct:/job`). Empty: unknown.
[[nodiscard]] std::vector<ControlGroup> control_groups(std::string_view controller, const fs::path& root = "/");

}  // namespace muster
