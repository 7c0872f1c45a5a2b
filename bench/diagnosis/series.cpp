/// How often bounds that muster takes from other values are right, on values with known noise and known faults:
///   diagnosis_series [--runs N] [--first-seed N] [--tuning]
/// Peers (like items of one run), drift (one item in many runs) and compare (two runs). Tables of Markdown;
/// docs/measurements/diagnosis.md holds what it printed.
#include "diagnosis/series.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <string>

#include "evaluate/bounds.hpp"
#include "history/compare_parts.hpp"
#include "stats/drift.hpp"

namespace {

using namespace muster;
using namespace muster::diagnosis;

struct Options {
  int runs = 400;
  int first_seed = 1;
  bool is_tuning = false;
};

constexpr double noises[] = {0.01, 0.03, 0.05};
constexpr double usual = 100;
constexpr double slow_deviations = 6;

struct Rates {
  int runs = 0;
  int false_runs = 0;
  int found = 0;
  [[nodiscard]] double of_false() const { return static_cast<double>(false_runs) / runs; }
  [[nodiscard]] double of_found() const { return static_cast<double>(found) / runs; }
};

Random random_of(const Options& options, int run, int salt) {
  return Random(static_cast<std::uint64_t>(options.first_seed + run) * 104729 + static_cast<std::uint64_t>(salt));
}

// --- Peers ---

struct Items {
  int items = 0;
  int metrics = 1;
};

/// Half of the items are 8 % slower: another grade.
std::vector<double> readings_of(const Items& of, Spread spread, bool has_bins, double noise, Random& random) {
  std::vector<double> values;
  for (int i = 0; i < of.items; ++i)
    values.push_back(usual * (has_bins && i % 2 == 0 ? 0.92 : 1) * std::exp(-noise * loss(spread, random)));
  return values;
}

bool is_outside(const std::vector<double>& values, std::size_t at) {
  const Peers peers;
  const auto bins = between_bins(values);
  if (!bins) return !peers_range(peers, Better::higher, values).holds(values[at]);
  std::vector<double> like;
  std::copy_if(values.begin(), values.end(), std::back_inserter(like),
               [&](double value) { return (value < *bins) == (values[at] < *bins); });
  return !peers_range(peers, Better::higher, like).holds(values[at]);
}

bool has_outside(const std::vector<double>& values) {
  // The slowest of each bin.
  const auto bins = between_bins(values);
  for (const bool is_low : {false, true}) {
    std::size_t slowest = values.size();
    for (std::size_t i = 0; i < values.size(); ++i)
      if ((!bins || (values[i] < *bins) == is_low) && (slowest == values.size() || values[i] < values[slowest]))
        slowest = i;
    if (slowest < values.size() && is_outside(values, slowest)) return true;
    if (!bins) break;
  }
  return false;
}

Rates peers_rates(const Options& options, const Items& of, Spread spread, bool has_bins, double noise) {
  Rates rates;
  for (int run = 0; run < options.runs; ++run) {
    Random random = random_of(options, run, of.items + 31 * static_cast<int>(spread));
    bool is_false = false;
    std::vector<double> values;
    for (int metric = 0; metric < of.metrics; ++metric) {
      values = readings_of(of, spread, has_bins, noise, random);
      is_false = is_false || has_outside(values);
    }
    ++rates.runs;
    rates.false_runs += is_false;
    // Of the slower bin, below which nothing else is.
    const auto slow = static_cast<std::size_t>(random.below(of.items / 2)) * 2;
    values[slow] *= 1 - std::max(slow_deviations * noise, 0.15);
    rates.found += is_outside(values, slow);
  }
  return rates;
}

void print_peers(const Options& options) {
  fmt::print(
      "\nPeers: share of runs with a false alarm / share of items found that are slower by six standard "
      "deviations, and by 15 % at least\n\n| items | noise | spread 1 % | 3 % | 5 % |\n|---|---|---|---|---|\n");
  constexpr Items sizes[] = {{8, 1}, {64, 1}, {1000, 10}};
  for (const Items& of : sizes)
    for (int at = 0; at < spreads; ++at)
      for (const bool has_bins : {false, true}) {
        const auto spread = static_cast<Spread>(at);
        const bool is_new = spread >= Spread::lognormal;
        if (is_new == options.is_tuning || (has_bins && of.items < 16)) continue;
        fmt::print("| {}{} | {}{} |", of.items, of.metrics > 1 ? fmt::format(" x {}", of.metrics) : "", name_of(spread),
                   has_bins ? ", two bins" : "");
        for (const double noise : noises) {
          Options fewer = options;
          if (of.metrics > 1) fewer.runs = std::max(1, options.runs / 4);
          const Rates rates = peers_rates(fewer, of, spread, has_bins, noise);
          fmt::print(" {:.3f} / {:.3f} |", rates.of_false(), rates.of_found());
        }
        fmt::print("\n");
      }
}

/// How often an item is found that is slower by so many times the limit that is stated without it: 0.9, 1 and 1.1.
struct LimitRates {
  std::vector<double> limits;
  std::array<int, 3> found{};
};

LimitRates limit_rates(const Options& options, int items, Spread spread, double noise) {
  LimitRates rates;
  for (int run = 0; run < options.runs; ++run) {
    Random random = random_of(options, run, items + 31 * static_cast<int>(spread));
    const auto values = readings_of({items, 1}, spread, false, noise, random);
    const auto slow = static_cast<std::size_t>(random.below(items));
    const double limit = peers_seen_from(Peers{}, Better::higher, values);
    rates.limits.push_back(limit);
    for (std::size_t i = 0; i < rates.found.size(); ++i) {
      auto slower = values;
      slower[slow] *= std::max(0.0, 1 - (0.9 + 0.1 * static_cast<double>(i)) * limit);
      rates.found[i] += is_outside(slower, slow);
    }
  }
  std::sort(rates.limits.begin(), rates.limits.end());
  return rates;
}

void print_limits(const Options& options) {
  fmt::print(
      "\nDetection limit of peers: median / share found of items slower by 0.9 / 1 / 1.1 times the limit of the same "
      "values\n\n| items | noise | spread 1 % | 3 % | 5 % |\n|---|---|---|---|---|\n");
  for (const int items : {8, 64, 1000})
    for (int at = 0; at < spreads; ++at) {
      const auto spread = static_cast<Spread>(at);
      if ((spread >= Spread::lognormal) == options.is_tuning) continue;
      fmt::print("| {} | {} |", items, name_of(spread));
      for (const double noise : noises) {
        const LimitRates rates = limit_rates(options, items, spread, noise);
        fmt::print(" {:.3f}", rates.limits[rates.limits.size() / 2]);
        for (const int count : rates.found) fmt::print(" / {:.3f}", static_cast<double>(count) / options.runs);
        fmt::print(" |");
      }
      fmt::print("\n");
    }
}

// --- Drift ---

std::vector<DriftPoint> points_of(const std::vector<double>& losses, std::size_t count) {
  std::vector<DriftPoint> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back({usual * std::exp(-losses[i]), true});
  return points;
}

bool is_alarm(const std::vector<double>& losses, const DriftOptions& drift) {
  const auto points = points_of(losses, losses.size() - 1);
  return drift_of(points, usual * std::exp(-losses.back()), DriftSide::lower, drift).has_value();
}

/// A step in one of the series of a run: found in one of the five runs after it.
bool is_step_found(std::vector<double> losses, double step, const DriftOptions& drift) {
  constexpr std::size_t after = 5;
  for (std::size_t i = losses.size() - after; i < losses.size(); ++i) losses[i] += step;
  for (std::size_t last = losses.size() - after; last < losses.size(); ++last)
    if (is_alarm({losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(last) + 1}, drift)) return true;
  return false;
}

Rates drift_rates(const Options& options, Course course, int series, int past, double noise) {
  Rates rates;
  DriftOptions drift;
  drift.max_z = drift_z(drift.max_z, static_cast<std::size_t>(series));
  for (int run = 0; run < options.runs; ++run) {
    Random random = random_of(options, run, past + 37 * static_cast<int>(course));
    bool is_false = false;
    for (int i = 0; i < series; ++i) is_false = is_alarm(history(course, past + 1, noise, random), drift) || is_false;
    ++rates.runs;
    rates.false_runs += is_false;
    const double step = -std::log1p(-std::max(slow_deviations * noise, 0.15));
    rates.found += is_step_found(history(course, past + 5, noise, random), step, drift);
  }
  return rates;
}

void print_drift(const Options& options) {
  fmt::print(
      "\nDrift: share of runs with a false alarm / share of steps found, of six standard deviations and 15 % at "
      "least, within five runs\n\n| course | series of a run | earlier runs | spread 1 % | 3 % | 5 % "
      "|\n|---|---|---|---|---|---|\n");
  for (int at = 0; at < courses; ++at) {
    const auto course = static_cast<Course>(at);
    if (is_held_out(course) == options.is_tuning) continue;
    for (const int series : {1, 20, 200})
      for (const int past : {30, 100}) {
        fmt::print("| {} | {} | {} |", name_of(course), series, past);
        for (const double noise : noises) {
          Options fewer = options;
          if (series > 20) fewer.runs = std::max(1, options.runs / 4);
          const Rates rates = drift_rates(fewer, course, series, past, noise);
          fmt::print(" {:.3f} / {:.3f} |", rates.of_false(), rates.of_found());
        }
        fmt::print("\n");
      }
  }
}

// --- Compare ---

PastRun run_of(const std::vector<double>& losses, double within, Random& random) {
  PastRun run;
  constexpr int samples = 20;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    PastValue value;
    value.key.case_id = "case";
    value.key.metric = fmt::format("metric {}", i / 6);
    value.key.item.name = fmt::format("item {}", i % 6);
    value.unit = "GB/s";
    value.better = 1;
    value.value = usual * std::exp(-losses[i] - within * 1.2533 / std::sqrt(samples) * random.normal());
    value.samples = samples;
    value.noise = usual * within / 1.4826;
    run.values.push_back(value);
  }
  return run;
}

