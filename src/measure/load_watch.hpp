/// The health of the GPUs that a rank tests, before, during and after the load. For all probes that execute on GPUs;
/// judge_health.hpp judges what is noted here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/gpu_health.hpp"
#include "measure/node_gpus.hpp"

namespace muster::gpu_copy {

/// A GPU under watch.
struct WatchedGpu {
  const Device* device = nullptr;
  std::string address;
  GpuHealth::Values before;
  double last_look = -1;     ///< monotonic seconds; -1: none
  GpuHealth::Values during;  ///< the worst of throttling, the best of the link
  double began = 0;          ///< monotonic seconds
};

/// Local: no communication. Calls of libraries are steps of the recorder. To be made before anybody computes on the
/// GPUs: who is on them then is not of this run. `context` and `node` outlive it.
class LoadWatch {
 public:
  LoadWatch(RunContext& context, const NodeGpus& node);

  /// Notes counters before the load. Again does nothing.
  void begin(const SeenGpu& gpu);
  /// To be called while the GPU is busy, or right after, as often as you like: clocks, throttling, and the link awake.
  /// Most calls do nothing, so that they take no time from the GPU's next work.
  void during(const SeenGpu& gpu);
  /// Notes what has changed, in facts of `seen`, for the GPUs that this rank tested (those with a fact of
  /// `tested_fact`) and that were begun; and calls of the runtime that failed without stopping anything. Of a GPU with
  /// partitions, which count together, one rank of the node notes them.
  void end(Observation& seen, const Schedule& schedule);

 private:
  void add_load(const WatchedGpu& gpu, Observation& seen) const;
  void add_corrected(const WatchedGpu& gpu, const GpuHealth::Values& after, double seconds, bool is_alone,
                     Observation& seen) const;

  RunContext& context_;
  const NodeGpus& node_;
  GpuHealth health_;
  std::map<std::string, WatchedGpu> watched_;  ///< by key, of partitions that of the GPU
};

/// The counters of one GPU whose memory or links a case uses that measures something else: NVLink, xGMI, PCIe, memory.
/// Local; for one rank of those that use the GPU.
class CounterWatch {
 public:
  /// Notes the counters before the load. `gpu` is of `inventory`, which outlives this as the recorder does.
  CounterWatch(const Inventory& inventory, const Device& gpu, const CallWatch& watch, Recorder& recorder);
  /// Notes what has changed, in facts of `seen` that judge_health takes. Nothing where no source reports the GPU.
  void end(Observation& seen) const;

 private:
  GpuHealth health_;
  Recorder& recorder_;
  WatchedGpu gpu_;
};

/// Links of xGMI that were active before the load and are not in two looks after it.
struct LostLinks {
  std::vector<std::string> down;      ///< disabled
  std::vector<std::string> inactive;  ///< asleep or down: the driver gives both the same state
};
[[nodiscard]] LostLinks lost_xgmi_links(const GpuHealth::Values& before, const GpuHealth::Values& after,
                                        const std::function<GpuHealth::Values()>& look_again);

/// Of the probes that watch GPUs: corrected memory errors of a GPU under load, of the worst of its counters. A healthy
/// memory has a few in a day.
inline constexpr double least_corrected_per_second = 10;
inline constexpr MetricSpec corrected_errors_metric{
    "corrected_errors",        "1/s", Better::neither, "Corrected memory errors of the GPU under load.", false, false,
    least_corrected_per_second};
/// The counters that it is made of.
[[nodiscard]] bool is_of_corrected(std::string_view key);
/// A counter of the errors of all xGMI links of a GPU: the kernel has none of each link.
[[nodiscard]] bool is_of_xgmi(std::string_view key);

/// Begins with the GPU that this rank will test by the rule of `schedule_of`, or with all of them where that can't be
/// known before ranks have communicated: one alone, that whose number is the rank's, or all for the only rank of a
/// node.
void begin_likely(const RunContext& context, const NodeGpus& node, LoadWatch& watch);

}  // namespace muster::gpu_copy
