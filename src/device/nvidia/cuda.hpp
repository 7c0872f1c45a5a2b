/// NVIDIA's driver library. Only its primary contexts are used, and functions whose form is fixed.
#pragma once

#include "device/gpu.hpp"

namespace muster {

[[nodiscard]] GpuRuntime open_cuda(const CallWatch& watch);
/// What to do about a code of cuInit; a general word for others.
[[nodiscard]] std::string_view remedy_for_cuda(int code);
/// `CUDA_ERROR_NO_DEVICE` for codes that a library that does not work may not name itself; empty for others.
[[nodiscard]] std::string_view name_of_cuda(int code);

}  // namespace muster
