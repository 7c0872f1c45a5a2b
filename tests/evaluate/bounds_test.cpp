// Bounds as pure functions, and the choice of a reference.
#include "evaluate/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "case_fixture.hpp"
#include "stats/stats.hpp"

namespace muster::testing {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Range, BothEndsAreInside) {
  const Range range{1.0, 2.0};
  EXPECT_TRUE(range.judges());
  EXPECT_TRUE(range.holds(1));
  EXPECT_TRUE(range.holds(2));
  EXPECT_FALSE(range.holds(0.999));
  EXPECT_FALSE(range.holds(2.001));
  EXPECT_FALSE(range.holds(nan));
}

TEST(Range, AMissingEndIsOpen) {
  EXPECT_TRUE((Range{1.0, {}}.holds(1e300)));
  EXPECT_TRUE((Range{{}, 1.0}.holds(-1e300)));
  EXPECT_FALSE(Range{}.judges());
  EXPECT_FALSE((Range{nan, {}}.judges()));
  EXPECT_FALSE((Range{1.0, nan}.judges()));
}

TEST(Range, ExcessIsAShareOfTheBrokenEnd) {
  const Range range{100.0, 200.0};
  EXPECT_DOUBLE_EQ(range.excess(50), 0.5);
  EXPECT_DOUBLE_EQ(range.excess(300), 0.5);
  EXPECT_EQ(range.excess(150), 0);
  EXPECT_GT((Range{{}, 0.0}.excess(1)), 1e300);
}

TEST(ReferenceRange, TolerancesAreSigned) {
  Reference reference;
  reference.value = 150;
  reference.lower = -0.1;
  EXPECT_EQ(reference_range(reference), (Range{135.0, {}}));
  reference.upper = 0.2;
  EXPECT_EQ(reference_range(reference), (Range{135.0, 180.0}));
  reference.lower.reset();
  EXPECT_EQ(reference_range(reference), (Range{{}, 180.0}));
}

TEST(ReferenceRange, BelowANegativeValueIsFurtherFromZero) {
  Reference reference;
  reference.value = -100;
  reference.lower = -0.1;
  reference.upper = 0.1;
  EXPECT_EQ(reference_range(reference), (Range{-110.0, -90.0}));
}

TEST(LimitRange, IsAFractionOfTheCapableValue) {
  EXPECT_EQ(limit_range({0.25, {}}, 200), (Range{50.0, {}}));
  EXPECT_EQ(limit_range({0.25, 1.0}, 200), (Range{50.0, 200.0}));
  EXPECT_FALSE(limit_range({0.25, 1.0}, nan).judges());
  EXPECT_FALSE(limit_range({0.25, 1.0}, 0).judges());
  EXPECT_FALSE(limit_range({0.25, 1.0}, -5).judges());
}

std::vector<double> evenly(double middle, double step, int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(middle + step * (i - (n - 1) / 2.0));
  return values;
}

/// Normal values: quantiles at the middles of n equal shares.
std::vector<double> normal_values(double middle, double deviation, int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    double low = -8;
    double high = 8;
    for (int step = 0; step < 60; ++step) {
      const double z = (low + high) / 2;
      (0.5 * std::erfc(-z / std::sqrt(2.0)) < (i + 0.5) / n ? low : high) = z;
    }
    values.push_back(middle + deviation * low);
  }
  return values;
}

TEST(PeersRange, OnlyTheBadSideIsBounded) {
  const std::vector<double> values{98, 99, 100, 101, 102};
  const Peers peers{3.5, 0.0, 5};
  const double reach = 3.5 * (1 + 24.0 / 25) * 1 / 0.6745;
  const auto range = peers_range(peers, Better::neither, values);
  EXPECT_NEAR(*range.least, 100 - reach, 1e-9);
  EXPECT_NEAR(*range.most, 100 + reach, 1e-9);
  EXPECT_EQ(peers_range(peers, Better::higher, values), (Range{range.least, {}}));
  EXPECT_EQ(peers_range(peers, Better::lower, values), (Range{{}, range.most}));
  EXPECT_FALSE(peers_range(peers, Better::higher, {}).judges());
}

