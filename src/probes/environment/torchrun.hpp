/// What the torchrun of the user's launch line would do in each task: whether all of them become one job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "muster/observation.hpp"
#include "probes/environment/variables.hpp"

namespace muster::environment {

/// In front of a value that is not known.
inline constexpr char unknown_value = '?';

/// `torchrun.NAME` for each option of this task that counts, from `options` (src/config/torchrun_options.hpp) with the
/// task's own variables, else from PET_*, which torchrun reads, too. A value that is not known is `?` and its text.
[[nodiscard]] std::vector<Fact> torchrun_facts(std::string_view options, const Variables& variables);

/// The GPUs that this task sees, separated by spaces; `none`: the node has none; empty: not known.
[[nodiscard]] std::string torchrun_gpus(const Variables& variables, int local_rank);

}  // namespace muster::environment
