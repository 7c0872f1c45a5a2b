#include "device/gpu_vendor.hpp"

namespace muster {

extern const GpuVendor nvidia_gpus;
// The driver shows its folder from the moment it is loaded; without it, it knows no GPU at all.
constexpr GpuVendor nvidia_gpus{.name = "nvidia",
                                .driver = "nvidia",
                                .other_driver = "",
                                .driver_source = "nvidia",
                                .is_source_there = true,
                                .visible_variable = "CUDA_VISIBLE_DEVICES",
                                .log_marks = "NVRM, Xid",
                                .error_mark = "Xid",
                                .call_prefixes = "cu,nv",
                                .collectives = "NCCL",
                                .compiler = "NVRTC",
                                .toolkit = "the CUDA toolkit",
                                .state_command = "nvidia-smi -q",
                                .memory_command = "nvidia-smi -q",
                                .links_command = "nvidia-smi nvlink -s -e"};

}  // namespace muster
