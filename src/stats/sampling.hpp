/// How long to measure: warm up until steady, then until the median is known well enough or the time is up.
/// Pure: no clock, no communication. The same input gives the same decisions, so one rank may decide and notify the
/// others, or all ranks may feed the same numbers and decide alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/observation.hpp"
#include "muster/params.hpp"

namespace muster {

/// A confidence interval of the median. The share is half the width over the size of the median: 0.02 means
/// (high - low) / 2 <= 0.02 |median|, "the median is known to 2 %".
struct MedianInterval {
  double low = 0;
  double median = 0;
  double high = 0;
  /// 0 when the width is 0; infinite when only the median is.
  [[nodiscard]] double relative_half_width() const;
  friend bool operator==(const MedianInterval&, const MedianInterval&) = default;
};

/// 95 % confidence interval of the median of the finite samples, whatever their distribution: the order statistics
/// x(k) and x(n+1-k) with the largest k for which P(B <= k-1) <= 0.025, B binomial with n and 1/2. It covers the median
/// with probability 1 - 2 P(B <= k-1) >= 0.95 when samples are independent.
/// nullopt below 6 samples, where even the extremes cover it less often (1 - 2/2^5 = 0.938).
/// Source: David and Nagaraja, Order Statistics, 3rd edition 2003, section 7.1; its use for timings: Hoefler and Belli,
/// Scientific Benchmarking of Parallel Computing Systems, SC15, rule 5 and section 3.1.
[[nodiscard]] std::optional<MedianInterval> median_interval(std::span<const double> samples);

struct SamplingGoal {
  double interval = 0.02;  ///< relative half-width of the median's 95 % interval that is enough
  int least = 8;           ///< samples that have to be kept, however alike they are
  int most = 10'000;       ///< samples in all, dropped ones included
  Seconds cap{1.0};        ///< time of all batches together; a batch that began in time is kept
  Seconds least_time{0};   ///< of all batches together, however narrow the interval is: so that others are noticed
  Seconds batch{0.005};    ///< a batch shorter than this is made longer: agreeing on the next one costs messages
  double steady = 0.05;    ///< two batches in a row whose medians are this near to each other end the warm-up
};

/// For where timing means nothing: one sample, so that data is moved and looked at.
[[nodiscard]] constexpr SamplingGoal one_look() {
  SamplingGoal goal;
  goal.interval = 1;
  goal.least = 1;
  goal.most = 1;
  goal.cap = Seconds{0.001};
  return goal;
}

/// Why sampling ended.
enum class SamplingEnd : std::uint8_t {
  precise,     ///< the interval is as narrow as was asked
  time_cap,    ///< no time for another sample
  sample_cap,  ///< as many samples as are allowed
};

/// `interval reached`, `time cap`, `sample cap`.
[[nodiscard]] std::string_view to_string(SamplingEnd end);

struct Sampled {
  Summary summary;  ///< of the clean samples; n = 0 when `is_disturbed`
  std::optional<MedianInterval> interval;
  SamplingEnd end = SamplingEnd::time_cap;
  bool is_steady = false;  ///< the warm-up ended because it was steady, not for want of time
  /// Samples were thrown away as contaminated and fewer than `least` clean ones could be had: there is no value to
  /// judge, the case is `unmeasured`. `contaminated` describes the others.
  bool is_disturbed = false;
  int warmups = 0;       ///< samples dropped as warm-up
  Summary contaminated;  ///< samples that were thrown away, and repeated as far as the caps allowed
  int unwatched = 0;     ///< kept samples that could not be judged: too short, or no counters on this node
  Seconds taken;
};

/// For a fact beside the reading: `20 samples, median +-1.3 %, interval reached, 3 warm-ups dropped`.
[[nodiscard]] std::string to_string(const Sampled& sampled);

/// Fed batch by batch:
///     for (int count = sampler.next(); count > 0; count = sampler.next()) { take `count` samples; sampler.feed(...); }
/// Decisions are few, because batches grow: 1, 2, 4, ... during the warm-up, then as many as the interval seems to need
/// (its width shrinks with the root of n), at most doubling what is kept.
///
/// Warm-up rule: batches of 1, 2, 4, ... samples are dropped until the medians of two in a row differ by no more than
/// `steady`; the second of the two is kept as the first samples. After a quarter of the time or of the samples it
/// ends anyway and `is_steady` stays false. Contaminated batches are not compared. When there is no time for
/// anything but the warm-up, its last batch is what is known.
///
/// Contamination: a batch is clean (false), contaminated (true), or too short to be judged yet (nullopt): then the next
/// answer counts for it as well. Contaminated samples are thrown away, and others are taken instead within the caps.
class Sampler {
 public:
  explicit Sampler(const SamplingGoal& goal) : goal_(goal) {}

  /// Samples to take now; 0: enough.
  [[nodiscard]] int next() const;
  /// One batch and the time that it took in total. Values that are not finite count as taken and are not kept.
  void feed(std::span<const double> values, Seconds taken, std::optional<bool> contaminated = std::nullopt);
  /// An answer after the last batch, which counts for all samples that have none.
  void settle(std::optional<bool> contaminated);
  [[nodiscard]] bool is_warming() const { return is_warming_; }
  [[nodiscard]] Sampled result() const;

 private:
  void warm_up(std::span<const double> values, std::optional<bool> contaminated);
  void keep(std::span<const double> values, std::optional<bool> contaminated);
  void look_for_end();
  [[nodiscard]] double wanted() const;
  [[nodiscard]] int least() const;

  SamplingGoal goal_;
  bool is_warming_ = true;
  bool is_steady_ = false;
  std::vector<double> warm_;  ///< the last warm-up batch that was not contaminated
  int warmups_ = 0;
  std::vector<double> kept_;
  std::size_t settled_ = 0;       ///< of the kept ones, how many were found clean; the others wait for an answer
  std::size_t settled_warm_ = 0;  ///< likewise of the last warm-up batch
  std::vector<double> contaminated_;
  std::optional<MedianInterval> interval_;
  std::optional<SamplingEnd> end_;
  double seconds_ = 0;
  double cost_ = 0;  ///< seconds of a sample of the last batch
  int taken_ = 0;
  int last_batch_ = 0;
};

}  // namespace muster
