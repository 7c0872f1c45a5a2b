#include <cmath>
#include <limits>
#include <numeric>

#include "probes/judging.hpp"
#include "probes/training/audit.hpp"

namespace muster::training {
namespace {

using Records = std::vector<std::vector<StepRecord>>;

/// Ranks that agree in all of 4 steps; fingerprints are made up.
Records agreeing(int ranks) {
  std::vector<StepRecord> one;
  for (std::uint64_t step = 0; step < 4; ++step) one.push_back({100 + step, 200 + step, 101 + step});
  return Records(static_cast<std::size_t>(ranks), one);
}

std::optional<Divergence> find(const Records& records) {
  return find_divergence(records, std::vector<std::uint64_t>(records.size(), 100), 40);
}

TEST(TrainingDivergence, NoneWhereAllAgree) {
  EXPECT_EQ(find(agreeing(1)), std::nullopt);
  EXPECT_EQ(find(agreeing(7)), std::nullopt);
}

TEST(TrainingDivergence, TheMinorityOfThreeIsNamed) {
  Records records = agreeing(3);
  records[1][2].after = 7;
  EXPECT_EQ(find(records), (Divergence{42, Cause::update, {1}, true}));
  records[1][1].sum = 7;
  EXPECT_EQ(find(records), (Divergence{41, Cause::sum, {1}, true})) << "the earlier step counts";
}

TEST(TrainingDivergence, OfTwoItIsOneOrTheOther) {
  Records records = agreeing(2);
  records[0][0].sum = 7;
  EXPECT_EQ(find(records), (Divergence{40, Cause::sum, {0, 1}, false}));
}

TEST(TrainingDivergence, WhereAllDifferAllAreSuspects) {
  Records records = agreeing(4);
  for (std::size_t rank = 0; rank < 4; ++rank) records[rank][3].after = rank;
  EXPECT_EQ(find(records), (Divergence{43, Cause::update, {0, 1, 2, 3}, false}));
  records = agreeing(4);
  records[2][3].after = records[3][3].after = 7;
  EXPECT_EQ(find(records), (Divergence{43, Cause::update, {0, 1, 2, 3}, false})) << "two against two";
}

TEST(TrainingDivergence, WhoseOwnParametersChangedIsCertainAlsoOfTwo) {
  Records records = agreeing(2);
  records[1][2].before = 7;
  records[1][2].after = 8;
  EXPECT_EQ(find(records), (Divergence{42, Cause::memory, {1}, true}));
}

TEST(TrainingDivergence, ItMayHaveBeenThereFromTheStart) {
  Records records = agreeing(3);
  const std::vector<std::uint64_t> former{100, 9, 100};
  EXPECT_EQ(find_divergence(records, former, 0), (Divergence{0, Cause::start, {1}, true}));
}

TEST(TrainingDivergence, NamesOfCausesReadBack) {
  for (const Cause cause : {Cause::data, Cause::start, Cause::memory, Cause::sum, Cause::update})
    EXPECT_EQ(parse_cause(to_string(cause)), cause);
  EXPECT_EQ(parse_cause("weather"), std::nullopt);
}

std::vector<Miscounted> miscounted(const std::vector<std::vector<std::uint32_t>>& taken, int samples = 6) {
  return find_miscounted(taken, samples, 3);
}

TEST(TrainingCoverage, EverySampleOnce) {
  EXPECT_TRUE(miscounted({{5, 0, 1}, {}, {4, 2, 3}}).empty());
}

TEST(TrainingCoverage, TwiceAndNever) {
  EXPECT_EQ(miscounted({{5, 0, 1}, {1, 2, 3}}), (std::vector<Miscounted>{{1, {0, 1}}, {4, {}}}));
  EXPECT_EQ(miscounted({{5, 0, 1, 1}, {2, 3, 4}}), (std::vector<Miscounted>{{1, {0, 0}}}));
}

TEST(TrainingCoverage, NumbersThatAreNoSample) {
  EXPECT_EQ(miscounted({{0, 1, 2, 3, 4, 5, 6}}), (std::vector<Miscounted>{{6, {0}}}));
}

TEST(TrainingCoverage, AFewAreEnough) {
  EXPECT_EQ(miscounted({{}}).size(), 3u);
}

TEST(TrainingCurves, DeviationIsAShareOfTheLossOrOfATenth) {
  const std::vector<double> reference{2.0, 1.0, 0.01};
  const auto same = compare_curves(reference, reference);
  EXPECT_EQ(same.steps, 3);
  EXPECT_EQ(same.first, -1);
  EXPECT_EQ(same.most, 0);
  const auto near = compare_curves(std::vector<double>{2.0001, 1.00009, 0.010008}, reference);
  EXPECT_EQ(near.first, -1);
  EXPECT_EQ(near.worst, 1);
  EXPECT_NEAR(near.most, 0.9e-4, 1e-8);
  const auto off = compare_curves(std::vector<double>{2.0, 1.00011, 0.0101}, reference);
  EXPECT_EQ(off.first, 1);
  EXPECT_EQ(off.worst, 2);
}

TEST(TrainingCurves, AGpuMayRoundOtherwise) {
  const std::vector<double> reference{2.0, 1.0}, losses{2.0, 1.0009};
  EXPECT_EQ(compare_curves(losses, reference).first, 1);
  EXPECT_EQ(compare_curves(losses, reference, gpu_curve_tolerance).first, -1);
  EXPECT_EQ(compare_curves(std::vector<double>{2.0, 1.0011}, reference, gpu_curve_tolerance).first, 1);
}

TEST(TrainingGradients, AreCloseToAThousandthOfTheLargest) {
  const std::vector<float> due{10, 0, -1};
  EXPECT_TRUE(are_close(due, due));
  EXPECT_TRUE(are_close(std::vector<float>{10, 0.009f, -1}, due));
  EXPECT_FALSE(are_close(std::vector<float>{10, 0.011f, -1}, due));
  EXPECT_FALSE(are_close(std::vector<float>{10, std::numeric_limits<float>::quiet_NaN(), -1}, due));
  EXPECT_TRUE(are_close(std::vector<float>(2), std::vector<float>(2)));
}

TEST(TrainingCurves, WhatIsNotANumberIsNeverNear) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto off = compare_curves(std::vector<double>{1, nan, 1}, std::vector<double>{1, 1, 1});
  EXPECT_EQ(off.first, 1);
  EXPECT_EQ(off.worst, 1);
}

TEST(TrainingCurves, TheShorterOneEndsIt) {
  EXPECT_EQ(compare_curves(std::vector<double>(5, 1.0), std::vector<double>(3, 1.0)).steps, 3);
  EXPECT_EQ(compare_curves({}, std::vector<double>(3, 1.0)).steps, 0);
}

}  // namespace
}  // namespace muster::training
