/// The sources of the host, each adding to the inventory what it knows. In the order of host.cpp, with those of
/// vendors (GpuBackend::add_files) behind the PCI bus: later ones add to its data.
#pragma once

#include "device/inventory.hpp"
#include "device/machine.hpp"

namespace muster {

void add_pci(const Machine& machine, Inventory& inventory);
/// Needs the data of the PCI bus: which device has which file.
void add_device_files(const Machine& machine, Inventory& inventory);
void add_network(const Machine& machine, Inventory& inventory);

}  // namespace muster
