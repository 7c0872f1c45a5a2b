/// What a rank that trains with others is held against: what one rank computes alone, with the right parts.
#pragma once

#include "probes/training/train.hpp"

namespace muster::training {

/// Losses of the first `reference_steps` steps from `start`, `most` at most, computed by `parts.reference`. Not
/// collective.
[[nodiscard]] Result<std::vector<double>> train_alone(const Parts& parts, const Task& task, const State& start,
                                                      int first_epoch, std::size_t most);

/// Not collective. Whether `replica` gets the gradients and the loss of `which` that the reference gets, both with the
/// parameters of `start`; they are the replica's afterwards.
[[nodiscard]] Result<bool> computes_rightly(const Parts& parts, const Task& task, Replica& replica, const State& start,
                                            std::span<const std::uint32_t> which);

}  // namespace muster::training
