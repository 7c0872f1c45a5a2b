/// AMD's management libraries, on a node that has GPUs of AMD.
#pragma once

#include "device/call_watch.hpp"
#include "device/inventory.hpp"

namespace muster {

/// Both, where the kernel shows a GPU of AMD's; elsewhere none is looked for.
void add_amd_libraries(Inventory& inventory, const CallWatch& watch);

/// ROCm SMI, `librocm_smi64`: source `rocm_smi`.
void add_rocm_smi(Inventory& inventory, const CallWatch& watch);
/// AMD SMI, `libamd_smi`: source `amd_smi`.
void add_amd_smi(Inventory& inventory, const CallWatch& watch);

}  // namespace muster
