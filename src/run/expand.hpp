/// A check becomes cases: one per combination of swept values and partition. Part of select.
#pragma once

#include "run/settings.hpp"

namespace muster {

/// What all cases of a plan are made from.
struct Expansion {
  const SystemProfile& system;
  const SelectOptions& options;
  const Site& site;
  const Settings& settings;
  std::span<const PartitionProfile> partitions;  ///< those that are wanted
};

/// The cases of one check, complete with ids and shapes. Fails with kind `internal` when a parameter has no value.
[[nodiscard]] Result<std::vector<Case>> expand_check(const Check& check, const ProbeSpec& probe, const Expansion& with);

}  // namespace muster
