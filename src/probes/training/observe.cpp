#include "probes/training/observe.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/reading_facts.hpp"
#include "model/fact_fields.hpp"
#include "probes/training/facts.hpp"
#include "stats/stats.hpp"

namespace muster::training {

namespace {

constexpr std::size_t most_points = 50;  // of the curve

Summary one(double value) {
  return summarize(std::span(&value, 1));
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void report_curve(const Trained& trained, const Settings& settings, Observation& seen) {
  const auto& losses = trained.losses;
  if (losses.empty()) return;
  const std::size_t points = std::min(losses.size(), most_points);
  for (std::size_t point = 0; point < points; ++point) {
    const std::size_t step = points == 1 ? 0 : point * (losses.size() - 1) / (points - 1);
    const auto number = static_cast<std::size_t>(trained.first_step) + step;
    seen.readings.push_back({"loss", {{"step", std::to_string(number)}}, one(losses[step])});
  }
  const auto last_epoch = std::min(losses.size(), static_cast<std::size_t>(settings.steps_per_epoch()));
  seen.readings.push_back({"initial_loss", {}, one(losses.front())});
  seen.readings.push_back({"final_loss", {}, one(mean(std::span(losses).last(last_epoch)))});
  if (trained.accuracy) seen.readings.push_back({"accuracy", {}, one(*trained.accuracy)});
  const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
  if (*least == *most && losses.size() > 1) seen.facts.push_back({"constant", fmt::format("{:.6g}", losses[0])});
}

void report_differences(const Trained& trained, const Settings& settings, Observation& seen) {
  seen.facts.push_back(
      to_fact("steps", p2p::CountOf{static_cast<int>(trained.losses.size()),
                                    trained.planned_epochs * settings.steps_per_epoch() - trained.first_step}));
  seen.facts.push_back({"covered", fmt::format("{} of {}", trained.covered, trained.epochs)});
  if (trained.divergence)
    seen.facts.push_back(
        to_fact("diverged", DivergedRanks{trained.divergence->step, std::string(to_string(trained.divergence->cause)),
                                          trained.divergence->is_certain, trained.divergence->suspects}));
  if (!trained.wrong_gradients.empty())
    seen.facts.push_back(to_fact("gradients.wrong", RankSet{trained.wrong_gradients}));
  for (const MiscountedIn& one : trained.miscounted)
    seen.facts.push_back(to_fact("miscounted", MiscountedSample{one.epoch, one.what.sample, one.what.ranks}));
  const CurveDifference& reference = trained.reference;
  if (reference.steps > 0)
    seen.facts.push_back(to_fact("reference", ReferenceCompared{reference.steps, reference.worst, reference.most}));
  if (reference.first >= 0)
    seen.facts.push_back(to_fact(
        "reference.off", LossOff{trained.first_step + reference.first,
                                 trained.losses[static_cast<std::size_t>(reference.first)], trained.reference_loss}));
}

void report_saved(const SavedState& saved, int rank, Observation& seen) {
  if (saved.is_mine) seen.facts.push_back({"checkpoint.wrote", "yes"});
  if (!saved.fault.empty()) seen.facts.push_back({"checkpoint.fault", printable_line(saved.fault)});
  if (saved.is_of_another_run) seen.facts.push_back({"checkpoint.stranger", "yes"});
  if (saved.first_difference >= 0) seen.facts.push_back({"resumed.off", std::to_string(saved.first_difference)});
  if (rank != 0 || saved.writer < 0) return;
  seen.facts.push_back({"checkpoint.writer", std::to_string(saved.writer)});
  seen.facts.push_back({"resumed", std::to_string(saved.compared)});
}

void report_faults(const Trained& trained, Observation& seen) {
  const auto note = [&](const char* key, int step) {
    if (step >= 0) seen.facts.push_back({key, std::to_string(step)});
  };
  if (trained.broken)
    seen.facts.push_back(to_fact(trained.broken->error.empty() ? "stopped" : "broken",
                                 BrokenStep{trained.broken->step, printable_line(trained.broken->error, 400)}));
  note("not_finite.own", trained.not_finite_own);
  note("not_finite.sum", trained.not_finite_sum);
  note("zero.own", trained.zero_own);
  note("zero.sum", trained.zero_sum);
  note("same_order", trained.same_order);
  if (trained.miscovered)
    seen.facts.push_back(to_fact("miscovered", PartialSum{trained.miscovered_step, trained.miscovered->bucket,
                                                          trained.miscovered->samples, trained.miscovered->batch}));
}

/// The loss before gradients were no longer finite: a step that is too long makes it grow first.
void report_growth(const Trained& trained, Observation& seen) {
  const auto first_of = [](int a, int b) { return a < 0 || b < 0 ? std::max(a, b) : std::min(a, b); };
  const int bad = first_of(trained.not_finite_own, trained.not_finite_sum);
  if (bad < 0 || trained.losses.empty()) return;
  const auto before = std::min(trained.losses.size(), static_cast<std::size_t>(bad - trained.first_step) + 1);
  std::size_t worst = 0;
  for (std::size_t step = 0; step < before; ++step)
    if (std::isfinite(trained.losses[step]) && trained.losses[step] > trained.losses[worst]) worst = step;
  seen.facts.push_back(to_fact(
      "grown", LossGrown{trained.losses.front(), trained.losses[worst], trained.first_step + static_cast<int>(worst)}));
}

void report_skew(const std::vector<double>& compute, int rank, Observation& seen) {
  if (compute.size() < 2) return;
  const double typical = median(compute).value_or(0);
  const auto mine = static_cast<std::size_t>(rank);
  seen.readings.push_back({"skew", {}, one((compute[mine] - typical) * 1e6)});
  if (rank != 0 || typical <= 0) return;
  const auto slowest = std::max_element(compute.begin(), compute.end());
  seen.facts.push_back(
      to_fact("slowest", SlowestRank{static_cast<int>(slowest - compute.begin()), (*slowest / typical - 1) * 100}));
}

/// The first epoch warms up: it counts only where there is no other.
void report_times(const Trained& trained, const Settings& settings, int rank, Observation& seen) {
  const auto epoch = static_cast<std::size_t>(settings.steps_per_epoch());
  const std::size_t from = trained.epochs > 1 ? epoch : 0;
  std::vector<double> steps;
  std::vector<double> compute;
  std::vector<double> wait;
  std::vector<double> wait_share;
  std::vector<double> total;
  std::vector<double> own;
  for (std::size_t at = from; at + epoch <= trained.times.size(); at += epoch) {
    double seconds = 0;
    double samples = 0;
    for (std::size_t step = at; step < at + epoch; ++step) {
      const StepTimes& times = trained.times[step];
      steps.push_back(times.all * 1e6);
      compute.push_back(times.compute * 1e6);
      wait.push_back(times.wait);
      wait_share.push_back(times.wait / times.all);
      seconds += times.all;
      samples += trained.own_samples[step];
    }
    total.push_back(settings.samples / seconds);
    own.push_back(samples / seconds);
  }
  if (rank == 0) seen.readings.push_back({"throughput", {}, summarize(total)});
  seen.readings.push_back({"rank_throughput", {}, summarize(own)});
  seen.readings.push_back({"step_time", {}, summarize(steps)});
  seen.readings.push_back({"compute_time", {}, summarize(compute)});
  if (trained.compute_by_rank.size() < 2) return;
  seen.readings.push_back({"wait_share", {}, summarize(wait_share)});
  const auto alone = median(trained.sum_seconds);
  const auto waited = median(wait);
  if (alone && waited && *alone > 0)
    seen.readings.push_back({"overlap", {}, one(std::clamp(1 - *waited / *alone, 0.0, 1.0))});
}

}  // namespace

Observation observe(const Trained& trained, const Settings& settings, int rank) {
  Observation seen;
  report_faults(trained, seen);
  report_saved(trained.saved, rank, seen);
  report_times(trained, settings, rank, seen);
  report_skew(trained.compute_by_rank, rank, seen);
  if (rank != 0) return seen;
  report_curve(trained, settings, seen);
  report_differences(trained, settings, seen);
  report_growth(trained, seen);
  return seen;
}

}  // namespace muster::training
