/// The kernels of src/device/kernels/kernels.cu, as this program carries them.
#pragma once

#include <string_view>

namespace muster {

/// For NVRTC and HIPRTC.
[[nodiscard]] std::string_view kernel_source();
/// PTX for sm_75 and later; empty when there was no nvcc where muster was built.
[[nodiscard]] std::string_view kernel_ptx();

}  // namespace muster
