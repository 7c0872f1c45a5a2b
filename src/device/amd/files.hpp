/// What AMD's kernel drivers show in files, below `machine`.
#pragma once

#include <memory>
#include <string>

#include "device/gpu_meter.hpp"
#include "device/inventory.hpp"
#include "device/machine.hpp"

namespace muster {

void add_kfd(const Machine& machine, Inventory& inventory);
/// Needs the data of the PCI bus: which device is amdgpu's.
void add_amdgpu_files(const Machine& machine, Inventory& inventory);
/// By the sensors that amdgpu shows below `root`; on a card of two GPUs only the first has power.
[[nodiscard]] std::unique_ptr<GpuMeter> open_amdgpu_meter(const PciAddress& address, const std::string& root);

}  // namespace muster
