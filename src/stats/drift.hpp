/// Has something become worse than it used to be? Pure.
///
/// The last 1, 2, ... `window` values are held against the passing ones before them. Both are robust: what lies further
/// from the median of the past than three (corrected) MADs is moved there, and a value of the window counts as at most
/// four deviations, so that one odd run neither hides a change nor makes one. The spread is that of what is left beside
/// the past's straight line, so that a slow decline is not noise. Values that go on from the one before
/// (autocorrelation, AR(1)) are worth fewer, in the window and in the past. The mean of the window's deviations is a t
/// value with the degrees of freedom of the past; it is turned into the normal deviate that is as unlikely (Wallace,
/// Annals of Mathematical Statistics 30, 1959), so that few earlier runs ask for a larger change. It must be beyond
/// max_z, the window must be at least `least` off, and the value that is judged at least half as far as the window:
/// what has recovered is not reported again. Noise is often skewed, or has heavy tails: a value must be twice, a
/// window 1 + 0.75 / sqrt(length) times as far off as any of its length in the past after which the next five values
/// were half as far off.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace muster {

/// Factor within which two values are of one level.
constexpr double same_level = 1.1;

struct DriftPoint {
  double value = 0;
  bool is_basis = true;  ///< of a pass; others are looked at only as recent values
};

struct DriftOptions {
  int min_runs = 5;            ///< passing values that there have to be
  double max_z = 3.5;          ///< of the normal deviate
  double noise = 0.03;         ///< runs are taken to differ by at least this share of the median
  double least = 0.05;         ///< smaller changes of the window, as a share of the median, are not reported
  int window = 5;              ///< values that a change may take to show
  std::size_t most_past = 60;  ///< older values are not looked at
};

/// Larger where so many values are judged at once: up to 20 are free, then the chance that chance alone reports one
/// stays what it is for 20.
[[nodiscard]] double drift_z(double max_z, std::size_t values);

/// What the past is, for people; nullopt with fewer than min_runs passing values.
struct DriftPast {
  double median = 0;
  int runs = 0;  ///< passing
};
[[nodiscard]] std::optional<DriftPast> drift_past(std::span<const DriftPoint> past, const DriftOptions& options);

/// The change that ends with `value`, if it is one for the worse.
struct DriftChange {
  double z = 0;      ///< the largest over all windows
  double shift = 0;  ///< of that window, as a share of the past; positive: it became worse
  int runs = 1;      ///< length of that window
};
enum class DriftSide : std::uint8_t { lower, higher };  ///< which values are worse
[[nodiscard]] std::optional<DriftChange> drift_of(std::span<const DriftPoint> past, double value, DriftSide worse,
                                                  const DriftOptions& options);

/// The last value on the good side: at most `median` away by the factor 1e3, else nullopt (nothing could be reported).
[[nodiscard]] std::optional<double> drift_end(std::span<const DriftPoint> past, DriftSide worse,
                                              const DriftOptions& options);

}  // namespace muster
