/// How much CPU time the control groups of this process allow.
#pragma once

#include <optional>
#include <string>

#include "base/files.hpp"

namespace muster {

/// The tightest limit of CPU time among our control group and its parents.
struct CpuQuota {
  double cpus = 0;    ///< CPU seconds per second
  std::string group;  ///< whose it is; all processes below share it
};

/// cpu.max of version 2, cpu.cfs_quota_us of version 1; nullopt: none.
[[nodiscard]] std::optional<CpuQuota> read_cpu_quota(const fs::path& root = "/");

}  // namespace muster