TEST(PeersRange, OfManyReadingsIsWhereTheModifiedZScoreReachesItsMost) {
  const auto values = evenly(100, 0.5, 100);
  const Peers peers{5.0, 0.03, 5};
  const auto range = peers_range(peers, Better::neither, values);
  EXPECT_NEAR(modified_z(*range.most, *median(values), *mad(values), 0), 5, 0.02);
  EXPECT_NEAR(modified_z(*range.least, *median(values), *mad(values), 0), -5, 0.02);
}

TEST(PeersRange, TheFloorKeepsNearlyEqualItemsTogether) {
  const std::vector<double> values{100, 100, 100, 100, 100, 99};
  EXPECT_TRUE((peers_range({5.0, 0.03, 5}, Better::higher, values).holds(99)));
  EXPECT_FALSE((peers_range({5.0, 0.0, 5}, Better::higher, values).holds(99)));
}

TEST(PeersRange, ATwentyPercentSlowerItemOf64IsOutsideUpToThreePercentSpread) {
  for (const double deviation : {0.1, 1.0, 3.0}) {
    const auto range = peers_range(Peers{}, Better::higher, normal_values(100, deviation, 64));
    EXPECT_FALSE(range.holds(80)) << deviation;
    EXPECT_TRUE(range.holds(89)) << deviation;
  }
}

TEST(PeersRange, MoreReadingsAskForALargerDistance) {
  const Peers peers;
  EXPECT_DOUBLE_EQ(peers_z(peers, 5), 5);
  EXPECT_DOUBLE_EQ(peers_z(peers, 100), 5);
  EXPECT_GT(peers_z(peers, 10000), 5.5);
}

/// Any of few values, and nearly any of many, is outside when it is worse by the limit and a twentieth.
TEST(PeersRange, TheStatedLimitHolds) {
  for (const int n : {6, 12, 64}) {
    const auto values = normal_values(100, 3, n);
    const double limit = peers_seen_from({}, Better::higher, values);
    EXPECT_GT(limit, 0.12) << n;
    int found = 0;
    int early = 0;
    for (std::size_t at = 0; at < values.size(); ++at) {
      auto slower = values;
      slower[at] *= 1 - 1.05 * limit;
      found += !peers_range({}, Better::higher, slower).holds(slower[at]);
      slower[at] = values[at] * (1 - 0.8 * limit);
      early += !peers_range({}, Better::higher, slower).holds(slower[at]);
    }
    EXPECT_GE(found, n <= 32 ? n : n * 9 / 10) << n;
    EXPECT_LE(early, n / 2) << n << ": not wider than needed";
  }
  EXPECT_EQ(peers_seen_from({}, Better::higher, std::vector<double>(8, 0.0)), 0);
  EXPECT_GT(peers_seen_from({}, Better::lower, normal_values(100, 3, 8)), 0.12);
}

/// Losses are often skewed: the slowest of 64 healthy items lies far beyond a bound for normal ones, but not apart.
TEST(PeersRange, ATailIsNoOutlier) {
  std::mt19937_64 engine(3);
  std::exponential_distribution<double> exponential;
  int outside = 0;
  int found = 0;
  for (int set = 0; set < 200; ++set) {
    std::vector<double> values;
    for (int i = 0; i < 64; ++i) values.push_back(100 * std::exp(-0.05 * exponential(engine)));
    const auto range = peers_range({}, Better::higher, values);
    outside += std::any_of(values.begin(), values.end(), [&](double value) { return !range.holds(value); });
    values[0] = 45;
    found += !peers_range({}, Better::higher, values).holds(45);
  }
  EXPECT_LE(outside, 8) << "of 200";
  EXPECT_GE(found, 190) << "of 200";
}

