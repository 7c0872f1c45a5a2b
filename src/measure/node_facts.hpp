/// The kernel's data on this node and on this process's limits. Readers take the root folder of the machine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"

namespace muster::environment {

/// The same for all processes under one kernel that was booted once, whatever its host name: `boot ...`, or, where the
/// kernel does not report it, `machine ...` from /etc/machine-id; empty when neither can be read.
[[nodiscard]] std::string machine_identity(const fs::path& root = "/");
/// InfiniBand, RoCE and the like, by /sys/class/infiniband, sorted.
[[nodiscard]] std::vector<std::string> rdma_devices(const fs::path& root = "/");
/// The kernel does not hold this process to its limit of locked memory (CAP_IPC_LOCK).
[[nodiscard]] bool may_lock_freely(const fs::path& root = "/");

/// nullopt: unlimited.
using Limit = std::optional<std::uint64_t>;

struct LimitSpec {
  std::string_view metric;  ///< also the fact `limit.<metric>`
  std::string_view ulimit;  ///< the option of the shell's `ulimit`
  std::string_view name;    ///< in /etc/security/limits.conf
  std::string_view slurm;   ///< in PropagateResourceLimits
  bool is_bytes = false;
};
inline constexpr std::array<LimitSpec, 3> limits = {{
    {"open_files", "-n", "nofile", "NOFILE", false},
    {"memlock", "-l", "memlock", "MEMLOCK", true},
    {"core", "-c", "core", "CORE", true},
}};
/// The soft limits of this process, in that order.
[[nodiscard]] std::array<Limit, limits.size()> read_limits();
/// `unlimited`, or the number (of bytes, of files), and back.
[[nodiscard]] std::string to_text(const Limit& limit);
/// The outer nullopt: not a limit at all.
[[nodiscard]] std::optional<Limit> parse_limit(std::string_view text);
/// For people: `unlimited`, `8MiB`, `1024`.
[[nodiscard]] std::string limit_words(const Limit& limit, bool is_bytes);

}  // namespace muster::environment
