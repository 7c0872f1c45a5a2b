/// AMD's HIP runtime.
#pragma once

#include "device/gpu.hpp"
#include "device/runtime_compiler.hpp"

namespace muster {

[[nodiscard]] GpuRuntime open_hip(const CallWatch& watch);
[[nodiscard]] std::string_view remedy_for_hip(int code);

/// Code for the kernels of this program, for the device that is in use. Fails as compile_kernels.
[[nodiscard]] Result<std::string> compile_by_hiprtc();

}  // namespace muster
