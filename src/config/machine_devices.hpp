/// The devices of a machine description, and what may be wrong with them.
#pragma once

#include "config/document.hpp"
#include "config/document_errors.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// `[gpus]`. CPUs and domains of `machine` are known.
[[nodiscard]] DescribedGpus read_gpus(const Entry& entry, const MachineDescription& machine, DocumentErrors& errors);
/// One `[[nics]]`, added to the machine's.
void read_nics(const Node& table, MachineDescription& machine, DocumentErrors& errors);
/// `[fault.NAME]`. The devices of `machine` are known.
[[nodiscard]] MachineFault read_fault(const Entry& entry, const MachineDescription& machine, DocumentErrors& errors);

}  // namespace muster
