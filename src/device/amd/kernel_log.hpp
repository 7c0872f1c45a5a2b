/// Messages of amdgpu in the kernel's log.
#pragma once

#include <string_view>

namespace muster {

/// Without the driver's prefixes, and without names that users choose.
[[nodiscard]] std::string_view amdgpu_words(std::string_view text);

}  // namespace muster
