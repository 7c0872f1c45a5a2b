// So far what a placement and the inventory need; docs/extending.md lists what else a vendor's folder has.
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

constexpr std::string_view pci_vendors[] = {"8086"};
constexpr std::string_view pci_classes[] = {"0300", "0302", "0380"};
constexpr std::string_view selection_variables[] = {"ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY",
                                                    "ZE_ENABLE_PCI_ID_DEVICE_ORDER"};
constexpr std::string_view components[] = {"levelzero"};

}  // namespace

extern const GpuVendor intel_gpus;
constexpr GpuVendor intel_gpus{.name = "intel",
                               .maker = "Intel",
                               .place = 3,
                               .pci_vendors = pci_vendors,
                               .pci_classes = pci_classes,
                               .is_first_display_a_gpu = false,
                               .driver = "i915",
                               .other_driver = "xe",
                               .has_render_files = true,
                               .visible_variable = "ZE_AFFINITY_MASK",
                               .selection = SelectionRules::level_zero,
                               .selection_variables = selection_variables,
                               .hwloc_components = components};

}  // namespace muster
