/// Which GPU is a rank's own, as far as its environment is unambiguous, and the network cards near to it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/inventory.hpp"

namespace muster::affinity {

/// The variables of all vendors that select devices, those that are set.
using Visible = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] Visible read_visible();

/// A GPU, and why it is thought to be the rank's.
struct OwnGpu {
  std::string address;  ///< empty: unknown
  std::string because;  ///< `ROCR_VISIBLE_DEVICES=4`
  friend bool operator==(const OwnGpu&, const OwnGpu&) = default;
};
/// The one GPU that is left when control group and variables have hidden the others. Indices count in the order of PCI
/// addresses: CUDA_DEVICE_ORDER=PCI_BUS_ID, and the order of HIP and CUDA where all GPUs are alike.
[[nodiscard]] OwnGpu own_gpu(const Inventory& inventory, const Visible& visible);
/// Addresses of the GPUs that this process may open.
[[nodiscard]] std::vector<std::string> usable_gpus(const Inventory& inventory);
/// Network cards on one of these NUMA domains.
[[nodiscard]] std::vector<std::string> nics_on(const Inventory& inventory, const std::vector<int>& domains);

}  // namespace muster::affinity
