// So far what a placement and the inventory need; docs/extending.md lists what else a vendor's folder has.
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

constexpr std::string_view pci_vendors[] = {"8086"};
constexpr std::string_view pci_classes[] = {"0300", "0302", "0380"};
// Otherwise the mask counts tiles, in the order of their speed.
constexpr std::string_view order_settings[] = {"ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE", "ZE_ENABLE_PCI_ID_DEVICE_ORDER=1"};
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
                               .files_missing =
                                   "see whether the driver loaded (dmesg: i915, xe); in a container, pass "
                                   "/dev/dri to it",
                               .files_denied =
                                   "put the user into the groups that own them (render, video), or set "
                                   "their mode by a udev rule",
                               .visible_variable = "ZE_AFFINITY_MASK",
                               .order_settings = order_settings,
                               .selection = SelectionRules::level_zero,
                               .selection_variables = selection_variables,
                               .hwloc_components = components};

}  // namespace muster
