/// The GPUs and cores of a node that ranks are bound by: read on the node, and sent to the driver that runs elsewhere.
#pragma once

#include <optional>
#include <string>

#include "app/inputs/site.hpp"
#include "base/files.hpp"
#include "device/placement.hpp"

namespace muster {

/// Of this node, with the CPUs that the job may use. `machine`: folder of the machine that it is pretended to be;
/// empty: it is real. nullopt: it has no GPU.
[[nodiscard]] std::optional<NodeParts> parts_of_this_node(const fs::path& machine);
/// Its cores alone. nullopt: they can't be read.
[[nodiscard]] std::optional<NodeParts> cores_of_this_node(const fs::path& machine);

/// The same as one line of JSON: what `muster node parts` prints.
[[nodiscard]] std::string parts_in_json(const fs::path& machine);
/// Reads that line back. nullopt: it is damaged, or has no GPU.
[[nodiscard]] std::optional<NodeParts> parse_parts(const std::string& text);

/// Asks the first node that is not lost (seconds when it does not answer). nullopt: it has no GPU, or did not answer.
[[nodiscard]] std::optional<NodeParts> ask_for_parts(const SiteFound& found);

}  // namespace muster
