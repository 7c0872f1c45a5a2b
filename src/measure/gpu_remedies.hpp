/// What to do about a GPU, as several probes advise it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// It failed in a call, or in what it computed.
[[nodiscard]] std::string remedy_for_failed_gpu(std::string_view host);
/// No code for kernels is built in, and none can be compiled.
[[nodiscard]] std::string remedy_without_kernels();
/// No library of a driver shows a GPU.
[[nodiscard]] std::string remedy_without_runtime();
/// Kernels for GPUs of this vendor can't be loaded.
[[nodiscard]] std::string remedy_without_compiler(std::string_view vendor);
/// The vendors' commands, one behind the other: for clocks, power limits and reasons of throttling; errors of
/// memory; state and errors of links.
[[nodiscard]] std::string state_commands();
[[nodiscard]] std::string memory_commands();
[[nodiscard]] std::string links_commands();

}  // namespace muster
