// Numbers that no hardware gives are no measurements.
#include "evaluate/possible.hpp"

#include <gtest/gtest.h>

#include "evaluate/case_fixture.hpp"
#include "evaluate/matrices.hpp"

namespace muster {
namespace {

using testing::CaseFixture;
using testing::message;

const Labels big{{"size", "16MiB"}};

TEST(Possible, AValueAboveItIsUnmeasuredWithBothNumbers) {
  CaseFixture fixture;
  fixture.report("busbw", {90, 2000, 90, 90}, big).report("busbw.possible", {100, 100, 100, 100}, big);
  message.evidence = {"all sums are right"};
  const auto result = fixture.result();
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
  CaseFixture fixture;
  fixture.report("busbw", {104.9, 90, 90, 90}).report("busbw.possible", {100, 100, 100, 100});
  message.evidence = {"all sums are right"};
  EXPECT_EQ(fixture.result().verdict, Verdict::pass);
}

TEST(Possible, WhereLowerIsBetterItIsTheLeast) {
  CaseFixture fixture;
  fixture.report("latency", {3, 0.1, 3, 3}).report("latency.possible", {1, 1, 1, 1});
  EXPECT_EQ(fixture.result().reason,
            "faster than possible: latency of rank 1 on nid001 is 0.1 us, at least 1 us is possible");
}

TEST(Possible, ItIsHeldAgainstTheReadingWithTheSamePeerAndLabels) {
  CaseFixture fixture;
  fixture.add(0, "busbw", 150, big, 1);
  fixture.add(0, "busbw", 150, big, 2);
  fixture.add(0, "busbw.possible", 400, big, 1);
  fixture.add(0, "busbw.possible", 100, big, 2);
  fixture.add(0, "busbw", 150, {{"size", "8B"}}, 2);
  const auto kept = plausible(fixture.record, fixture.probe, fixture.world);
  ASSERT_EQ(kept.findings.size(), 1u);
  EXPECT_EQ(
      kept.findings[0].reason,
      "faster than possible: busbw of rank 0 on nid001 to rank 2 on nid002 where size=16MiB is 150 GB/s, at most 100 "
      "GB/s is possible");
  EXPECT_EQ(matrices_of(fixture.record, fixture.probe, fixture.world).at(0).where, big);
}

TEST(Possible, OthersAreNotJudgedByIt) {
  CaseFixture fixture(5, 1);
  fixture.report("busbw", {90, 90, 90, 90, 9000}).report("busbw.possible", {100, 100, 100, 100, 100});
  fixture.expect("busbw").limit = Limit{0.5, {}};
  fixture.report("busbw.capable", {100, 100, 100, 100, 100});
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured) << "it is not above half of what the hardware can do: it has no value";
  EXPECT_NE(result.reason.find("faster than possible"), std::string::npos);
}

TEST(Possible, OnAMachineThatIsMadeUpTimesMeanNothing) {
  CaseFixture fixture;
  fixture.report("busbw", {900, 900, 900, 900}).report("busbw.possible", {100, 100, 100, 100});
  fixture.world.timing_doubt = "2 ranks share a core";
  EXPECT_EQ(plausible(fixture.record, fixture.probe, fixture.world).findings.size(), 1u)
      << "ranks that share cores are slower, not faster";
  fixture.world.timing_doubt = "simulated machine x";
  NodeProvenance node;
  node.facts.push_back({"simulated", "x"});
  fixture.world.nodes = {node};
  EXPECT_TRUE(plausible(fixture.record, fixture.probe, fixture.world).findings.empty());
}

/// A program's numbers, one of each node, of a metric whose check says that 100 MB/s are possible.
CaseFixture program_scene(const std::vector<double>& values) {
  CaseFixture fixture(static_cast<int>(values.size()), 1);
  fixture.item.metrics = {{"triad", "MB/s", Better::neither, {}, 100}};
  message.evidence = {"the programs exited with 0"};
  fixture.report("triad", values);
  return fixture;
}

TEST(Possible, TheMaximumThatACheckDeclaresForItsProgram) {
  auto fixture = program_scene({90, 200, 80});
  fixture.rank(1).readings[0].where = big;
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured);
  EXPECT_EQ(
      result.reason,
      "faster than possible: triad of rank 1 on nid002 where size=16MiB is 200 MB/s, at most 100 MB/s is possible");
  ASSERT_EQ(result.culprits.size(), 1u);
  EXPECT_EQ(result.culprits[0].name, "rank 1");
  EXPECT_EQ(program_scene({90, 104.9, 80}).result().verdict, Verdict::pass);
  auto in_bytes = program_scene({90, 80});
  in_bytes.rank(0).readings[0].unit = "GB/s";
  EXPECT_EQ(in_bytes.result().reason,
            "faster than possible: triad of rank 0 on nid001 is 90000 MB/s, at most 100 MB/s is possible");
}

TEST(Possible, AMaximumThatMostNodesExceedIsAtFaultItself) {
  for (const auto& values : std::vector<std::vector<double>>{{200}, {200, 200, 90}}) {
    const auto result = program_scene(values).result();
    EXPECT_EQ(result.verdict, Verdict::unmeasured);
    EXPECT_EQ(result.culprits, (std::vector<Culprit>{{CulpritKind::file, "checks/scene.toml:2", "", -1}}));
    EXPECT_TRUE(result.remedy.starts_with("correct the maximum or the unit of the metric")) << result.remedy;
  }
}

TEST(Possible, ALimitIsAShareOfTheDeclaredMaximum) {
  auto fixture = program_scene({90, 40, 80});
  fixture.expect("triad").limit = Limit{0.5, {}};
  const auto slow = fixture.result();
  EXPECT_EQ(slow.verdict, Verdict::fail);
  EXPECT_EQ(slow.reason,
            "triad of rank 1 on nid002 is 40 MB/s, bound 50 MB/s (limit at least 50 % of what the hardware can do, "
            "100 MB/s as declared, checks/scene.toml:9)");
  EXPECT_EQ(slow.culprits.at(0).node, "nid002");
  auto few = program_scene({40});
  few.expect("triad").limit = Limit{0.5, {}};
  const auto alone = few.result();
  EXPECT_EQ(alone.verdict, Verdict::fail);
  EXPECT_EQ(alone.culprits, (std::vector<Culprit>{{CulpritKind::file, "checks/scene.toml:9", "", -1}}));
  EXPECT_TRUE(alone.remedy.starts_with("correct the value or the unit of the maximum of the metric")) << alone.remedy;
  auto fast = program_scene({200, 90, 90});
  fast.expect("triad").limit = Limit{0.5, {}};
  EXPECT_EQ(fast.result().verdict, Verdict::unmeasured);
}

TEST(Possible, FourReadingsAreNamedTheWorstFirst) {
  CaseFixture fixture(6, 1);
  fixture.report("busbw", {200, 300, 400, 500, 600, 700}).report("busbw.possible", {100, 100, 100, 100, 100, 100});
  const auto kept = plausible(fixture.record, fixture.probe, fixture.world);
  ASSERT_EQ(kept.findings.size(), 1u);
  EXPECT_EQ(kept.findings[0].reason.find("faster than possible: busbw of rank 5 on nid006 is 700 GB/s"), 0u)
      << kept.findings[0].reason;
  EXPECT_TRUE(kept.findings[0].reason.ends_with("; 2 more readings"));
  EXPECT_EQ(kept.findings[0].culprits.size(), 6u);
}

}  // namespace
}  // namespace muster
