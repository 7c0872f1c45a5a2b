#include "stats/stats.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

namespace muster {

namespace {

std::vector<double> sorted_finite(std::span<const double> samples) {
  std::vector<double> kept;
  kept.reserve(samples.size());
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(kept), [](double x) { return std::isfinite(x); });
  std::sort(kept.begin(), kept.end());
  return kept;
}

/// `sorted` is not empty. Type 7: the q-quantile lies at (n - 1) q between the order statistics counted from 0.
double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  const double at = static_cast<double>(sorted.size() - 1) * q;
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return std::lerp(sorted[below], sorted[below + 1], at - static_cast<double>(below));
}

/// `samples` is not empty and finite; it is used up.
double mad_of(std::vector<double>& samples, double median) {
  // The difference of two huge numbers of opposite sign overflows: the largest double is equivalent and remains a
  // number.
  for (double& x : samples) x = std::min(std::fabs(x - median), std::numeric_limits<double>::max());
  std::sort(samples.begin(), samples.end());
  return quantile_of_sorted(samples, 0.5);
}

}  // namespace

Summary summarize(std::span<const double> samples) {
  auto sorted = sorted_finite(samples);
  Summary summary;
  if (sorted.empty()) return summary;
  summary.n = static_cast<std::int64_t>(sorted.size());
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.median = quantile_of_sorted(sorted, 0.5);
  summary.p95 = quantile_of_sorted(sorted, 0.95);
  summary.mad = mad_of(sorted, summary.median);
  return summary;
}

std::optional<double> quantile(std::span<const double> samples, double q) {
  assert(q >= 0 && q <= 1);
  const auto sorted = sorted_finite(samples);
  if (sorted.empty()) return std::nullopt;
  return quantile_of_sorted(sorted, q);
}

std::optional<double> median(std::span<const double> samples) {
  return quantile(samples, 0.5);
}

std::optional<double> mad(std::span<const double> samples) {
  auto sorted = sorted_finite(samples);
  if (sorted.empty()) return std::nullopt;
  const double middle = quantile_of_sorted(sorted, 0.5);
  return mad_of(sorted, middle);
}

double modified_z(double x, double median, double mad, double floor) {
  const double distance = x - median;
  if (distance == 0) return 0;
  const double scale = std::max(mad, floor * std::fabs(median));
  if (scale == 0) return std::copysign(std::numeric_limits<double>::infinity(), distance);
  // 0.6745: the 75 % point of the normal distribution, which makes MAD comparable with a standard deviation.
  return 0.6745 * distance / scale;
}

}  // namespace muster
