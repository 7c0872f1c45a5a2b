/// The devices of a machine description, and what may be wrong with them.
#pragma once

#include "config/complaints.hpp"
#include "config/document.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// `[gpus]`. CPUs and domains of `machine` are known.
[[nodiscard]] DescribedGpus read_gpus(const Entry& entry, const MachineDescription& machine, Complaints& complaints);
/// One `[[nics]]`, added to the machine's.
void read_nics(const Node& table, MachineDescription& machine, Complaints& complaints);
/// `[fault.NAME]`. The devices of `machine` are known.
[[nodiscard]] MachineFault read_fault(const Entry& entry, const MachineDescription& machine, Complaints& complaints);

}  // namespace muster
