/// Copies of one GPU, timed by its own events while nothing but the copies is on the stream. What the timed ones left
/// is compared afterwards, and so is every one of further copies.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/gpu.hpp"
#include "measure/launch_gate.hpp"
#include "measure/node_gpus.hpp"
#include "measure/pattern.hpp"
#include "muster/probe.hpp"
#include "stats/sampling.hpp"

namespace muster::gpu_copy {

/// One thing that is timed.
struct Cell {
  std::string_view metric;  ///< `host_to_device`
  std::string_view by;      ///< `engine`, `kernel`
  double moved = 0;         ///< bytes that one pass counts
  std::string to = {};      ///< address of another GPU that it copies to
  std::function<Result<void>()> pass = {};
  std::function<Result<void>()> clear = {};  ///< overwrites where `pass` copies to
  std::function<Result<void>()> look = {};   ///< compares all that one pass left, after it has ended
  bool is_gated = true;
  bool uses_second = false;  ///< stream: what `pass` puts there is timed, too
  int copies = 1;            ///< of one pass
};

class Bench {
 public:
  /// `bytes` is a multiple of 16. Pinned memory is taken from `domain`; -1: anywhere.
  [[nodiscard]] static Result<std::unique_ptr<Bench>> make(RunContext& context, const SeenGpu& gpu, std::size_t bytes,
                                                           int domain);
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  /// Waits for what is still under way: it uses our memory.
  ~Bench();

  /// Every copy between host and this GPU, and within it. Fails when the device does; data that is wrong is noted.
  [[nodiscard]] Result<void> alone(Observation& seen, const Labels& labels);
  /// To another GPU of the same runtime.
  [[nodiscard]] Result<void> to_peer(const SeenGpu& peer, Observation& seen, const Labels& labels, int peer_rank);

  /// Called once per kind of copy, while the device works on it or shortly after.
  void while_busy(std::function<void()> look) { while_busy_ = std::move(look); }
  /// Copies between host and GPU by the engine that are below this, in GB/s, are measured again; 0: it is not known.
  void least_of_link(double rate) { least_of_link_ = rate; }
  [[nodiscard]] const std::string& pinned_at() const { return pinned_at_; }
  [[nodiscard]] const std::string& no_kernels() const { return no_kernels_; }
  /// Launches return only when their kernel has ended: nothing is timed behind a gate.
  [[nodiscard]] bool do_launches_wait() const { return no_kernels_.empty() && !has_gate_; }
  [[nodiscard]] int cells() const { return cells_; }
  [[nodiscard]] int expired() const { return expired_; }
  [[nodiscard]] int disturbed() const { return disturbed_; }
  /// Of all copies.
  [[nodiscard]] std::uint64_t compared() const { return all_compared_; }
  [[nodiscard]] std::uint64_t copies() const { return all_copies_; }

 private:
  Bench(RunContext& context, const SeenGpu& gpu, std::size_t bytes) : context_(context), gpu_(gpu), bytes_(bytes) {}
  [[nodiscard]] Result<void> take(int domain);
  [[nodiscard]] Result<void> measure(const Cell& cell, Observation& seen, const Labels& labels, int peer_rank);
  [[nodiscard]] Result<Summary> look(const Cell& cell);
  /// `rate`: of the first look, then of the fastest.
  [[nodiscard]] Result<void> look_further(const Cell& cell, Summary& rate, Observation& seen);
  [[nodiscard]] std::string own_address() const;
  [[nodiscard]] Result<void> verify(const Cell& cell, Seconds timed, Observation& seen);
  [[nodiscard]] Result<void> compare_copies(const Cell& cell, Seconds timed);
  [[nodiscard]] Result<double> sample(const Cell& cell, int passes, bool& has_expired);
  [[nodiscard]] Result<void> move(void* to, const void* from) const;
  [[nodiscard]] Result<void> by_kernel(const void* from, void* to) const;
  [[nodiscard]] Result<void> overwrite(void* memory) const;
  /// Compares what the device's `memory` holds, by way of the host's.
  [[nodiscard]] Result<void> bring(const void* memory);
  [[nodiscard]] Result<void> ended() const;
  void compare();
  [[nodiscard]] Result<void> from_host(Observation& seen, const Labels& labels, bool is_kernel);
  [[nodiscard]] Result<void> to_host(Observation& seen, const Labels& labels, bool is_kernel);
  [[nodiscard]] Result<void> both_ways(Observation& seen, const Labels& labels);
  [[nodiscard]] Result<void> within(Observation& seen, const Labels& labels, bool is_kernel);

  RunContext& context_;
  SeenGpu gpu_;
  std::size_t bytes_;
  GpuHandle source_, back_;   // host
  GpuHandle first_, second_;  // device
  GpuHandle stream_, other_stream_;
  GpuHandle start_, stop_, other_stop_;
  void* source_seen_ = nullptr;  ///< by the device
  void* back_seen_ = nullptr;
  std::function<void()> while_busy_;
  bool has_looked_ = false;  ///< in this cell
  double least_of_link_ = 0;
  std::uint64_t taken_ = 0;  ///< samples of this cell
  LaunchGate gate_;
  bool has_gate_ = false;  ///< there are kernels, and their launches return before they have ended
  std::string pinned_at_;
  std::string no_kernels_;
  p2p::WrongMessages compared_;  ///< of this cell
  std::uint64_t all_compared_ = 0;
  std::uint64_t all_copies_ = 0;
  int cells_ = 0;
  int expired_ = 0;
  int disturbed_ = 0;
};

}  // namespace muster::gpu_copy
