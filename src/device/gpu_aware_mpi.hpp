/// Whether the MPI library of this process takes messages from GPU memory.
#pragma once

#include <optional>
#include <string_view>

namespace muster {

/// For GPUs of `vendor`, as the library itself answers; nullopt where it has nothing to answer with.
[[nodiscard]] std::optional<bool> is_mpi_gpu_aware(std::string_view vendor);

}  // namespace muster
