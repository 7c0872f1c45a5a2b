#include "stats/drift.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stats/stats.hpp"

namespace muster {

namespace {

constexpr double most_deviations = 4;   ///< of one value in a window of several
constexpr double clip_at = 3;           ///< of the past, in scaled MADs
constexpr std::size_t robust_from = 8;  ///< with fewer values a MAD is too uncertain to clip by
constexpr std::size_t trend_from = 10;  ///< with fewer values a line is too uncertain
constexpr double most_autocorrelation = 0.9;
constexpr double more_than_before = 0.75;  ///< of the largest excursion that recovered; of windows less: / sqrt(length)
constexpr std::size_t recovery = 5;        ///< values that show whether an excursion recovered
constexpr std::size_t free_values = 20;

double upper_tail(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

/// The normal deviate that is as unlikely as `t` with so many degrees of freedom.
double normal_of(double t, double freedom) {
  const double z = (8 * freedom + 1) / (8 * freedom + 3) * std::sqrt(freedom * std::log1p(t * t / freedom));
  return std::copysign(z, t);
}

/// The past before a window, summed up.
struct Level {
  double centre = 0;
  double deviation = 0;
  std::size_t count = 0;
  double correlation = 0;  ///< of a value with the one before
};

/// What is left of the past beside its straight line, so that a slow decline does not count as noise.
std::vector<double> residuals_of(const std::vector<double>& past) {
  const auto n = static_cast<double>(past.size());
  const double x_mean = (n - 1) / 2;
  const double y_mean = std::accumulate(past.begin(), past.end(), 0.0) / n;
  double xx = 0;
  double xy = 0;
  for (std::size_t at = 0; at < past.size(); ++at) {
    const double x = static_cast<double>(at) - x_mean;
    xx += x * x;
    xy += x * (past[at] - y_mean);
  }
  std::vector<double> residuals;
  for (std::size_t at = 0; at < past.size(); ++at)
    residuals.push_back(past[at] - y_mean - xy / xx * (static_cast<double>(at) - x_mean));
  return residuals;
}

double sum_of_squares(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

/// Correlation of a value with the one before; 0 where chance explains it. Of few values it comes out too small
/// (Kendall 1954), and by chance up to 1 / sqrt(n) either way.
double autocorrelation_of(const std::vector<double>& residuals) {
  const double squares = sum_of_squares(residuals);
  if (squares <= 0) return 0;
  double products = 0;
  for (std::size_t at = 1; at < residuals.size(); ++at) products += residuals[at] * residuals[at - 1];
  const double seen = products / squares;
  const auto n = static_cast<double>(residuals.size());
  return std::clamp(seen + (1 + 4 * seen) / n - 1 / std::sqrt(n), 0.0, most_autocorrelation);
}

/// Variance of a mean of `length` values, in variances of one, when each goes on from the one before (AR(1)).
double variance_of_mean(double length, double correlation) {
  double sum = 1;
  double power = 1;
  for (double lag = 1; lag < length; ++lag) {
    power *= correlation;
    sum += 2 * (1 - lag / length) * power;
  }
  return sum / length;
}

/// Largest mean of `length` successive offsets after which the next ones were half as far off or less: what has
/// happened before, and passed.
double largest_excursion(const std::vector<double>& offsets, std::size_t length) {
  double largest = 0;
  for (std::size_t begin = 0; begin + length < offsets.size(); ++begin) {
    const auto at = offsets.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = at + static_cast<std::ptrdiff_t>(length);
    const auto last = end + static_cast<std::ptrdiff_t>(std::min(recovery, offsets.size() - begin - length));
    const double mean = std::accumulate(at, end, 0.0) / static_cast<double>(length);
    const double after = std::accumulate(end, last, 0.0) / static_cast<double>(last - end);
    if (after <= mean / 2) largest = std::max(largest, mean);
  }
  return largest;
}

std::optional<Level> level_of(std::vector<double> past, const DriftOptions& options) {
  Level level;
  level.count = past.size();
  const double middle = *median(past);
  if (past.size() >= robust_from) {
    // A MAD of few values is often too small: Croux and Rousseeuw 1992 have factors of about this size.
    const double correction = 1 + 3 / static_cast<double>(past.size());
    const double scale = std::max(1.4826 * *mad(past) * correction, options.noise * std::fabs(middle));
    for (double& value : past) value = std::clamp(value, middle - clip_at * scale, middle + clip_at * scale);
  }
  const auto count = static_cast<double>(past.size());
  level.centre = std::accumulate(past.begin(), past.end(), 0.0) / count;
  double squares = 0;
  for (const double value : past) squares += (value - level.centre) * (value - level.centre);
  double deviation = std::sqrt(squares / (count - 1));
  if (past.size() >= trend_from) {
    const auto residuals = residuals_of(past);
    deviation = std::min(deviation, std::sqrt(sum_of_squares(residuals) / (count - 2)));
    level.correlation = autocorrelation_of(residuals);
  }
  level.deviation = std::max(deviation, options.noise * std::fabs(level.centre));
  if (!std::isfinite(level.deviation) || level.deviation <= 0) return std::nullopt;
  return level;
}

/// The windows that end with the value to come, each with the past before it.
struct Window {
  Level level;
  std::vector<double> before;  ///< its earlier values, the value to come not among them
  std::vector<double> past;    ///< passing values before it
};

std::vector<Window> windows_of(std::span<const DriftPoint> past, const DriftOptions& options) {
  if (past.size() > options.most_past) past = past.last(options.most_past);
  const auto least = static_cast<std::size_t>(std::max(options.min_runs, 2));
  std::vector<Window> windows;
  for (std::size_t length = 1; length <= static_cast<std::size_t>(std::max(options.window, 1)); ++length) {
    if (past.size() + 1 < length + least) break;
    Window window;
    const auto recent = past.last(length - 1);
    for (const DriftPoint& point : recent) window.before.push_back(point.value);
    std::vector<double> values;
    for (const DriftPoint& point : past.first(past.size() - recent.size()))
      if (point.is_basis) values.push_back(point.value);
    if (values.size() < least) break;
    const auto level = level_of(values, options);
    if (!level) continue;
    window.level = *level;
    window.past = std::move(values);
    windows.push_back(std::move(window));
  }
  return windows;
}

std::optional<DriftChange> change_in(const Window& window, double value, DriftSide worse, const DriftOptions& options) {
  const Level& level = window.level;
  const double sign = worse == DriftSide::lower ? -1 : 1;
  std::vector<double> off;
  for (const double one : window.before) off.push_back(sign * (one - level.centre));
  off.push_back(sign * (value - level.centre));
  const auto length = static_cast<double>(off.size());
  double sum = 0;
  for (const double one : off) {
    const double deviations = one / level.deviation;
    sum += off.size() == 1 ? deviations : std::clamp(deviations, -most_deviations, most_deviations);
  }
  const auto count = static_cast<double>(level.count);
  const double variance = variance_of_mean(length, level.correlation) + variance_of_mean(count, level.correlation);
  const double t = sum / length / std::sqrt(variance);
  // This number of independent values is equivalent.
  const double independent = std::max(1 / variance_of_mean(count, level.correlation), 3.0);
  const double z = normal_of(t, std::min(independent, count) - 1);
  const double shift = *median(off);
  const bool is_large = shift >= options.least * std::fabs(level.centre);
  if (!(z > options.max_z) || !is_large || off.back() < shift / 2) return std::nullopt;
  if (window.past.size() >= robust_from) {
    // A single outlier does not make an excursion of several runs.
    const double most = off.size() == 1 ? std::numeric_limits<double>::infinity() : most_deviations * level.deviation;
    std::vector<double> earlier;
    for (const double one : window.past) earlier.push_back(std::clamp(sign * (one - level.centre), -most, most));
    const double more = off.size() == 1 ? 1 : more_than_before / std::sqrt(length);
    const double least = (1 + more) * largest_excursion(earlier, off.size());
    if (std::accumulate(off.begin(), off.end(), 0.0) / length < least) return std::nullopt;
  }
  return DriftChange{z, shift / std::fabs(level.centre), static_cast<int>(off.size())};
}

std::optional<DriftChange> change_in(const std::vector<Window>& windows, double value, DriftSide worse,
                                     const DriftOptions& options) {
  std::optional<DriftChange> best;
  for (const Window& window : windows) {
    const auto change = change_in(window, value, worse, options);
    if (change && (!best || change->z > best->z)) best = change;
  }
  return best;
}

}  // namespace

double drift_z(double max_z, std::size_t values) {
  if (values <= free_values) return max_z;
  const double wanted = upper_tail(max_z) * static_cast<double>(free_values) / static_cast<double>(values);
  double low = max_z;
  double high = std::max(max_z + 1, 30.0);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (upper_tail(middle) > wanted ? low : high) = middle;
  }
  return low;
}

std::optional<DriftPast> drift_past(std::span<const DriftPoint> past, const DriftOptions& options) {
  if (past.size() > options.most_past) past = past.last(options.most_past);
  std::vector<double> values;
  for (const DriftPoint& point : past)
    if (point.is_basis) values.push_back(point.value);
  if (values.size() < static_cast<std::size_t>(std::max(options.min_runs, 2))) return std::nullopt;
  return DriftPast{*median(values), static_cast<int>(values.size())};
}

std::optional<DriftChange> drift_of(std::span<const DriftPoint> past, double value, DriftSide worse,
                                    const DriftOptions& options) {
  return change_in(windows_of(past, options), value, worse, options);
}

std::optional<double> drift_end(std::span<const DriftPoint> past, DriftSide worse, const DriftOptions& options) {
  const auto windows = windows_of(past, options);
  if (windows.empty()) return std::nullopt;
  const double start = windows.front().level.centre;
  const double sign = worse == DriftSide::lower ? -1 : 1;
  // A value is the worse the further it is: the end lies between one that is reported and one that is not.
  double good = start - sign * 1e3 * std::fabs(start);
  double bad = start + sign * 1e3 * std::fabs(start);
  if (!change_in(windows, bad, worse, options) || change_in(windows, good, worse, options)) return std::nullopt;
  for (int i = 0; i < 45; ++i) {
    const double middle = std::midpoint(good, bad);
    (change_in(windows, middle, worse, options) ? bad : good) = middle;
  }
  return good;
}

}  // namespace muster
