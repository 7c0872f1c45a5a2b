#include "stats/drift.hpp"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace muster {
namespace {

/// What a site sees: values come one a run, are judged, and those that pass are what later ones are judged by.
struct Watched {
  std::vector<DriftPoint> past;
  DriftSide worse = DriftSide::lower;
  DriftOptions options;

  bool add(double value) {
    const bool is_reported = drift_of(past, value, worse, options).has_value();
    past.push_back({value, !is_reported});
    return is_reported;
  }
};

constexpr int runs = 30;
constexpr int step_at = 20;  ///< the first run that is slower, counted from 1
constexpr std::size_t metrics =
    20;  ///< of a history: those of a node with four ranks in the checks that come with muster

/// Reported at the run; 0: never. `share` of the value is lost from run step_at on.
struct Seen {
  int before = 0;  ///< histories with a report before run 20, in any metric
  int found = 0;   ///< histories whose slower metric was reported in runs 20 to 24
};

Seen watch(int histories, double noise, double share, double better) {
  Seen seen;
  for (int history = 0; history < histories; ++history) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(history) + 1);
    std::normal_distribution<double> normal;
    std::array<Watched, metrics> watched;
    bool is_false = false;
    bool is_found = false;
    for (int run = 1; run <= runs; ++run) {
      for (std::size_t i = 0; i < metrics; ++i) {
        watched[i].worse = better > 0 ? DriftSide::lower : DriftSide::higher;
        const bool is_slow = i == 0 && run >= step_at;
        if (run >= step_at && (!is_slow || run > step_at + 4)) continue;
        const bool is_reported =
            watched[i].add(100 * (1 - (is_slow ? better * share : 0)) * (1 + noise * normal(engine)));
        if (run < step_at) is_false = is_false || is_reported;
        if (i == 0 && run >= step_at && run <= step_at + 4) is_found = is_found || is_reported;
      }
    }
    seen.before += is_false;
    seen.found += is_found;
  }
  return seen;
}

// A history costs ten times as much under a sanitizer.
#ifdef MUSTER_SANITIZED
constexpr int histories = 300;
#else
constexpr int histories = 1000;
#endif

TEST(Drift, FindsAStepOfTenPercentInNoiseOfThree) {
  const Seen seen = watch(histories, 0.03, 0.10, 1);
  RecordProperty("reported_by_run_24", seen.found);
  RecordProperty("reported_before_run_20", seen.before);
  std::printf("of %d histories of %zu metrics: %d reported by run 24, %d reported before run 20\n", histories, metrics,
              seen.found, seen.before);
  EXPECT_GE(seen.found, histories * 95 / 100);
  EXPECT_LE(seen.before, histories * 3 / 100);
}

/// Each value goes on from the one before with 0.7 of its distance, as temperature and neighbours make it.
TEST(Drift, NoiseThatLastsIsNotTakenForAChange) {
  int reported = 0;
  constexpr int series = 400;
  for (int one = 0; one < series; ++one) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(one) + 1);
    std::normal_distribution<double> normal;
    Watched watched;
    double off = normal(engine);
    for (int run = 0; run < 60; ++run) {
      watched.past.push_back({100 * (1 + 0.05 * off), true});
      off = 0.7 * off + std::sqrt(1 - 0.49) * normal(engine);
    }
    reported += drift_of(watched.past, 100 * (1 + 0.05 * off), DriftSide::lower, {}).has_value();
  }
  std::printf("of %d autocorrelated series: %d reported\n", series, reported);
  EXPECT_LE(reported, 4);
}

TEST(Drift, LatencyThatRisesIsFoundAsWell) {
  const Seen seen = watch(200, 0.03, 0.10, -1);
  EXPECT_GE(seen.found, 190);
  EXPECT_LE(seen.before, 6);
}

TEST(Drift, TwoPercentAreNotReported) {
  EXPECT_EQ(watch(100, 0.003, 0.02, 1).found, 0);
  EXPECT_LE(watch(100, 0.03, 0.02, 1).found, 10);
}

TEST(Drift, ASlowDeclineIsFound) {
  Watched watched;
  bool is_reported = false;
  for (int run = 0; run < 60; ++run) is_reported = watched.add(100 - 0.4 * run + (run % 3 - 1) * 0.5) || is_reported;
  EXPECT_TRUE(is_reported);
}

TEST(Drift, WhatGetsBetterIsNot) {
  Watched watched;
  for (int run = 0; run < 40; ++run) EXPECT_FALSE(watched.add(run < 20 ? 100 : 130)) << run;
}

