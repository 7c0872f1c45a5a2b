/// One rank's report on its devices. Reads files, the environment and its CPU mask; judges nothing.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_mask.hpp"
#include "device/machine.hpp"
#include "measure/device_selection.hpp"
#include "muster/probe.hpp"

namespace muster::gpu_mapping {

/// How a program is taken to choose.
struct Habit {
  std::string choice;       ///< parameter `choice`
  bool goes_round = false;  ///< local ranks beyond the last device start again at the first
};

/// Which of the visible devices the rank takes.
struct Choice {
  std::string by;     ///< `LOCAL_RANK`, `local rank`, `first`, `only one`
  std::string value;  ///< what stands there; untrusted
  int index = -1;     ///< -1: `value` is not an index
  friend bool operator==(const Choice&, const Choice&) = default;
};

[[nodiscard]] Choice choose(const Selection& selection, const Variables& variables, int local_rank, const Habit& habit);

struct Asker {
  int local_rank = 0;
  CpuMask mask;
  Variables variables;
};

/// The facts of one rank: `runtime`, `gpu`, `closed`, `unusable`, `visible`, `device`, ..., as
/// docs/methods/gpu_mapping.md lists them.
[[nodiscard]] std::vector<Fact> observe(const Machine& machine, const Inventory& inventory, const Asker& asker,
                                        const Habit& habit);

/// The same of this process, with the vendor of each GPU (`vendor`); empty where the node can't be read.
[[nodiscard]] std::vector<Fact> observe_here(int local_rank);

/// The variable whose list hides every GPU, by the facts of `observe`; empty: none does.
[[nodiscard]] std::string hiding_setting(const std::vector<Fact>& facts);

/// The NICs nearest to a GPU, the fastest where several are as near, with how near: `hsn0 (same switch)`; empty: none
/// is known to be near.
[[nodiscard]] std::string nearest_nics(const Inventory& inventory, const Device& gpu);

}  // namespace muster::gpu_mapping
