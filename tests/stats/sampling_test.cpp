#include "stats/sampling.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

namespace muster {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(MedianInterval, TakesTheOrderStatisticsOfTheTables) {
  // Two-sided 95 % ranks of the median: n and the lower rank k.
  const std::pair<int, int> table[] = {{6, 1},  {8, 1},  {9, 2},   {10, 2},  {12, 3},  {15, 4},
                                       {20, 6}, {25, 8}, {30, 10}, {40, 14}, {50, 18}, {100, 40}};
  for (const auto& [n, k] : table) {
    const auto interval = median_interval(one_to(n));
    ASSERT_TRUE(interval) << n;
    EXPECT_EQ(interval->low, k) << n;
    EXPECT_EQ(interval->high, n + 1 - k) << n;
    EXPECT_EQ(interval->median, (n + 1) / 2.0) << n;
  }
}

TEST(MedianInterval, NeedsSixFiniteSamples) {
  EXPECT_FALSE(median_interval({}));
  EXPECT_FALSE(median_interval(one_to(5)));
  auto five_and_infinity = one_to(5);
  five_and_infinity.push_back(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(median_interval(five_and_infinity));
}

TEST(MedianInterval, OfManySamplesFollowsTheNormalApproximation) {
  const auto interval = median_interval(one_to(20'000));
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 10'000 - 1.96 * std::sqrt(20'000) / 2, 2);
}

TEST(MedianInterval, CoversTheMedianAsOftenAsItSays) {
  std::mt19937 random(1);
  std::exponential_distribution<double> skewed(1.0);
  for (const int n : {6, 11, 40}) {
    int covered = 0;
    for (int trial = 0; trial < 4000; ++trial) {
      std::vector<double> samples;
      for (int i = 0; i < n; ++i) samples.push_back(skewed(random));
      const auto interval = *median_interval(samples);
      covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
    }
    EXPECT_GT(covered, 0.94 * 4000) << n;
    EXPECT_LT(covered, 0.99 * 4000) << n;
  }
}

TEST(MedianInterval, WidthIsHalfAndRelative) {
  EXPECT_DOUBLE_EQ((MedianInterval{98, 100, 102}.relative_half_width()), 0.02);
  EXPECT_DOUBLE_EQ((MedianInterval{-102, -100, -98}.relative_half_width()), 0.02);
  EXPECT_EQ((MedianInterval{0, 0, 0}.relative_half_width()), 0);
  EXPECT_TRUE(std::isinf(MedianInterval{-1, 0, 1}.relative_half_width()));
}

/// What a sampler did with a machine that gives sample i the value and the time `value(i)`.
struct Session {
  Sampled result;
  std::vector<int> batches;
};

template <class Value, class Contaminated>
Session play(const SamplingGoal& goal, Value value, Contaminated contaminated) {
  Session session;
  Sampler sampler(goal);
  int taken = 0;
  for (int count = sampler.next(); count > 0 && session.batches.size() < 1000; count = sampler.next()) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(value(taken++));
    const double seconds = std::accumulate(values.begin(), values.end(), 0.0);
    sampler.feed(values, Seconds{seconds}, contaminated(static_cast<int>(session.batches.size())));
    session.batches.push_back(count);
  }
  session.result = sampler.result();
  return session;
}

std::optional<bool> clean(int) {
  return false;
}

TEST(Sampler, EndsAsSoonAsTheMedianIsKnown) {
  const auto session = play(
      {.cap = Seconds{100}}, [](int i) { return i == 0 ? 5.0 : 1.0; }, clean);
  EXPECT_EQ(session.result.end, SamplingEnd::precise);
  EXPECT_TRUE(session.result.is_steady);
  EXPECT_EQ(session.result.warmups, 3) << "1 and 2, before 4 agreed with them";
  EXPECT_EQ(session.result.summary.n, 8);
  EXPECT_EQ(session.result.summary.max, 1.0);
  EXPECT_EQ(session.batches, (std::vector<int>{1, 2, 4, 4}));
  EXPECT_EQ(session.result.taken.value, 15);
}

TEST(Sampler, TakesMoreSamplesWhereTheyScatter) {
  const auto session = play(
      {.most = 1000, .cap = Seconds{1e6}}, [](int i) { return 1.0 + 0.01 * ((i * 37) % 11); }, clean);
  EXPECT_EQ(session.result.end, SamplingEnd::precise);
  EXPECT_GT(session.result.summary.n, 8);
  EXPECT_LE(session.result.interval->relative_half_width(), 0.02);
  EXPECT_LT(session.batches.size(), 9u) << "decisions cost messages";
}

TEST(Sampler, GivesUpAtTheTimeCapAndSaysSo) {
  const auto wild = [](int i) { return i % 2 == 0 ? 0.01 : 0.02; };
  const auto session = play({.cap = Seconds{1}}, wild, clean);
  EXPECT_EQ(session.result.end, SamplingEnd::time_cap);
  EXPECT_LE(session.result.taken.value, 1.3);
  EXPECT_GT(session.result.taken.value, 0.8);
  EXPECT_GT(session.result.interval->relative_half_width(), 0.02);
}

TEST(Sampler, GivesUpAtTheSampleCap) {
  const auto wild = [](int i) { return i % 2 == 0 ? 1.0 : 2.0; };
  const auto session = play({.most = 100, .cap = Seconds{1e6}}, wild, clean);
  EXPECT_EQ(session.result.end, SamplingEnd::sample_cap);
  EXPECT_EQ(std::accumulate(session.batches.begin(), session.batches.end(), 0), 100);
}

TEST(Sampler, AlwaysHasAValueHoweverSlowTheMachine) {
  const auto session = play(
      {.cap = Seconds{1}}, [](int) { return 3.0; }, clean);
  EXPECT_EQ(session.batches, std::vector<int>{1});
  EXPECT_EQ(session.result.summary.n, 1);
  EXPECT_EQ(session.result.warmups, 0);
  EXPECT_EQ(session.result.end, SamplingEnd::time_cap);
  EXPECT_FALSE(session.result.is_steady);
  EXPECT_FALSE(session.result.interval);
  EXPECT_EQ(to_string(session.result), "1 sample, interval unknown, time cap, never steady");
}

TEST(Sampler, AWarmUpThatNeverSettlesEndsAfterAQuarterOfTheTime) {
  double value = 64;
  const auto session = play(
      {.most = 200, .cap = Seconds{1000}}, [&](int) { return value *= 0.9; }, clean);
  EXPECT_FALSE(session.result.is_steady);
  EXPECT_GT(session.result.warmups, 0);
  EXPECT_GT(session.result.summary.n, 0);
  EXPECT_NE(to_string(session.result).find("never steady"), std::string::npos);
}

TEST(Sampler, ShortSamplesComeInBatchesWorthAMessage) {
  const auto session = play(
      {.cap = Seconds{1}, .batch = Seconds{0.01}}, [](int) { return 1e-4; }, clean);
  for (std::size_t i = 1; i < session.batches.size(); ++i) EXPECT_GE(session.batches[i], 99);
}

TEST(Sampler, RepeatsContaminatedSamples) {
  // The batches after the warm-up of 1, 2, 4: the first is disturbed and slow.
  const auto value = [](int i) { return i == 0 ? 5.0 : i >= 7 && i < 11 ? 9.0 : 1.0; };
  const auto session = play({.cap = Seconds{1000}}, value, [](int batch) { return std::optional(batch == 3); });
  EXPECT_EQ(session.result.end, SamplingEnd::precise);
  EXPECT_EQ(session.result.summary.n, 8);
  EXPECT_EQ(session.result.summary.max, 1.0);
  EXPECT_EQ(session.result.contaminated.n, 4);
  EXPECT_EQ(session.result.contaminated.median, 9.0);
  EXPECT_FALSE(session.result.is_disturbed);
  EXPECT_NE(to_string(session.result).find("4 contaminated samples thrown away"), std::string::npos);
}

TEST(Sampler, NothingButContaminationIsNoValue) {
  const auto session = play(
      {.cap = Seconds{50}}, [](int) { return 1.0; }, [](int) { return std::optional(true); });
  EXPECT_EQ(session.result.end, SamplingEnd::time_cap);
  EXPECT_TRUE(session.result.is_disturbed);
  EXPECT_EQ(session.result.summary.n, 0);
  EXPECT_FALSE(session.result.interval);
  EXPECT_GT(session.result.contaminated.n, 10);
}

TEST(Sampler, AnAnswerCountsForTheBatchesThatWaitedForIt) {
  Sampler sampler({.interval = 1e-9, .cap = Seconds{1000}});
  const double ones[] = {1, 1};
  const double twos[] = {2, 2, 2};
  sampler.feed(ones, Seconds{2}, false);
  sampler.feed(ones, Seconds{2}, false);
  ASSERT_FALSE(sampler.is_warming());
  sampler.feed(twos, Seconds{3}, std::nullopt);
  EXPECT_EQ(sampler.result().summary.n, 5);
  EXPECT_EQ(sampler.result().unwatched, 3);
  sampler.feed(twos, Seconds{3}, true);
  sampler.feed(ones, Seconds{2}, std::nullopt);
  sampler.feed(ones, Seconds{2}, std::nullopt);
  sampler.feed(ones, Seconds{2}, false);
  EXPECT_EQ(sampler.result().contaminated.n, 6);
  EXPECT_EQ(sampler.result().summary.n, 8);
  EXPECT_EQ(sampler.result().summary.max, 1.0) << "the twos are gone";
  EXPECT_EQ(sampler.result().unwatched, 0);
}

TEST(Sampler, TheAnswerAfterTheLastBatchCountsForAllThatWaited) {
  const double ones[] = {1, 1};
  const double twos[] = {2, 2, 2, 2, 2, 2};
  Sampler sampler({.interval = 1e-9, .least = 2, .cap = Seconds{1000}});
  sampler.feed(ones, Seconds{2}, false);
  sampler.feed(ones, Seconds{2}, false);
  sampler.feed(twos, Seconds{6});
  sampler.settle(std::nullopt);
  EXPECT_EQ(sampler.result().unwatched, 6);
  EXPECT_EQ(sampler.result().summary.max, 2.0);
  sampler.settle(true);
  EXPECT_EQ(sampler.result().contaminated.n, 6);
  EXPECT_EQ(sampler.result().summary.n, 2);
  EXPECT_EQ(sampler.result().summary.max, 1.0);
  EXPECT_EQ(sampler.result().unwatched, 0);
  EXPECT_FALSE(sampler.result().is_disturbed);
}

/// Where there was no time for more than the warm-up.
TEST(Sampler, TheAnswerAfterTheLastBatchCountsForAWarmUp) {
  const double ones[] = {1, 1};
  Sampler unknown({.least = 2, .cap = Seconds{10}});
  unknown.feed(ones, Seconds{10});
  ASSERT_EQ(unknown.result().summary.n, 2);
  EXPECT_EQ(unknown.result().unwatched, 2);
  unknown.settle(true);
  EXPECT_TRUE(unknown.result().is_disturbed);
  EXPECT_EQ(unknown.result().contaminated.n, 2);
  Sampler clean({.least = 2, .cap = Seconds{10}});
  clean.feed(ones, Seconds{10}, false);
  clean.settle(true);
  EXPECT_EQ(clean.result().summary.n, 2) << "was answered before";
  EXPECT_EQ(clean.result().unwatched, 0);
}

TEST(Sampler, APreciseReadingIsAsLongAsItHasToBe) {
  const auto one = [](int) { return 1.0; };
  const auto session = play({.cap = Seconds{100}, .least_time = Seconds{40}}, one, clean);
  EXPECT_EQ(session.result.end, SamplingEnd::precise);
  EXPECT_GE(session.result.taken.value, 40);
  EXPECT_LT(session.result.taken.value, 80);
  EXPECT_GT(session.result.summary.n, 30) << "all of them count";
}

TEST(Sampler, WhatIsNoNumberIsTakenAndNotKept) {
  const auto session = play(
      {.most = 20, .cap = Seconds{1e6}}, [](int) { return std::nan(""); }, clean);
  EXPECT_EQ(session.result.summary.n, 0);
  EXPECT_EQ(session.result.end, SamplingEnd::sample_cap);
}

}  // namespace
}  // namespace muster
