#include <array>
#include <gtest/gtest.h>

#include "model/plan.hpp"

namespace muster {
namespace {

TEST(CheckTest, RanksReadAsInCheckFiles) {
  using Kind = RanksSpec::Kind;
  EXPECT_EQ(to_string(RanksSpec{Kind::per_node, 4}), "4 per node");
  EXPECT_EQ(to_string(RanksSpec{Kind::one_per_node}), "one-per-node");
  EXPECT_EQ(to_string(RanksSpec{Kind::one_per_core}), "one-per-core");
  EXPECT_EQ(to_string(RanksSpec{Kind::one_per_numa}), "one-per-numa");
  EXPECT_EQ(to_string(RanksSpec{Kind::one_per_gpu}), "one-per-gpu");
  EXPECT_EQ(to_string(RanksSpec{Kind::one_per_gpu, 2}), "one-per-gpu, 2 where there is none");
}

TEST(CheckTest, DirectionsHaveWords) {
  EXPECT_EQ(to_string(Better::higher), "higher");
  EXPECT_EQ(to_string(Better::lower), "lower");
  EXPECT_EQ(to_string(Better::neither), "neither");
}

TEST(CheckTest, TheFirstFactOfAKeyIsFound) {
  Observation seen;
  seen.facts = {{"mask", "0-3"}, {"host", "nid001"}, {"mask", "4-7"}};
  ASSERT_NE(seen.fact("mask"), nullptr);
  EXPECT_EQ(*seen.fact("mask"), "0-3");
  EXPECT_EQ(*seen.fact("host"), "nid001");
  EXPECT_EQ(seen.fact("Host"), nullptr);
  EXPECT_EQ(Observation().fact(""), nullptr);
}

constexpr std::array metrics{MetricSpec{"busbw", "GB/s", Better::higher, "Bus bandwidth."},
                             MetricSpec{"wrong_elements", "1", Better::lower, "Elements that differ.", false}};

TEST(CheckTest, FactsOfAMetricComeFromTheProbe) {
  const ProbeSpec probe{.name = "allreduce", .summary = "", .metrics = metrics};
  const auto timed = metric_facts(Case(), probe, "busbw");
  ASSERT_TRUE(timed);
  EXPECT_EQ(timed->unit, "GB/s");
  EXPECT_EQ(timed->better, Better::higher);
  EXPECT_TRUE(timed->is_timing);
  const auto counted = metric_facts(Case(), probe, "wrong_elements");
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->unit, "1");
  EXPECT_EQ(counted->better, Better::lower);
  EXPECT_FALSE(counted->is_timing) << "correctness is judged everywhere";
}

TEST(CheckTest, FactsOfAMetricComeFromTheCheckThatDeclaresIt) {
  const ProbeSpec probe{.name = "command", .summary = "", .metrics = metrics, .takes_declared_metrics = true};
  Case item;
  item.metrics = {{"loss", "1", Better::lower}, {"busbw", "MB/s", Better::neither}};
  const auto declared = metric_facts(item, probe, "loss");
  ASSERT_TRUE(declared);
  EXPECT_EQ(declared->unit, "1");
  EXPECT_EQ(declared->better, Better::lower);
  EXPECT_EQ(metric_facts(item, probe, "busbw")->unit, "GB/s") << "the probe's own metric is not redefined";
}

TEST(CheckTest, AnUnknownMetricHasNoFacts) {
  const ProbeSpec probe{.name = "allreduce", .summary = "", .metrics = metrics};
  EXPECT_FALSE(metric_facts(Case(), probe, "busbW"));
  EXPECT_FALSE(metric_facts(Case(), ProbeSpec{}, "busbw"));
  EXPECT_FALSE(metric_facts(Case(), probe, ""));
}

}  // namespace
}  // namespace muster
