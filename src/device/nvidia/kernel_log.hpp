/// Messages of NVIDIA's drivers in the kernel's log.
#pragma once

#include <optional>
#include <string_view>

#include "device/kernel_log.hpp"
#include "device/kernel_log_forms.hpp"

namespace muster {

/// `NVRM: Xid (PCI:0000:c1:00): 79, ...`, `nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, ...`.
[[nodiscard]] std::optional<KernelEvent> numbered_by_nvidia(std::string_view message);
/// `NVRM: text`, `nvidia-nvswitch3: text`, `nvidia-nvlink: text`.
[[nodiscard]] std::optional<Heading> nvidia_heading(std::string_view message);

}  // namespace muster
