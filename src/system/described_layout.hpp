/// The layout that a description promises: what read_layout finds on the machine once it is written.
#pragma once

#include "model/machine_description.hpp"
#include "system/layout.hpp"

namespace muster {

[[nodiscard]] Layout layout_of(const MachineDescription& machine);

}  // namespace muster
