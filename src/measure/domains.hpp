/// The memory of this node: which CPUs are near to which part of it, what caches it, how much is free.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_mask.hpp"
#include "base/files.hpp"

namespace muster::memory_bandwidth {

struct Domain {
  std::string name;         ///< the kernel's number of it: `0`
  CpuMask cpus;             ///< one CPU of each core, of those that we may use
  CpuMask closed;           ///< one CPU of each core of the domain that we may not use at all
  std::uint64_t cache = 0;  ///< last-level caches of these CPUs together; 0: unknown
};

/// The NUMA domains that hold a CPU of `allowed`, by number; a kernel that knows none has one, `0`, with all CPUs.
[[nodiscard]] std::vector<Domain> read_domains(const CpuMask& allowed, const fs::path& root = "/");
/// One CPU, the lowest, of each core of the node that `allowed` does not touch: also in domains that hold none of its
/// CPUs.
[[nodiscard]] CpuMask closed_cores(const CpuMask& allowed, const fs::path& root = "/");

/// Bytes that we may take without pushing anyone out: MemAvailable, or what the memory limits of our control group and
/// its parents leave if that is less. 0: unknown.
[[nodiscard]] std::uint64_t read_available_memory(const fs::path& root = "/");

/// Arrays of that many times the last-level caches are memory's (STREAM's rule).
inline constexpr std::uint64_t times_of_cache = 4;

/// Bytes of one of the three arrays of a domain, and a sentence with the reason.
struct Size {
  std::uint64_t bytes = 0;
  std::string why;
};
/// `threads` of them will work on this domain, and `available` is this domain's share of the free memory. `asked` = 0:
/// at least 4 times the last-level caches (as STREAM asks), at most an eighth of the free memory for the three arrays
/// and 256 MiB per thread, so that touching them takes less than about a second.
/// Fails when what was asked for needs more than is free: the kernel would grant it and kill a process later.
[[nodiscard]] Result<Size> choose_size(std::uint64_t asked, std::uint64_t cache, int threads, std::uint64_t available);

}  // namespace muster::memory_bandwidth
