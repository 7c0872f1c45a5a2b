/// A GPU as a place to compute: its memory, the kernels of src/device/kernels/training.cu, and products by the vendor's
/// BLAS where that is found.
#pragma once

#include <memory>

#include "device/execution.hpp"
#include "device/gpu.hpp"

namespace muster {

/// Everything happens on a stream of its own. The first failure of a call is kept, nothing is called after it, and
/// `finish` reports it from then on. The same operations give the same bits again on the same model of GPU with the
/// same libraries.
///
/// `fastest`: cuBLAS or hipBLAS; kernels of our own where there is none, or where it is unusable, as in `name`:
/// `GPU 0000:c1:00.0, cuBLAS 13.0.2`, `GPU 0000:c1:00.0, own kernels (libcublas.so.13 is absent)`.
///
/// `gpus` must outlive it and its memory. Fails with kind `device` where there is no code for kernels or no memory.
[[nodiscard]] Result<std::unique_ptr<Execution>> make_gpu_execution(const Gpus& gpus, int device, Products products,
                                                                    const CallWatch& watch);

}  // namespace muster
