/// What NVIDIA's kernel driver shows in files, and which of its device files are made on demand.
#pragma once

#include "device/inventory.hpp"
#include "device/machine.hpp"

namespace muster {

/// GPUs by /proc, and the versions of driver and management library.
void add_nvidia(const Machine& machine, Inventory& inventory);
/// The driver's setuid helper makes missing files when a program first asks for them.
void forgive_files_made_on_demand(const Machine& machine, Inventory& inventory);

}  // namespace muster