/// As noise_of of muster compare: the spread of each value in the earlier runs.
RunNoise noise_of(const std::vector<PastRun>& earlier) {
  RunNoise noise;
  for (std::size_t i = 0; i < earlier.front().values.size(); ++i) {
    double sum = 0;
    for (const PastRun& run : earlier) sum += run.values[i].value;
    const double mean = sum / static_cast<double>(earlier.size());
    double squares = 0;
    for (const PastRun& run : earlier) squares += (run.values[i].value - mean) * (run.values[i].value - mean);
    noise[earlier.front().values[i].key] = {std::sqrt(squares / static_cast<double>(earlier.size() - 1)) / mean,
                                            static_cast<int>(earlier.size())};
  }
  return noise;
}

struct PairRates {
  Rates rates;
  int others = 0;  ///< runs in which something else was named beside the slow one
};

PairRates compare_rates(const Options& options, Spread spread, int earlier, int times, double within) {
  PairRates all;
  constexpr std::size_t values = 60;
  const double between = times * within / std::sqrt(20.0);
  for (int at = 0; at < options.runs; ++at) {
    Random random = random_of(options, at, 41 * static_cast<int>(spread) + times);
    const auto next = [&] {
      std::vector<double> losses;
      for (std::size_t i = 0; i < values; ++i) losses.push_back(between * loss(spread, random));
      return losses;
    };
    std::vector<PastRun> past;
    for (int i = 0; i < earlier; ++i) past.push_back(run_of(next(), within, random));
    const RunNoise noise = earlier > 1 ? noise_of(past) : RunNoise{};
    const PastRun before = past.empty() ? run_of(next(), within, random) : past.back();
    PastRun after = run_of(next(), within, random);
    Comparison unchanged;
    compare_values(before, after, noise, unchanged);
    const auto is_worse = [](const MetricChange& change) { return change.is_worse; };
    ++all.rates.runs;
    all.rates.false_runs += std::any_of(unchanged.metrics.begin(), unchanged.metrics.end(), is_worse);
    const auto slow = static_cast<std::size_t>(random.below(values));
    after.values[slow].value *= 1 - std::max(0.15, 4 * between);
    Comparison slower;
    compare_values(before, after, noise, slower);
    bool is_found = false;
    bool is_other = false;
    for (const MetricChange& change : slower.metrics) {
      if (!change.is_worse) continue;
      const bool is_it = change.key.metric == after.values[slow].key.metric &&
                         change.items.front() == after.values[slow].key.item.name;
      (is_it ? is_found : is_other) = true;
    }
    all.rates.found += is_found;
    all.others += is_other;
  }
  return all;
}

