#include "system/hwloc_display.hpp"

#include <algorithm>
#include <cstdlib>

namespace muster {

std::optional<std::pair<std::string, std::string>> hwloc_without_display(
    std::span<const std::pair<std::string, std::string>> more) {
  constexpr const char* components = "HWLOC_COMPONENTS";
  for (const char* name : {components, "HWLOC_XMLFILE", "HWLOC_FSROOT", "HWLOC_SYNTHETIC", "HWLOC_CPUID_PATH"}) {
    const bool is_in_more = std::any_of(more.begin(), more.end(), [&](const auto& one) { return one.first == name; });
    if (is_in_more || std::getenv(name) != nullptr) return std::nullopt;
  }
  return std::pair<std::string, std::string>(components, "-gl");
}

}  // namespace muster
