/// Shares the cores of a node out among ranks that each have a home: the CPUs that it should be near to. The part of
/// the placement that knows nothing of devices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "system/layout.hpp"

namespace muster {

/// Cores, each given by the lowest of its CPUs that may be used, in the order in which they lie on the chip.
[[nodiscard]] std::vector<int> free_cores(const Layout& layout, const CpuMask& usable);
/// The union of the NUMA domains that `home` touches; the home itself where no domain is known.
[[nodiscard]] CpuMask domains_around(const Layout& layout, const CpuMask& home);

struct CoreAssignment {
  const Layout& layout;
  CpuMask usable;
  std::vector<CpuMask> homes;  ///< of each rank
};

/// How far from home a rank may find its cores.
enum class CoreRange : std::uint8_t { home, domain, node };

/// The cores of each rank, given by one CPU each. Ranks of one home share it out evenly; one that finds too few there
/// looks around as far as it may. `width` is the cores of each rank, 0: as many as are fair. nullopt: some rank finds
/// too few, or none in the domains of its home.
[[nodiscard]] std::optional<std::vector<CpuMask>> assign_cores(const CoreAssignment& assignment, int width,
                                                               CoreRange range);

/// Ranks that no sharing of the cores in their domains can serve: together they are more than there are such cores.
/// Empty: every rank can have one.
[[nodiscard]] std::vector<std::size_t> crowded_ranks(const CoreAssignment& assignment);

/// One rank beside the other, filling caches, then domains, before the next is begun. nullopt: too few cores.
[[nodiscard]] std::optional<std::vector<CpuMask>> assign_cores_compactly(const CoreAssignment& assignment, int width);

/// NUMA domains for ranks without a device, far from each other where they may choose; the whole machine where no
/// domain can hold them.
[[nodiscard]] std::vector<CpuMask> spread_homes(const Layout& layout, const CpuMask& usable, std::size_t ranks,
                                                int width);

}  // namespace muster
