/// AMD's HIP runtime.
#pragma once

#include "device/gpu.hpp"

namespace muster {

[[nodiscard]] GpuRuntime open_hip(const CallWatch& watch);
[[nodiscard]] std::string_view remedy_for_hip(int code);

}  // namespace muster
