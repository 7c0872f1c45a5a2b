/// hwloc's plug-in `gl` connects to X servers, which any user can pretend to be, and waits for an answer for ever.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

namespace muster {

/// The variable with which hwloc connects to none. nullopt where this environment or `more` chooses its components, or
/// the source of its topology (HWLOC_XMLFILE and others), which a list of components would override.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> hwloc_without_display(
    std::span<const std::pair<std::string, std::string>> more = {});

}  // namespace muster
