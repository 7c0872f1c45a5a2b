/// Where a launch asked each rank of a node to run. The driver hands it to the agent in MUSTER_BIND: an agent whose
/// launcher has no option for these masks binds itself, and probe cpu_affinity compares.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_mask.hpp"
#include "muster/launcher.hpp"
#include "muster/result.hpp"

namespace muster {

inline constexpr const char* env_bind = "MUSTER_BIND";

struct AskedBinding {
  Binder binder = Binder::launcher;
  std::string source;          ///< as in JobBinding
  std::vector<CpuMask> masks;  ///< by local rank
  friend bool operator==(const AskedBinding&, const AskedBinding&) = default;
};

[[nodiscard]] std::string_view to_string(Binder binder);

/// The value of MUSTER_BIND: `agent|profile lumi|0xfe,0xfe00`.
[[nodiscard]] std::string to_text(const JobBinding& binding, Binder binder);
/// Fails with kind `usage` for anything else.
[[nodiscard]] Result<AskedBinding> parse_asked_binding(std::string_view text);

/// Of this process; nullopt: the launch asked for no masks, or the variable is damaged.
[[nodiscard]] std::optional<AskedBinding> asked_binding();

/// Binds the calling thread, and the threads that it starts from now on, where the launch left that to the agent;
/// otherwise does nothing. To be called before MPI_Init. Fails with kind `system` where the kernel refuses, or
/// `local_rank` has no mask.
[[nodiscard]] Result<void> bind_as_asked(int local_rank);

}  // namespace muster
