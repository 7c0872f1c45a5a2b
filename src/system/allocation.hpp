/// The scheduler's job that muster runs in, from the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "muster/result.hpp"

namespace muster {

/// What a scheduler has granted.
struct Allocation {
  std::string scheduler;  ///< `Slurm`
  std::string job;        ///< its number, as the scheduler writes it
  std::vector<std::string> nodes;
  std::optional<int> tasks_per_node;  ///< as requested; none: not requested, or not the same on all nodes
  std::optional<int> cpus_per_node =
      std::nullopt;  ///< logical CPUs granted, of the node with the fewest; none: unknown
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// The value of a variable; none: it is not set.
using Variables = std::function<std::optional<std::string>(const std::string&)>;

/// None: this process is outside of a job. Fails with kind `usage` when its list of nodes can't be read.
[[nodiscard]] Result<std::optional<Allocation>> find_allocation(const Variables& variable);
/// As this process has them.
[[nodiscard]] Result<std::optional<Allocation>> find_allocation();

}  // namespace muster
