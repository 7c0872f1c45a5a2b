/// Data-parallel training from start to end, looking at itself after every epoch. Made of parts, so that a test can
/// give a rank one that does wrong.
#pragma once

#include "muster/probe.hpp"
#include "probes/training/replica.hpp"

namespace muster::training {

/// What carries gradients that lie in memory of devices.
struct Carrier {
  Comm* comm = nullptr;  ///< null: that of the training
  bool takes_device_memory = false;
  bool is_overlapped = true;
  std::function<void()> abandon;
};

/// What the ranks of a training are made of.
struct Parts {
  Execution& execution;
  Comm& comm;
  Recorder& recorder;
  std::function<std::vector<std::uint32_t>(const Settings&, int epoch)> order = order_of;
  std::function<std::vector<std::uint32_t>(std::span<const std::uint32_t> batch, int rank, int ranks)> part =
      [](std::span<const std::uint32_t> batch, int rank, int ranks) {
        const auto mine = part_of(batch, rank, ranks);
        return std::vector<std::uint32_t>(mine.begin(), mine.end());
      };
  UpdateFunction update = [](Execution& execution, const Update& update) { execution.update(update); };
  std::function<bool(int rank)> writes_checkpoint = [](int rank) { return rank == 0; };
  /// Where the sums of gradients go another way than over `comm` and, if need be, by way of the host.
  Carrier carrier = {};
  /// What knows how it should be: the loss of rank 0 alone, and each rank's gradients when that differs. Null:
  /// `execution` for the loss, the host's plain loops for gradients.
  Execution* reference = nullptr;
  double tolerance = curve_tolerance;  ///< of the loss, as a share of max(reference, 0.1)
};

/// What this rank is to do besides training.
struct Task {
  const Settings& settings;
  const DataSet& data;
  const DataSet& held_out;
  std::string checkpoint;   ///< file; empty: a temporary one, which is removed
  std::string resume;       ///< file to go on from; empty: start anew
  bool times_sums = false;  ///< adds up alone at the end, to know what overlapping saves
};

/// A sample that was not taken exactly once, and when.
struct MiscountedIn {
  int epoch = 0;
  Miscounted what;
};

/// What ended a training on this rank.
struct Broken {
  int step = -1;      ///< that it was in, or that was the last one
  std::string error;  ///< of this rank's device; empty: another's
};

struct SavedState {
  bool is_mine = false;            ///< this rank has written the file
  std::size_t bytes = 0;           ///< of the file as read back; on rank 0 only
  std::string fault;               ///< why it can't be gone on from; the same on every rank
  int writer = -1;                 ///< rank that the file names
  bool is_of_another_run = false;  ///< the file read back is not the one that was written
  int compared = 0;                ///< steps done again after it was read back
  int first_difference = -1;       ///< step in which they were not the same to the bit; -1: none
};

/// What one rank knows when it is over.
struct Trained {
  int first_step = 0;  ///< > 0: resumed
  int epochs = 0;      ///< that were done
  int planned_epochs = 0;
  std::vector<double> losses;  ///< of every step, from first_step on
  std::vector<StepTimes> times;
  std::vector<int> own_samples;  ///< of this rank in each step
  std::optional<Divergence> divergence;
  int not_finite_own = -1;  ///< first step in which this rank's own gradients were not all finite; -1: none
  int not_finite_sum = -1;  ///< likewise, the sums
  int zero_own = -1;        ///< likewise, all of this rank's own were 0
  int zero_sum = -1;
  int miscovered_step = -1;
  std::optional<Miscovered> miscovered;
  std::vector<MiscountedIn> miscounted;
  int covered = 0;            ///< epochs in which every sample was taken exactly once
  int same_order = -1;        ///< the first epoch with the order of the one before it; -1: none
  CurveDifference reference;  ///< rank 0's, sent to all
  double reference_loss = 0;  ///< at the first step that differs
  std::optional<double> accuracy;
  SavedState saved;
  std::optional<Broken> broken;         ///< a device failed: nothing of what came after it means anything
  std::vector<int> wrong_gradients;     ///< ranks whose own gradients are not those that the reference computes
  std::vector<double> sum_seconds;      ///< of adding up alone
  std::vector<double> compute_by_rank;  ///< median seconds of forward and backward; empty: not asked for
};

/// Collective. Every rank takes part until the end whatever it finds; after an epoch in which ranks came apart, or
/// gradients were not finite, all of them stop; when a device fails, at once. Fails when the communicator does, or on
/// all ranks when `task.resume` can't be gone on from.
[[nodiscard]] Result<Trained> train(const Parts& parts, const Task& task);

}  // namespace muster::training