/// Of ten metrics of 1,000 items, whose losses have a tail of powers, a run named some in nine of ten runs.
TEST(PeersRange, ATailOfPowersIsNoOutlier) {
  std::mt19937_64 engine(3);
  std::student_t_distribution<double> student(3);
  int outside = 0;
  for (int set = 0; set < 50; ++set) {
    std::vector<double> values;
    for (int i = 0; i < 1000; ++i) values.push_back(100 * std::exp(-0.01 * student(engine)));
    const auto range = peers_range({}, Better::higher, values);
    outside += std::any_of(values.begin(), values.end(), [&](double value) { return !range.holds(value); });
  }
  EXPECT_LE(outside, 4) << "of 50";
}

/// Whatever the tail, half of the usual value is too little.
TEST(PeersRange, HalfOfTheMedianIsOutside) {
  std::mt19937_64 engine(3);
  std::student_t_distribution<double> student(2);
  for (int set = 0; set < 20; ++set) {
    std::vector<double> values;
    for (int i = 0; i < 400; ++i) values.push_back(100 * std::exp(-0.02 * student(engine)));
    values[0] = 49;
    EXPECT_FALSE(peers_range({}, Better::higher, values).holds(49));
    values[0] = 205;
    EXPECT_FALSE(peers_range({}, Better::lower, values).holds(205));
  }
}

TEST(PeersBins, TwoGradesAreToldFromOneAndFromAFewSlowItems) {
  auto values = normal_values(100, 1, 48);
  EXPECT_FALSE(between_bins(values));
  EXPECT_FALSE(between_bins(normal_values(100, 5, 1000)));
  for (const double slow : {80, 81, 82, 80}) values.push_back(slow);
  EXPECT_FALSE(between_bins(values)) << "4 of 52 are outliers";
  for (const double slow : normal_values(81, 1, 12)) values.push_back(slow);
  const auto bound = between_bins(values);
  ASSERT_TRUE(bound);
  EXPECT_GT(*bound, 84);
  EXPECT_LT(*bound, 97);
  EXPECT_FALSE(between_bins(std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2})) << "too few to tell";
  EXPECT_FALSE(between_bins(std::vector<double>(50, 0.0))) << "no gap";
}

TEST(SameValue, ComparesSizesAndTimesByValue) {
  EXPECT_TRUE(is_same_value("16MiB", "16777216B"));
  EXPECT_TRUE(is_same_value("60s", "1m"));
  EXPECT_TRUE(is_same_value("float", "float"));
  EXPECT_FALSE(is_same_value("16MiB", "16MB"));
  EXPECT_FALSE(is_same_value("float", "double"));
  EXPECT_FALSE(is_same_value("", "8B"));
}

TEST(Matching, EveryLabelMustBeThere) {
  const Labels labels{{"link", "network"}, {"size", "16MiB"}};
  EXPECT_TRUE(is_matched_by({}, labels));
  EXPECT_TRUE(is_matched_by({{"size", "16384KiB"}}, labels));
  EXPECT_FALSE(is_matched_by({{"size", "8B"}}, labels));
  EXPECT_FALSE(is_matched_by({{"type", "float"}}, labels));
}

// The choice among the profile's references, seen through the verdict and the text of the bound.

class ProfileReferences : public ::testing::Test {
 protected:
  CaseFixture fixture;
  void SetUp() override {
    fixture.report("busbw", {100, 100, 100, 100}, {{"size", "16MiB"}});
    fixture.expect("busbw").profile_reference = true;
  }
  void expect_chosen(const std::string& place) const {
    const auto result = fixture.result();
    EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
    ASSERT_EQ(result.metrics.size(), 1u);
    EXPECT_NE(result.metrics[0].bound.find(place), std::string::npos) << result.metrics[0].bound;
  }
};

TEST_F(ProfileReferences, NoneIsUnmeasured) {
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(result.reason, "no reference for busbw where size=16MiB in the profile");
  EXPECT_FALSE(result.remedy.empty());
  EXPECT_EQ(result.items.size(), 4u);
}

TEST_F(ProfileReferences, AnotherMetricOrLabelIsNone) {
  fixture.profile({}, 100, "a:1", "latency");
  fixture.profile({{"size", "8B"}}, 100, "a:2");
  fixture.profile({{"type", "half"}}, 100, "a:3");
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured);
}

