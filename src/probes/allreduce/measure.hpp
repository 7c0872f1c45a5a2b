/// One size and type, measured by all ranks: operations after a barrier each, the slowest rank's time counts.
#pragma once

#include <vector>

#include "measure/pair_measure.hpp"
#include "muster/probe.hpp"
#include "probes/allreduce/values.hpp"

namespace muster::allreduce {

struct Task {
  SumType type = SumType::float32;
  std::size_t size = 0;  ///< bytes on each rank
  int slots = 1;
};

struct Measured {
  Sampled time;      ///< us, of the slowest rank of each operation; on every rank the same
  Summary own;       ///< us, from this rank's call to its return, in the operations that `time` is of
  Summary skew;      ///< us by which this rank's own time was shorter than the slowest one's
  int slowest = -1;  ///< rank that was slowest most often; on rank 0 only
  double slowest_share = 0;
  std::uint64_t operations = 0;
  std::uint64_t looked = 0;  ///< results of which this rank looked at every element
  std::optional<WrongElement> wrong;
};

/// Collective over all ranks. Rank 0 decides how long. `with.in` and `with.out` are this rank's buffers.
[[nodiscard]] Result<Measured> measure(p2p::Equipment& with, const Task& task, const SamplingGoal& goal);

/// The summary of the quantity `factor` / time.
[[nodiscard]] Summary rate_of(const Summary& time, double factor);

}  // namespace muster::allreduce
