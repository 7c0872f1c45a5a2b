/// Products of matrices on one GPU: their fingerprints, and how fast, at which power and clock.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/gpu_blas.hpp"
#include "device/gpu_meter.hpp"
#include "measure/launch_gate.hpp"
#include "measure/node_gpus.hpp"
#include "muster/probe.hpp"
#include "probes/gpu_compute/answer.hpp"
#include "probes/gpu_compute/votes.hpp"

namespace muster::gpu_compute {

/// What all GPUs of a rank share.
struct Work {
  RunContext& context;
  const GpuBlasLibrary& blas;
  const Answer* answer = nullptr;  ///< nullptr: it was not asked for
  int size = 0;                    ///< of the matrices; a multiple of 64
  std::uint64_t seed = 0;
  std::function<void()> while_busy = {};  ///< called while the device multiplies; may be empty
};

/// Whether such a GPU has products of that type at all.
[[nodiscard]] bool has_type(std::string_view vendor, const GpuDevice& device, NumberType type);

class Bench {
 public:
  /// Fails with kind `device`. A BLAS that is unusable to this GPU is not a failure: `no_blas` is the reason, and our
  /// own kernels multiply.
  [[nodiscard]] static Result<std::unique_ptr<Bench>> make(const Work& work, const gpu_copy::SeenGpu& gpu);
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  /// Waits for what is still under way: it uses our memory.
  ~Bench();

  /// One product that is looked at closely, then as many as the time allows. Adds readings of rate, power and clock.
  [[nodiscard]] Result<void> measure(NumberType type, Observation& seen, Labels where);
  /// So many products more, each looked at.
  [[nodiscard]] Result<void> repeat(NumberType type, int times);

  [[nodiscard]] const gpu_copy::SeenGpu& gpu() const { return gpu_; }
  [[nodiscard]] const std::map<NumberType, ResultVotes>& ballots() const { return ballots_; }
  /// `bfloat16 0123456789abcdef row 17`: results that are not the known answer.
  [[nodiscard]] const std::vector<std::string>& wrong_rows() const { return wrong_rows_; }
  /// Why the vendor's BLAS is not used; empty: it is, or there is none.
  [[nodiscard]] const std::string& no_blas() const { return no_blas_; }
  /// `cuBLAS 12.8.4`, `own kernels`.
  [[nodiscard]] std::string multiplier() const;
  /// Launches return only when their kernel has ended: nothing is timed behind a gate.
  [[nodiscard]] bool do_launches_wait() const { return do_launches_wait_; }
  /// `NAME=value`: the setting that turns the type into another; empty: none does.
  [[nodiscard]] std::string withheld(NumberType type) const;
  /// Whether anybody here multiplies numbers of that type.
  [[nodiscard]] bool can(NumberType type) const;

 private:
  Bench(const Work& work, const gpu_copy::SeenGpu& gpu) : work_(work), gpu_(gpu) {}
  [[nodiscard]] Result<void> take();
  void find_blas();
  [[nodiscard]] Result<void> fill(NumberType type);
  [[nodiscard]] bool is_b_transposed(NumberType type) const;
  [[nodiscard]] Result<void> multiply(NumberType type);
  /// One whose result was made unusable before; counts its fingerprint.
  [[nodiscard]] Result<void> look_at_one(NumberType type);
  [[nodiscard]] Result<std::uint64_t> fingerprint(NumberType type);
  [[nodiscard]] Result<void> check(NumberType type, std::uint64_t print);
  [[nodiscard]] Result<double> sample(NumberType type, int passes);
  [[nodiscard]] Result<void> time(NumberType type, Observation& seen, const Labels& where);
  [[nodiscard]] std::size_t result_bytes(NumberType type) const;

  Work work_;
  gpu_copy::SeenGpu gpu_;
  std::unique_ptr<GpuMeter> meter_;
  GpuHandle a_, b_, c_, sum_;  // device
  GpuHandle reported_;         // host
  GpuHandle stream_, start_, stop_;
  std::unique_ptr<GpuBlas> blas_;
  std::string no_blas_;
  LaunchGate gate_;
  bool is_gated_ = false;
  bool do_launches_wait_ = false;
  bool is_refused_ = false;
  std::map<NumberType, ResultVotes> ballots_;
  std::vector<std::string> wrong_rows_;
  std::vector<double> watts_, megahertz_;
};

}  // namespace muster::gpu_compute