TEST_F(ProfileReferences, MostKeysWinWhateverTheOrder) {
  fixture.profile({{"ranks", "4"}, {"size", "16777216B"}}, 100, "a:2");
  fixture.profile({{"size", "16MiB"}}, 500, "a:1");
  fixture.profile({}, 900, "a:3");
  expect_chosen("a:2");
}

TEST_F(ProfileReferences, TheShapeOfTheJobIsAKey) {
  fixture.profile({}, 900, "a:1");
  fixture.profile({{"nodes", "2"}, {"ranks", "4"}, {"ranks_per_node", "2"}}, 100, "a:2");
  fixture.profile({{"nodes", "3"}, {"ranks", "4"}, {"ranks_per_node", "2"}, {"size", "16MiB"}}, 900, "a:3");
  expect_chosen("a:2");
}

TEST_F(ProfileReferences, TheBindingOfTheLaunchIsAKey) {
  fixture.profile({{"binding", "masks"}}, 100, "a:1");
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured) << "bound to cores";
  fixture.item.shape.binding.kind = BindKind::masks;
  expect_chosen("a:1");
}

TEST_F(ProfileReferences, ParametersOfTheCaseAreKeys) {
  fixture.item.params.set("type", {ParamType::text, {std::string("half")}});
  fixture.item.params.set("window", {ParamType::bytes, {Bytes{1u << 20}}});
  fixture.profile({{"type", "half"}, {"window", "1024KiB"}}, 100, "a:1");
  fixture.profile({{"type", "float"}, {"window", "1MiB"}, {"size", "16MiB"}}, 900, "a:2");
  expect_chosen("a:1");
}

TEST_F(ProfileReferences, TwoAsSpecificThatDifferAreAnErrorNamingBoth) {
  fixture.profile({{"size", "16MiB"}}, 100, "a:1");
  fixture.profile({{"ranks", "4"}}, 110, "b:2");
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::error);
  EXPECT_NE(result.reason.find("a:1 and b:2"), std::string::npos) << result.reason;
  EXPECT_FALSE(result.remedy.empty());
}

TEST_F(ProfileReferences, ATieIsSettledByAMoreSpecificOne) {
  fixture.profile({{"size", "16MiB"}}, 100, "a:1");
  fixture.profile({{"ranks", "4"}}, 110, "b:2");
  fixture.profile({{"ranks", "4"}, {"size", "16MiB"}}, 100, "c:3");
  expect_chosen("c:3");
}

TEST_F(ProfileReferences, TwoThatSayTheSameAreNoTie) {
  fixture.profile({{"size", "16MiB"}}, 100, "a:1");
  fixture.profile({{"ranks", "4"}}, 100, "b:2");
  expect_chosen("a:1");
}

TEST_F(ProfileReferences, TheCheckSpeaksBeforeTheProfile) {
  fixture.profile({{"size", "16MiB"}}, 900, "a:1");
  fixture.item.expects[0].reference = CaseFixture::reference(100, -0.1, "checks/scene.toml:14");
  expect_chosen("checks/scene.toml:14");
}

TEST_F(ProfileReferences, UnitsAreConverted) {
  fixture.profile({}, 100000, "a:1");
  fixture.item.references[0].reference.unit = "MB/s";
  expect_chosen("a:1");
  fixture.item.references[0].reference.value = 200000;
  EXPECT_EQ(fixture.result().verdict, Verdict::fail);
}

TEST_F(ProfileReferences, AnotherDimensionIsAnError) {
  fixture.profile({}, 100, "a:1");
  fixture.item.references[0].reference.unit = "us";
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::error);
  EXPECT_NE(result.reason.find("a:1"), std::string::npos) << result.reason;
}

TEST_F(ProfileReferences, AReferenceThatNothingCanBreakIsNoBound) {
  fixture.profile({}, 100, "a:1");
  fixture.item.references[0].reference.lower.reset();
  EXPECT_EQ(fixture.result().verdict, Verdict::unmeasured);
}

}  // namespace
}  // namespace muster::testing
