// So far what a placement and the inventory need; docs/extending.md lists what else a backend has.
#include "device/gpu_vendor.hpp"

namespace muster {

extern const GpuVendor intel_gpus;
constexpr GpuVendor intel_gpus{.name = "intel",
                               .driver = "i915",
                               .other_driver = "xe",
                               .driver_source = "",
                               .is_source_there = false,
                               .visible_variable = "ZE_AFFINITY_MASK",
                               .log_marks = "",
                               .error_mark = "",
                               .collectives = "",
                               .compiler = "",
                               .toolkit = "",
                               .state_command = "",
                               .memory_command = "",
                               .links_command = ""};

}  // namespace muster
