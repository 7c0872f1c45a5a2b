// Numbers that no hardware gives are no measurements.
#include "evaluate/possible.hpp"

#include <gtest/gtest.h>

#include "evaluate/matrices.hpp"
#include "evaluate/scene.hpp"

namespace muster {
namespace {

using testing::said;
using testing::Scene;

const Labels big{{"size", "16MiB"}};

TEST(Possible, AValueAboveItIsUnmeasuredWithBothNumbers) {
  Scene scene;
  scene.report("busbw", {90, 2000, 90, 90}, big).report("busbw.possible", {100, 100, 100, 100}, big);
  said.evidence = {"all sums are right"};
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(
      result.reason,
      "faster than possible: busbw of rank 1 on nid001 where size=16MiB is 2000 GB/s, at most 100 GB/s is possible");
  ASSERT_EQ(result.culprits.size(), 1u);
  EXPECT_EQ(result.culprits[0].name, "rank 1");
  EXPECT_FALSE(result.remedy.empty());
  EXPECT_EQ(result.metrics.at(0).over.n, 3) << "what can't be is not among the values";
  EXPECT_EQ(result.metrics.at(0).over.max, 90);
}

TEST(Possible, UpToFivePercentIsNotExact) {
  Scene scene;
  scene.report("busbw", {104.9, 90, 90, 90}).report("busbw.possible", {100, 100, 100, 100});
  said.evidence = {"all sums are right"};
  EXPECT_EQ(scene.result().verdict, Verdict::pass);
}

TEST(Possible, WhereLowerIsBetterItIsTheLeast) {
  Scene scene;
  scene.report("latency", {3, 0.1, 3, 3}).report("latency.possible", {1, 1, 1, 1});
  EXPECT_EQ(scene.result().reason,
            "faster than possible: latency of rank 1 on nid001 is 0.1 us, at least 1 us is possible");
}

TEST(Possible, ItIsHeldAgainstTheReadingWithTheSamePeerAndLabels) {
  Scene scene;
  scene.add(0, "busbw", 150, big, 1);
  scene.add(0, "busbw", 150, big, 2);
  scene.add(0, "busbw.possible", 400, big, 1);
  scene.add(0, "busbw.possible", 100, big, 2);
  scene.add(0, "busbw", 150, {{"size", "8B"}}, 2);
  const auto kept = plausible(scene.record, scene.probe, scene.world);
  ASSERT_EQ(kept.findings.size(), 1u);
  EXPECT_EQ(
      kept.findings[0].reason,
      "faster than possible: busbw of rank 0 on nid001 to rank 2 on nid002 where size=16MiB is 150 GB/s, at most 100 "
      "GB/s is possible");
  EXPECT_EQ(matrices_of(scene.record, scene.probe, scene.world).at(0).where, big);
}

TEST(Possible, OthersAreNotJudgedByIt) {
  Scene scene(5, 1);
  scene.report("busbw", {90, 90, 90, 90, 9000}).report("busbw.possible", {100, 100, 100, 100, 100});
  scene.expect("busbw").limit = Limit{0.5, {}};
  scene.report("busbw.capable", {100, 100, 100, 100, 100});
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured) << "it is not above half of what the hardware can do: it has no value";
  EXPECT_NE(result.reason.find("faster than possible"), std::string::npos);
}

TEST(Possible, OnAMachineThatIsMadeUpTimesMeanNothing) {
  Scene scene;
  scene.report("busbw", {900, 900, 900, 900}).report("busbw.possible", {100, 100, 100, 100});
  scene.world.timing_doubt = "2 ranks share a core";
  EXPECT_EQ(plausible(scene.record, scene.probe, scene.world).findings.size(), 1u)
      << "ranks that share cores are slower, not faster";
  scene.world.timing_doubt = "simulated machine x";
  NodeProvenance node;
  node.facts.push_back({"simulated", "x"});
  scene.world.nodes = {node};
  EXPECT_TRUE(plausible(scene.record, scene.probe, scene.world).findings.empty());
}

TEST(Possible, FourReadingsAreNamedTheWorstFirst) {
  Scene scene(6, 1);
  scene.report("busbw", {200, 300, 400, 500, 600, 700}).report("busbw.possible", {100, 100, 100, 100, 100, 100});
  const auto kept = plausible(scene.record, scene.probe, scene.world);
  ASSERT_EQ(kept.findings.size(), 1u);
  EXPECT_EQ(kept.findings[0].reason.find("faster than possible: busbw of rank 5 on nid006 is 700 GB/s"), 0u)
      << kept.findings[0].reason;
  EXPECT_TRUE(kept.findings[0].reason.ends_with("; 2 more readings"));
  EXPECT_EQ(kept.findings[0].culprits.size(), 6u);
}

}  // namespace
}  // namespace muster
