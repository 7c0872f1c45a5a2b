#include "device/gpu_vendor.hpp"

namespace muster {

extern const GpuVendor nvidia_gpus;
// The driver has its folder in /proc from the moment it is loaded; without that folder it runs no GPU.
constexpr GpuVendor nvidia_gpus{.name = "nvidia",
                                .driver = "nvidia",
                                .other_driver = "",
                                .driver_source = "nvidia",
                                .is_source_there = true,
                                .visible_variable = "CUDA_VISIBLE_DEVICES",
                                .log_marks = "NVRM, Xid",
                                .error_mark = "Xid",
                                .collectives = "NCCL",
                                .compiler = "NVRTC",
                                .toolkit = "the CUDA toolkit",
                                .state_command = "nvidia-smi -q",
                                .memory_command = "nvidia-smi -q",
                                .links_command = "nvidia-smi nvlink -s -e"};

}  // namespace muster
