/// Where a launch asked each rank of a node to run, and which GPU and network card it has. The driver hands it to the
/// agent in MUSTER_BIND: an agent whose launcher has no option for this binds itself, and probe cpu_affinity compares.
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
  BindKind kind = BindKind::masks;
  std::string source;             ///< as in JobBinding
  std::vector<CpuMask> masks;     ///< by local rank; empty for the kinds without masks
  std::vector<int> gpus;          ///< likewise; -1: none
  std::vector<std::string> nics;  ///< likewise; empty: none is known
  std::string gpu_variable;       ///< as in JobBinding
  friend bool operator==(const AskedBinding&, const AskedBinding&) = default;
};

[[nodiscard]] std::string_view to_string(Binder binder);

/// Whether ranks need MUSTER_BIND: they have masks to compare with, bind themselves, or a person chose how they are
/// (not) bound, which is what to change where that is wrong.
[[nodiscard]] bool concerns_ranks(const JobBinding& binding, Binder binder);

/// The value of MUSTER_BIND: `agent|profile lumi|0xfe,0xfe00|4,5|hsn2,hsn2|ROCR_VISIBLE_DEVICES`; without masks the
/// kind stands in their place: `agent||node|||`, `launcher|--bind none|none|||`.
[[nodiscard]] std::string to_text(const JobBinding& binding, Binder binder);
/// Fails with kind `usage` for anything else.
[[nodiscard]] Result<AskedBinding> parse_asked_binding(std::string_view text);

/// Of this process; nullopt: the launch asked for nothing, or the variable is damaged.
[[nodiscard]] std::optional<AskedBinding> asked_binding();

/// Who asked and which part binds, for people: `profile lumi, by the launcher`; `none (--bind none)`.
[[nodiscard]] std::string described(const AskedBinding& asked);
/// What each rank of a node was given: `0: CPUs 1-7, GPU 4, NIC hsn2; 1: ...`; empty for the whole node.
[[nodiscard]] std::string rank_list(const AskedBinding& asked);

/// Binds the calling thread, and the threads that it starts from now on, where the launch left that to the agent;
/// otherwise does nothing. Kind node: to all CPUs that the control group allows. To be called before MPI_Init.
/// Fails with kind `system` where the kernel refuses, or `local_rank` has no mask.
[[nodiscard]] Result<void> bind_as_asked(int local_rank);

}  // namespace muster
