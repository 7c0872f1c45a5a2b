/// The sources of the host, each adding to the inventory what it knows. In the order of host.cpp: later ones
/// add to the data of the PCI bus.
#pragma once

#include "device/inventory.hpp"
#include "device/machine.hpp"

namespace muster {

void add_pci(const Machine& machine, Inventory& inventory);
void add_nvidia(const Machine& machine, Inventory& inventory);
void add_kfd(const Machine& machine, Inventory& inventory);
/// Needs the data of the PCI bus: which device is amdgpu's.
void add_amdgpu_files(const Machine& machine, Inventory& inventory);
/// Needs the data of the PCI bus: which device has which file.
void add_device_files(const Machine& machine, Inventory& inventory);
void add_network(const Machine& machine, Inventory& inventory);

}  // namespace muster
