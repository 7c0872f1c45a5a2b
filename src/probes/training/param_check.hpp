/// What a training asks for, checked before it begins: impossible requests are the fault of the parameters.
#pragma once

#include <cstdint>

#include "muster/probe.hpp"
#include "probes/training/data.hpp"

namespace muster::training {

/// Bytes that one rank of `ranks` needs, near enough; rank 0 also trains alone, for comparison.
struct Demand {
  std::uint64_t data = 0;      ///< grows with samples, held_out and features
  std::uint64_t network = 0;   ///< with hidden, features and classes
  std::uint64_t activity = 0;  ///< with batch
  [[nodiscard]] std::uint64_t all() const { return data + network + activity; }
};
[[nodiscard]] Demand demand_of(const Settings& settings, int rank, int ranks);

/// Fails with kind `usage` and the name of a parameter where the settings contradict each other, or where the ranks of
/// this node need more than `available` bytes (0: not known).
[[nodiscard]] Result<void> demand_sense(const Settings& settings, const RankPlace& place, std::uint64_t available);

}  // namespace muster::training