void print_compare(const Options& options) {
  fmt::print(
      "\nCompare: 60 values; share of unchanged pairs with something worse / share found of one value slower by "
      "15 %, or four times the spread between runs / something else named\n\n| spread | earlier runs | between "
      "runs 1 x within | 3 x | 10 x |\n|---|---|---|---|---|\n");
  for (int at = 0; at < spreads; ++at) {
    const auto spread = static_cast<Spread>(at);
    if ((spread >= Spread::lognormal) == options.is_tuning) continue;
    for (const int earlier : {0, 5, 20}) {
      fmt::print("| {} | {} |", name_of(spread), earlier);
      for (const int times : {1, 3, 10}) {
        const PairRates one = compare_rates(options, spread, earlier, times, 0.02);
        fmt::print(" {:.3f} / {:.3f} / {:.3f} |", one.rates.of_false(), one.rates.of_found(),
                   static_cast<double>(one.others) / one.rates.runs);
      }
      fmt::print("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--tuning") options.is_tuning = true;
    if (i + 1 >= argc) break;
    const int value = std::atoi(argv[i + 1]);
    if (option == "--runs" && value > 0) options.runs = value;
    if (option == "--first-seed" && value > 0) options.first_seed = value;
  }
  fmt::print("{} part, {} runs a cell\n", options.is_tuning ? "tuning" : "held-out", options.runs);
  print_peers(options);
  print_limits(options);
  print_drift(options);
  print_compare(options);
  return 0;
}
