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
  std::uint64_t operations = 0;       ///< timed
  std::uint64_t summed = 0;           ///< with those that followed, of which every result is looked at (`with.verify`)
  std::uint64_t looked = 0;           ///< results of which this rank looked at every element
  std::optional<WrongElement> wrong;  ///< the first, by its place in its sum, with the number of all
  std::uint64_t wrong_sums = 0;       ///< of those looked at
};

/// Collective over all ranks. Rank 0 decides how long. `with.in` and `with.out` are this rank's buffers; the latter may
/// be longer (p2p::burst_slack), so that the sums that are not timed differ from each other.
[[nodiscard]] Result<Measured> measure(p2p::Equipment& with, const Task& task, const SamplingGoal& goal);

/// The summary of the quantity `factor` / time.
[[nodiscard]] Summary rate_of(const Summary& time, double factor);

}  // namespace muster::allreduce
