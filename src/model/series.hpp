/// Which values of different runs may be compared.
#pragma once

#include <string>
#include <string_view>

#include "model/item.hpp"
#include "muster/observation.hpp"
#include "muster/probe.hpp"

namespace muster {

/// Additional readings of a metric, under the metric's name with this at its end: the maximum that the
/// hardware should reach, and the best that it could ever do.
inline constexpr std::string_view capable_suffix = ".capable";
inline constexpr std::string_view possible_suffix = ".possible";
/// The name without either of these.
[[nodiscard]] std::string_view base_metric(std::string_view metric);

/// False for the hardware's maxima (`.capable`, `.possible`) and for curves (label `step`), which are not
/// values over time.
[[nodiscard]] bool is_of_series(std::string_view metric, const Labels& where);

/// What of the job's shape a value depends on: of a link, a device under test and a node's memory the number of ranks
/// per node; of anything else (nullptr: a probe that is not known) also how many nodes there are.
[[nodiscard]] std::string job_shape(const ProbeSpec* probe, ItemKind kind, int nodes, int ranks);

}  // namespace muster
