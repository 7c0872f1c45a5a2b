/// What else than its mask decides where a rank runs: memory policy, control groups, the NUMA domains of the kernel.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/cpu_mask.hpp"
#include "base/files.hpp"

namespace muster::affinity {

/// `default`, `bind 0-1`, `preferred 0`: mode and domains of the calling thread. Fails where the kernel, or the filter
/// of a container, is unknown.
[[nodiscard]] Result<std::string> read_memory_policy();
/// The domains of such a text; empty: the policy names none.
[[nodiscard]] CpuMask domains_in_policy(std::string_view policy);
/// The domains from which the control group lets this process take memory (/proc/self/status).
[[nodiscard]] CpuMask read_allowed_memory(const fs::path& root = "/");

/// The CPUs of each NUMA domain that has some, by number.
[[nodiscard]] std::map<int, CpuMask> read_numa_domains(const fs::path& root = "/");

}  // namespace muster::affinity
