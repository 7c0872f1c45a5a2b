/// Variables whose value differs from rank to rank. A launcher gives all ranks the same environment.
#pragma once

#include <optional>

#include "system/asked_binding.hpp"

namespace muster {

/// Changes this process's environment; to be called before anything reads it, as MPI and the libraries of devices do
/// once. In all values, `{local_rank}` becomes the number, `{gpu}` the rank's GPU of `asked` (without one: the local
/// rank) and `{nic}` its network card (without one the variable is removed). The GPU variable that `asked` names gets
/// the GPU, unless options of the user bind. `local_rank` below 0 (unknown): does nothing.
void fill_rank_variables(int local_rank, const std::optional<AskedBinding>& asked);

}  // namespace muster
