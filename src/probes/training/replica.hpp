/// One rank's copy of what is trained, and one step of it: backward, sums over ranks as gradients become known, update.
#pragma once

#include <functional>
#include <optional>

#include "muster/comm.hpp"
#include "probes/training/audit.hpp"
#include "probes/training/checkpoint.hpp"
#include "probes/training/network.hpp"

namespace muster::training {

/// Seconds of a step. What is compared and checked besides is in none of them.
struct StepTimes {
  double compute = 0;  ///< from the start until the last gradient is known
  double wait = 0;     ///< from then until all sums are there
  double all = 0;
};

/// A sum that is not of the samples that it should be of.
struct Miscovered {
  int bucket = 0;
  double samples = 0;  ///< that it is of
  int batch = 0;
};

struct Step {
  StepRecord record;
  StepTimes times;
  double loss = 0;            ///< mean over the batch, before the update
  bool is_own_finite = true;  ///< this rank's gradients
  bool is_own_zero = false;   ///< all of them
  bool is_sum_finite = true;
  bool is_sum_zero = false;
  std::optional<Miscovered> miscovered;
  bool is_stopped = false;  ///< another rank's device has failed: nothing else here means anything
};

using UpdateFunction = std::function<void(Execution&, const Update&)>;

/// What adds up a rank's gradients with the others'.
struct Sums {
  Comm* comm = nullptr;              ///< null: a single rank without sums
  bool takes_device_memory = false;  ///< false: by way of host memory, where the execution's is another
  bool is_overlapped = true;         ///< false: when the last gradient is known, one after the other
  std::function<void()> abandon;     ///< ends sums that were begun and that others will not make; may be empty
  Comm* alarm = nullptr;  ///< where a device may fail: ranks exchange their state in every step. Null: they do not
  std::function<void(bool is_waiting)>
      announce;  ///< called before this rank waits for the others, and after; may be empty
};

class Replica {
 public:
  /// All of it must outlive the replica.
  [[nodiscard]] static Result<Replica> make(Execution& execution, const Settings& settings, const Layout& layout,
                                            int most_rows, Sums sums, UpdateFunction update);

  /// Collective with a communicator. `which` is this rank's part of a batch of `batch` samples. With an alarm, a device
  /// that fails is heard of by all ranks in this step or the next one: there it fails with kind `device`, and elsewhere
  /// the step is stopped.
  [[nodiscard]] Result<Step> step(const DataSet& data, std::span<const std::uint32_t> which, int batch);
  /// Collective. Seconds of adding up all buckets while nothing is computed.
  [[nodiscard]] Result<double> time_sums();
  /// Not collective. Gradients of samples `which` with the parameters of `state`, laid out as all else.
  [[nodiscard]] std::vector<float> gradient_of(const State& state, const DataSet& data,
                                               std::span<const std::uint32_t> which, int batch);
  /// Waits for all that was asked of the device. Fails with what failed first, also in earlier steps.
  [[nodiscard]] Result<void> finish();

  void load(const State& state);
  [[nodiscard]] State save() const;
  /// Of parameters and velocities.
  [[nodiscard]] std::uint64_t fingerprint() const;
  [[nodiscard]] double count_right(const DataSet& data, std::size_t first, std::size_t count);

 private:
  Replica(Execution& execution, const Settings& settings, const Layout& layout, Sums sums, UpdateFunction update,
          Network network);
  [[nodiscard]] bool is_staged() const { return !execution_->is_host_memory() && !sums_with_.takes_device_memory; }
  [[nodiscard]] std::span<std::byte> part(float* values, std::size_t bucket) const;
  [[nodiscard]] Result<void> start(std::size_t bucket);
  [[nodiscard]] Result<void> wait();
  [[nodiscard]] Result<void> add_up();
  [[nodiscard]] Result<bool> all_fine(const Result<void>& trouble);
  [[nodiscard]] Result<void> put_off(Result<void> trouble);
  [[nodiscard]] std::span<const float> host_copy(const ExecutionMemory& memory, std::vector<float>& room) const;
  void look(Step& step, int batch);
  /// Of all buckets; `is_zero` does not include their tallies.
  [[nodiscard]] Scan scan_buckets(std::span<const float> values) const;

  Execution* execution_;
  const Settings* settings_;
  const Layout* layout_;
  Sums sums_with_;
  UpdateFunction update_;
  Network network_;
  std::unique_ptr<ExecutionMemory> parameters_;
  std::unique_ptr<ExecutionMemory> velocity_;
  std::unique_ptr<ExecutionMemory> gradient_;
  std::unique_ptr<ExecutionMemory> sums_;  ///< null with one rank: its gradients are the sums
  // Where sums go by way of the host: what MPI sends and receives.
  std::vector<float> host_gradient_;
  std::vector<float> host_sums_;
  std::vector<std::unique_ptr<PendingSum>> pending_;
  std::optional<Error> trouble_;  ///< of the device, which the others are still to hear of
};

}  // namespace muster::training
