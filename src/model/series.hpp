/// Which values of different runs may be compared.
#pragma once

#include <string>
#include <string_view>

#include "model/item.hpp"
#include "muster/observation.hpp"
#include "muster/probe.hpp"

namespace muster {

/// False for figures of what the hardware could do (`.capable`) and for curves (label `step`): they are no values over
/// time.
[[nodiscard]] bool is_of_series(std::string_view metric, const Labels& where);

/// What of the job's shape a value depends on: of a link, a device under test and a node's memory the number of ranks
/// per node; of anything else (nullptr: a probe that is not known) also how many nodes there are.
[[nodiscard]] std::string job_shape(const ProbeSpec* probe, ItemKind kind, int nodes, int ranks);

}  // namespace muster
