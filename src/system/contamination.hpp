/// Who else used our CPUs while we measured. docs/measuring.md
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/cpu_mask.hpp"
#include "base/files.hpp"

namespace muster {

/// What a set of CPUs has done since boot, in seconds of CPU time.
struct CpuUse {
  double at = 0;     ///< monotonic clock
  double busy = 0;   ///< user, nice and system. Interrupts are left out: those of our own messages are among them
  double steal = 0;  ///< wanted, and given to another guest of the host
  int cpus = 0;
};

/// `text` of /proc/stat, which counts in 1/`ticks_per_second`. Fails with kind `system` when a CPU of `mask` is missing
/// or its line is not numbers.
[[nodiscard]] Result<CpuUse> parse_cpu_use(std::string_view text, const CpuMask& mask, double ticks_per_second,
                                           double at);
/// About 0.1 ms, more with many CPUs: never inside of a timed part.
[[nodiscard]] Result<CpuUse> read_cpu_use(const CpuMask& mask, const fs::path& root = "/");
/// CPU time of this process, all its threads, in seconds.
[[nodiscard]] double own_cpu_seconds();

struct ContaminationLimit {
  double share = 0.05;  ///< of the CPU time of the mask, for others and for steal each ...
  double cpus = 0.5;    ///< ... but never more than half a CPU: one slow thread of 64 holds up the other 63
  double window = 0.1;  ///< seconds: shorter intervals are not judged alone
  double tick = 0.01;   ///< the kernel counts in steps of this, per CPU
};

/// What others did with our CPUs between two snapshots.
struct Disturbance {
  double seconds = 0;        ///< length of the interval
  double foreign_share = 0;  ///< CPU time of others / (cpus x seconds), never below 0
  double steal_share = 0;
  std::optional<bool> is_contaminated;  ///< nullopt: too short
};

/// `own_seconds`: CPU time that all our processes on these CPUs used in between. Foreign time is busy time less that.
/// /proc/stat moves in steps of a tick on each CPU, so up to a tick per CPU is not attributed: the interval is
/// contaminated when what is left beyond that exceeds the limit. In 0.1 s that needs 15 %, in 1 s 6 %.
[[nodiscard]] Disturbance disturbance(const CpuUse& before, const CpuUse& after, double own_seconds,
                                      const ContaminationLimit& limit = {});
/// `others used 34 % of the CPU time, 0 % was stolen`.
[[nodiscard]] std::string to_string(const Disturbance& disturbance);

/// Watches one mask, batch by batch; answers in the form that Sampler::feed takes.
/// `own` is the CPU time so far of all our processes that may run on the mask: own_cpu_seconds() for a rank with CPUs
/// of its own; ranks that share CPUs have to add theirs up, or each takes the others for strangers.
class ContaminationWatch {
 public:
  /// Starts watching. A node that shows no counters is never judged: every answer is nullopt.
  ContaminationWatch(CpuMask mask, double own, fs::path root = "/", const ContaminationLimit& limit = {});

  /// Was the time since the last answer (true or false) contaminated? nullopt: too short, the next answer covers
  /// it as well.
  [[nodiscard]] std::optional<bool> ask(double own);
  /// The same when nothing follows that would cover it: two ticks are enough. In 20 ms that needs 55 % of the CPU time,
  /// in 50 ms 25 %.
  [[nodiscard]] std::optional<bool> ask_last(double own);
  /// From the start to the last question: what single windows are too short to show.
  [[nodiscard]] const Disturbance& whole() const { return whole_; }
  [[nodiscard]] bool is_watching() const { return begun_.has_value(); }

 private:
  struct Mark {
    CpuUse use;
    double own = 0;
  };
  [[nodiscard]] std::optional<bool> ask(double own, const ContaminationLimit& limit);

  CpuMask mask_;
  fs::path root_;
  ContaminationLimit limit_;
  std::optional<Mark> begun_;
  Mark last_;
  Disturbance whole_;
};

}  // namespace muster