TEST(Drift, OddRunsOfThePastNeitherHideNorMakeAChange) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  Watched watched;
  for (int run = 0; run < 30; ++run) watched.past.push_back({100 + normal(engine), true});
  watched.past[4].value = 60;
  watched.past[17].value = 160;
  watched.past[29].value = 70;
  EXPECT_FALSE(drift_of(watched.past, 99, DriftSide::lower, {}));
  watched.past.push_back({99, true});
  EXPECT_TRUE(drift_of(watched.past, 80, DriftSide::lower, {}));
}

TEST(Drift, WhatRecoveredIsNotReportedAgain) {
  Watched watched;
  for (int run = 0; run < 20; ++run) watched.add(100 + run % 3);
  for (int run = 0; run < 6; ++run) EXPECT_EQ(watched.add(70), true) << run;
  EXPECT_FALSE(watched.add(100));
}

TEST(Drift, AChangeThatStaysIsReportedAsLongAsItStays) {
  Watched watched;
  for (int run = 0; run < 20; ++run) watched.add(100 + run % 3);
  int reported = 0;
  for (int run = 0; run < 20; ++run) reported += watched.add(85 + run % 2);
  EXPECT_GE(reported, 19);
}

TEST(Drift, ConstantValuesAreNoiseless) {
  Watched watched;
  for (int run = 0; run < 20; ++run) EXPECT_FALSE(watched.add(8));
  EXPECT_FALSE(watched.add(7.9));
  EXPECT_TRUE(watched.add(6));
  Watched zero;
  for (int run = 0; run < 20; ++run) EXPECT_FALSE(zero.add(0));
  EXPECT_FALSE(zero.add(1)) << "no share of nothing";
}

TEST(Drift, TooLittlePastJudgesNothing) {
  std::vector<DriftPoint> past(4, {100, true});
  past.push_back({100, false});
  EXPECT_FALSE(drift_past(past, {}));
  EXPECT_FALSE(drift_of(past, 1, DriftSide::lower, {}));
  EXPECT_FALSE(drift_end(past, DriftSide::lower, {}));
  past.push_back({100, true});
  EXPECT_EQ(drift_past(past, {})->runs, 5);
  EXPECT_TRUE(drift_of(past, 1, DriftSide::lower, {}));
}

TEST(Drift, TheEndIsWhereItBegins) {
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  for (const DriftSide worse : {DriftSide::lower, DriftSide::higher}) {
    std::vector<DriftPoint> past;
    for (int run = 0; run < 25; ++run) past.push_back({100 + 3 * normal(engine), true});
    const auto end = drift_end(past, worse, {});
    ASSERT_TRUE(end);
    const double away = worse == DriftSide::lower ? -0.01 : 0.01;
    EXPECT_FALSE(drift_of(past, *end, worse, {}));
    EXPECT_TRUE(drift_of(past, *end + away, worse, {}));
  }
}

/// Exponential losses: the largest of 60 is four times as far off as a normal one would be.
TEST(Drift, WhatHappenedBeforeAndPassedIsNoChange) {
  std::mt19937_64 engine(5);
  std::exponential_distribution<double> exponential;
  int alarms = 0;
  int found = 0;
  for (int set = 0; set < 1000; ++set) {
    std::vector<DriftPoint> past;
    for (int run = 0; run < 40; ++run) past.push_back({100 * std::exp(-0.07 * exponential(engine)), true});
    alarms += drift_of(past, 100 * std::exp(-0.07 * exponential(engine)), DriftSide::lower, {}).has_value();
    bool is_found = false;
    for (int run = 0; run < 5; ++run) {
      const double value = 60 * std::exp(-0.07 * exponential(engine));
      is_found = is_found || drift_of(past, value, DriftSide::lower, {});
      past.push_back({value, false});
    }
    found += is_found;
  }
  EXPECT_LE(alarms, 20) << "of 1000; without the rule 30 are expected";
  EXPECT_GE(found, 975) << "of 1000";
}

/// One value has to be twice as far off as the furthest of those that passed.
TEST(Drift, HowFarBeyondWhatHappenedBefore) {
  std::mt19937_64 engine(9);
  std::normal_distribution<double> normal;
  std::vector<DriftPoint> past;
  for (int run = 0; run < 40; ++run) past.push_back({100 + normal(engine), true});
  past[20].value = 90;
  EXPECT_FALSE(drift_of(past, 82, DriftSide::lower, {}));
  EXPECT_TRUE(drift_of(past, 78, DriftSide::lower, {}));
  past[20].value = 100;
  EXPECT_TRUE(drift_of(past, 82, DriftSide::lower, {})) << "none was so far off";
}

TEST(Drift, ManyValuesAtOnceAskForMore) {
  EXPECT_EQ(drift_z(3.5, 1), 3.5);
  EXPECT_EQ(drift_z(3.5, 20), 3.5);
  EXPECT_NEAR(drift_z(3.5, 2000), 4.58, 0.1);
}

}  // namespace
}  // namespace muster
