#include "device/amd/libraries.hpp"

#include <algorithm>

namespace muster {

void add_amd_libraries(Inventory& inventory, const CallWatch& watch) {
  const bool has_gpu = std::any_of(inventory.devices.begin(), inventory.devices.end(), [](const Device& device) {
    return device.kind == DeviceKind::gpu && device.vendor_id == "1002" &&
           (device.driver == "amdgpu" || device.is_seen_by("kfd"));
  });
  if (!has_gpu) return;
  add_rocm_smi(inventory, watch);
  add_amd_smi(inventory, watch);
}

}  // namespace muster
