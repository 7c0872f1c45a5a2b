#include "device/gpu_vendor.hpp"

namespace muster {

extern const GpuVendor amd_gpus;
constexpr GpuVendor amd_gpus{.name = "amd",
                             .driver = "amdgpu",
                             .other_driver = "",
                             .driver_source = "kfd",
                             .is_source_there = false,
                             .visible_variable = "ROCR_VISIBLE_DEVICES",
                             .log_marks = "amdgpu",
                             .error_mark = "amdgpu",
                             .collectives = "RCCL",
                             .compiler = "HIPRTC",
                             .toolkit = "ROCm",
                             .state_command = "rocm-smi",
                             .memory_command = "rocm-smi --showrasinfo",
                             .links_command = "rocm-smi --shownodesbw"};

}  // namespace muster
