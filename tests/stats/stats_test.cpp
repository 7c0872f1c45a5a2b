#include "stats/stats.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Stats, NothingGivesNoNumber) {
  const std::vector<double> none;
  EXPECT_EQ(summarize(none), Summary{});
  EXPECT_EQ(summarize(none).n, 0);
  EXPECT_EQ(quantile(none, 0.5), std::nullopt);
  EXPECT_EQ(median(none), std::nullopt);
  EXPECT_EQ(mad(none), std::nullopt);
}

TEST(Stats, WhatIsNotFiniteIsNotASample) {
  const std::vector<double> broken{nan, infinity, -infinity};
  EXPECT_EQ(summarize(broken).n, 0);
  EXPECT_EQ(median(broken), std::nullopt);
  EXPECT_EQ(mad(broken), std::nullopt);
  const std::vector<double> mixed{nan, 2, infinity, 4};
  EXPECT_EQ(summarize(mixed), (Summary{2, 2, 3, 3.9, 4, 1}));
}

TEST(Stats, OneSampleIsAllOfItsSummary) {
  const std::vector<double> one{7};
  EXPECT_EQ(summarize(one), (Summary{1, 7, 7, 7, 7, 0}));
}

TEST(Stats, SummaryOfAKnownSet) {
  const std::vector<double> samples{9, 1, 5, 3, 7};
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.n, 5);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.median, 5);
  EXPECT_DOUBLE_EQ(summary.p95, 8.6);
  EXPECT_EQ(summary.max, 9);
  EXPECT_EQ(summary.mad, 2);
}

TEST(Stats, QuantilesInterpolateAsType7) {
  const std::vector<double> samples{10, 20, 30, 40};
  EXPECT_EQ(quantile(samples, 0), 10);
  EXPECT_EQ(quantile(samples, 1), 40);
  EXPECT_EQ(quantile(samples, 0.5), 25);
  EXPECT_DOUBLE_EQ(*quantile(samples, 0.25), 17.5);
  EXPECT_DOUBLE_EQ(*quantile(samples, 0.95), 38.5);
}

TEST(Stats, MadIgnoresOneWildSample) {
  const std::vector<double> samples{1, 2, 3, 4, 1000};
  EXPECT_EQ(mad(samples), 1);
  EXPECT_EQ(median(samples), 3);
}

TEST(Stats, LargeOffsetsLoseNothing) {
  // A variance by E[x^2] - E[x]^2 would be noise here.
  const std::vector<double> samples{1e15 + 1, 1e15 + 2, 1e15 + 4};
  EXPECT_EQ(mad(samples), 1);
  EXPECT_EQ(median(samples), 1e15 + 2);
}

TEST(Stats, HugeSamplesStayFinite) {
  constexpr double most = std::numeric_limits<double>::max();
  const Summary summary = summarize(std::vector<double>{-most, -most, -most, most, most});
  EXPECT_EQ(summary.median, -most);
  EXPECT_TRUE(std::isfinite(summary.p95));
  EXPECT_EQ(summary.mad, 0);
  EXPECT_TRUE(std::isfinite(*mad(std::vector<double>{-most, most, most})));
  EXPECT_TRUE(std::isfinite(*mad(std::vector<double>{-most, 0.5 * most})));
}

TEST(Stats, ModifiedZ) {
  EXPECT_DOUBLE_EQ(modified_z(120, 100, 10, 0), 1.349);
  EXPECT_DOUBLE_EQ(modified_z(80, 100, 10, 0), -1.349);
  // The floor: 3 % of 100 stands in for a MAD that is nearly nothing.
  EXPECT_DOUBLE_EQ(modified_z(103, 100, 0.001, 0.03), 0.6745);
  EXPECT_DOUBLE_EQ(modified_z(-103, -100, 0, 0.03), -0.6745);
}

TEST(Stats, ModifiedZWithoutAnySpread) {
  EXPECT_EQ(modified_z(5, 5, 0, 0), 0);
  EXPECT_EQ(modified_z(6, 5, 0, 0), infinity);
  EXPECT_EQ(modified_z(4, 5, 0, 0), -infinity);
  EXPECT_EQ(modified_z(0, 0, 0, 0.03), 0);
  EXPECT_EQ(modified_z(0.1, 0, 0, 0.03), infinity);
}

#ifdef MUSTER_HAVE_RAPIDCHECK

std::vector<double> some_samples() {
  const auto whole = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-100000, 100000)));
  std::vector<double> samples;
  for (int x : whole) samples.push_back(x / 16.0);
  return samples;
}

TEST(StatsProperty, ASummaryIsOrdered) {
  EXPECT_TRUE(rc::check([] {
    const auto samples = some_samples();
    const Summary s = summarize(samples);
    RC_ASSERT(s.n == static_cast<std::int64_t>(samples.size()));
    RC_ASSERT(s.min <= s.median);
    RC_ASSERT(s.median <= s.p95);
    RC_ASSERT(s.p95 <= s.max);
    RC_ASSERT(s.mad >= 0);
    RC_ASSERT(s.mad <= s.max - s.min);
    RC_ASSERT(s.median == *median(samples));
    RC_ASSERT(s.mad == *mad(samples));
  }));
}

TEST(StatsProperty, OrderOfSamplesDoesNotMatter) {
  EXPECT_TRUE(rc::check([] {
    auto samples = some_samples();
    const Summary before = summarize(samples);
    std::reverse(samples.begin(), samples.end());
    RC_ASSERT(summarize(samples) == before);
    std::sort(samples.begin(), samples.end());
    RC_ASSERT(summarize(samples) == before);
  }));
}

TEST(StatsProperty, ShiftingShiftsThePlaceAndNotTheSpread) {
  EXPECT_TRUE(rc::check([] {
    auto samples = some_samples();
    const Summary before = summarize(samples);
    for (double& x : samples) x += 64;
    const Summary after = summarize(samples);
    RC_ASSERT(after.median == before.median + 64);
    RC_ASSERT(after.mad == before.mad);
  }));
}

TEST(StatsProperty, AtLeastHalfOfTheSamplesLieWithinOneMad) {
  EXPECT_TRUE(rc::check([] {
    const auto samples = some_samples();
    const Summary s = summarize(samples);
    const auto inside =
        std::count_if(samples.begin(), samples.end(), [&](double x) { return std::fabs(x - s.median) <= s.mad; });
    RC_ASSERT(2 * inside >= static_cast<std::ptrdiff_t>(samples.size()));
  }));
}

#endif

}  // namespace
}  // namespace muster
