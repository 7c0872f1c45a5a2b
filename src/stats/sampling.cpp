#include "stats/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/names.hpp"
#include "stats/stats.hpp"

namespace muster {

namespace {

constexpr int fewest_for_interval = 6;

/// The largest k >= 1 with P(B <= k-1) <= 0.025, B binomial with n and 1/2; 0: none. By logarithms, as 2^-n is not
/// a double for n > 1074.
std::size_t rank_of_low(std::size_t n) {
  double log_term = -static_cast<double>(n) * std::log(2.0);
  double tail = 0;
  std::size_t k = 0;
  for (; k < n / 2; ++k) {
    tail += std::exp(log_term);
    if (tail > 0.025) break;
    log_term += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
  }
  return k;
}

}  // namespace

double MedianInterval::relative_half_width() const {
  const double half = high / 2 - low / 2;
  if (half == 0) return 0;
  return median == 0 ? std::numeric_limits<double>::infinity() : half / std::fabs(median);
}

std::optional<MedianInterval> median_interval(std::span<const double> samples) {
  std::vector<double> sorted;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(sorted), [](double x) { return std::isfinite(x); });
  if (sorted.size() < fewest_for_interval) return std::nullopt;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t k = rank_of_low(sorted.size());
  return MedianInterval{sorted[k - 1], *median(sorted), sorted[sorted.size() - k]};
}

constexpr std::string_view sampling_end_names[] = {"interval reached", "time cap", "sample cap"};

std::string_view to_string(SamplingEnd end) {
  return enum_name(sampling_end_names, end);
}

std::string to_string(const Sampled& sampled) {
  std::string text = fmt::format("{} {}", sampled.summary.n, sampled.summary.n == 1 ? "sample" : "samples");
  if (sampled.interval)
    text += fmt::format(", median +-{:.2g} %", 100 * sampled.interval->relative_half_width());
  else
    text += ", interval unknown";
  text += fmt::format(", {}", to_string(sampled.end));
  if (sampled.warmups > 0)
    text += fmt::format(", {} {} dropped", sampled.warmups, sampled.warmups == 1 ? "warm-up" : "warm-ups");
  if (!sampled.is_steady) text += ", never steady";
  if (sampled.contaminated.n > 0)
    text += fmt::format(", {} contaminated {} thrown away", sampled.contaminated.n,
                        sampled.contaminated.n == 1 ? "sample" : "samples");
  if (sampled.is_disturbed) text += ", too few clean ones";
  return text;
}

int Sampler::least() const {
  return std::max(goal_.least, 1);
}

double Sampler::wanted() const {
  const auto kept = static_cast<double>(kept_.size());
  if (is_warming_) return 2.0 * last_batch_;
  const double first = std::max(least(), fewest_for_interval);
  if (kept < first || !interval_) return first - kept;
  const double ratio = interval_->relative_half_width() / goal_.interval;
  // Aiming a tenth too far saves the decision that a near miss costs.
  const double needed = kept * ratio * ratio * 1.1 - kept;
  return std::clamp(needed, 1.0, kept);
}

int Sampler::next() const {
  if (end_) return 0;
  if (taken_ == 0) return 1;
  const double room = static_cast<double>(goal_.most) - taken_;
  double count = wanted();
  if (cost_ > 0) {
    count = std::max(count, std::ceil(goal_.batch.value / cost_));
    count = std::min(count, std::floor((goal_.cap.value - seconds_) / cost_));
  }
  return static_cast<int>(std::clamp(count, 1.0, room));
}

void Sampler::feed(std::span<const double> values, Seconds taken, std::optional<bool> contaminated) {
  if (values.empty()) return;
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](double x) { return std::isfinite(x); });
  taken_ += static_cast<int>(values.size());
  last_batch_ = static_cast<int>(values.size());
  seconds_ += std::max(taken.value, 0.0);
  cost_ = std::max(taken.value, 0.0) / static_cast<double>(values.size());
  if (is_warming_)
    warm_up(finite, contaminated);
  else
    keep(finite, contaminated);
  look_for_end();
}

void Sampler::warm_up(std::span<const double> values, std::optional<bool> contaminated) {
  const auto mine = median(values);
  const auto before = median(warm_);
  if (contaminated.value_or(false) || !mine) {
    contaminated_.insert(contaminated_.end(), values.begin(), values.end());
  } else if (before && std::fabs(*mine - *before) <= goal_.steady * std::fabs(*mine)) {
    is_warming_ = false;
    is_steady_ = true;
    warmups_ += static_cast<int>(warm_.size());
    warm_.clear();
    settled_warm_ = 0;
    keep(values, contaminated);
    return;
  } else {
    warmups_ += static_cast<int>(warm_.size());
    warm_.assign(values.begin(), values.end());
    settled_warm_ = contaminated ? warm_.size() : 0;
  }
  if (seconds_ >= goal_.cap.value / 4 || taken_ >= goal_.most / 4) is_warming_ = false;
}

void Sampler::keep(std::span<const double> values, std::optional<bool> contaminated) {
  kept_.insert(kept_.end(), values.begin(), values.end());
  settle(contaminated);
  interval_ = median_interval(kept_);
}

void Sampler::settle(std::optional<bool> contaminated) {
  if (!contaminated) return;
  // Without kept ones, the last warm-up batch is what is known.
  std::vector<double>& known = kept_.empty() ? warm_ : kept_;
  std::size_t& settled = kept_.empty() ? settled_warm_ : settled_;
  if (*contaminated) {
    const auto unsettled = known.begin() + static_cast<std::ptrdiff_t>(settled);
    contaminated_.insert(contaminated_.end(), unsettled, known.end());
    known.erase(unsettled, known.end());
  }
  settled = known.size();
}

void Sampler::look_for_end() {
  if (static_cast<int>(kept_.size()) >= least() && seconds_ >= goal_.least_time.value && interval_ &&
      interval_->relative_half_width() <= goal_.interval)
    end_ = SamplingEnd::precise;
  else if (seconds_ + cost_ > goal_.cap.value || seconds_ >= goal_.cap.value)
    end_ = SamplingEnd::time_cap;
  else if (taken_ >= goal_.most)
    end_ = SamplingEnd::sample_cap;
}

Sampled Sampler::result() const {
  Sampled result;
  result.end = end_.value_or(SamplingEnd::time_cap);
  result.is_steady = is_steady_;
  result.taken = Seconds{seconds_};
  result.contaminated = summarize(contaminated_);
  const std::vector<double>& clean = kept_.empty() ? warm_ : kept_;
  result.warmups = warmups_ + (kept_.empty() ? 0 : static_cast<int>(warm_.size()));
  result.is_disturbed = !contaminated_.empty() && static_cast<int>(clean.size()) < least();
  if (result.is_disturbed) return result;
  result.summary = summarize(clean);
  result.interval = median_interval(clean);
  result.unwatched = static_cast<int>(clean.size() - (kept_.empty() ? settled_warm_ : settled_));
  return result;
}

}  // namespace muster
