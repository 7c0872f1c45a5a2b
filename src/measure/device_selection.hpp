/// Which devices a rank's environment leaves visible, and in which order. Pure; docs/methods/gpu_mapping.md names where
/// the rules of each runtime are written down.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/inventory.hpp"

namespace muster::gpu_mapping {

using Variables = std::map<std::string, std::string, std::less<>>;

/// All variables that select devices, or name the granted ones.
[[nodiscard]] std::span<const std::string_view> selection_variables();

/// What a program would call a device. Two ranks with slots of one name use the same thing.
struct Slot {
  std::string name;                ///< `0000:1b:00.0`; where it is unknown: `cuda:3`, `MIG-...`, `tile:2`
  const Device* device = nullptr;  ///< nullptr: unknown
};

/// Entries of a variable that a runtime silently ignores.
struct Fault {
  std::string kind;  ///< `ends`, `hides`, `repeats`, `filters`, `differs`
  std::string text;  ///< begins with the variable's name and `=`
};

struct Selection {
  std::string runtime;         ///< `CUDA`, `HIP`, `Level Zero`
  std::vector<Slot> slots;     ///< visible, in the runtime's order
  bool is_count_known = true;  ///< false: the runtime may show more than the kernel's files
  std::vector<Fault> faults;
  std::string assumption;  ///< what the order rests on; empty: nothing
  std::string unknown;     ///< why slots lack a device; empty: none does
};

/// `gpus` are of one vendor and usable, in the order of their PCI addresses; they must outlive the result.
[[nodiscard]] Selection select_devices(const std::vector<const Device*>& gpus, const Variables& variables);

}  // namespace muster::gpu_mapping
