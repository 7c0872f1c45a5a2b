/// NVIDIA's driver library. Only its primary contexts are used, and functions whose form is fixed.
#pragma once

#include "device/gpu.hpp"
#include "device/runtime_compiler.hpp"

namespace muster {

[[nodiscard]] GpuRuntime open_cuda(const CallWatch& watch);
/// What to do about a code of cuInit; a general word for others.
[[nodiscard]] std::string_view remedy_for_cuda(int code);
/// `CUDA_ERROR_NO_DEVICE` for codes that a library that does not work may not name itself; empty for others.
[[nodiscard]] std::string_view name_of_cuda(int code);

/// Code for the kernels of this program; `architecture` as in `compute_75`, `sm_90`. Fails as compile_kernels.
[[nodiscard]] Result<std::string> compile_by_nvrtc(const std::string& architecture);

}  // namespace muster
