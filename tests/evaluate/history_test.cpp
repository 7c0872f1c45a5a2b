// Values against those of earlier runs of the same node, device or link.
#include <gtest/gtest.h>

#include "evaluate/past_items.hpp"
#include "scene.hpp"

namespace muster::testing {
namespace {

struct PastScene : Scene {
  PastValues past;

  explicit PastScene(int nodes = 2, int per_node = 2) : Scene(nodes, per_node) { probe.subject = Subject::memory; }

  /// So many runs in which the node had about that value.
  void earlier(const std::string& name, double value, int runs, ItemKind kind = ItemKind::node,
               const std::string& metric = "busbw") {
    std::vector<DriftPoint> points;
    for (int run = 0; run < runs; ++run) points.push_back({value * (1 + 0.01 * (run % 3 - 1)), true});
    past.add({"scene%00000001", "2 ranks per node", "", metric, {}, {kind, name, "", ""}}, std::move(points));
  }
  Expectation& expect_history(const std::string& metric = "busbw") {
    auto& asked = expect(metric);
    asked.history = Drift{};
    return asked;
  }
  [[nodiscard]] CaseResult result() const { return evaluate(item, probe, record, world, nullptr, &past); }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(HistoryBound, AnItemLikeItsPastPasses) {
  PastScene scene;
  scene.earlier("nid001", 100, 10);
  scene.earlier("nid002", 50, 10);
  scene.report("busbw", {100, 101, 50, 49});
  scene.expect_history();
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_EQ(result.reason, "busbw: all 4 readings inside the bounds (history)");
}

TEST(HistoryBound, OneThatBecameSlowFails) {
  PastScene scene;
  scene.earlier("nid001", 100, 10);
  scene.earlier("nid002", 50, 10);
  scene.report("busbw", {100, 101, 30, 30});
  scene.expect_history();
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "rank 2 on nid002")) << result.reason;
  EXPECT_TRUE(has(result.reason, "history: median 50 GB/s of 10 earlier passing runs")) << result.reason;
  EXPECT_FALSE(has(result.reason, "nid001")) << result.reason;
  ASSERT_EQ(result.items.size(), 2U);
  ASSERT_EQ(result.items[0].bounds.size(), 1U);
  EXPECT_EQ(result.items[0].bounds[0].kind, BoundKind::history);
  EXPECT_GT(*result.items[0].bounds[0].least, 35);
  EXPECT_LT(*result.items[0].bounds[0].least, 48);
}

TEST(HistoryBound, ANodeIsJudgedByTheMedianOfItsRanks) {
  PastScene scene(1, 3);
  scene.past.add({"scene%00000001", "3 ranks per node", "", "busbw", {}, {ItemKind::node, "nid001", "", ""}},
                 std::vector<DriftPoint>(10, {100, true}));
  scene.report("busbw", {100, 100, 20});
  scene.expect_history();
  EXPECT_EQ(scene.result().verdict, Verdict::pass) << scene.result().reason;
}

TEST(HistoryBound, TooLittlePastIsNoFailureAndNoEvidence) {
  PastScene scene;
  scene.earlier("nid001", 100, 4);
  scene.report("busbw", {1, 1, 1, 1});
  scene.expect_history();
  auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured) << result.reason;
  EXPECT_TRUE(has(result.reason, "nothing was judged")) << result.reason;
  ASSERT_FALSE(result.notes.empty());
  EXPECT_TRUE(has(result.notes[0], "history not judged: fewer than 5 earlier")) << result.notes[0];
  EXPECT_TRUE(result.items.empty());
  said.evidence = {"the data is right"};
  EXPECT_EQ(scene.result().verdict, Verdict::pass) << "it stands on its other evidence";
}

TEST(HistoryBound, AValueThatIsNotThereIsNotMissed) {
  PastScene scene;
  scene.earlier("nid001", 100, 10);
  scene.report("busbw", {100, 100});
  scene.rank(1).readings[0].summary = {};
  scene.expect_history();
  scene.expect_history("latency");
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_EQ(result.reason, "busbw: 1 reading inside the bounds (history)");
}

TEST(HistoryBound, ANewNodeIsPassedOver) {
  PastScene scene;
  scene.earlier("nid001", 100, 10);
  scene.report("busbw", {100, 100, 1, 1});
  scene.expect_history();
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_EQ(result.reason, "busbw: all 2 readings inside the bounds (history)");
}

TEST(HistoryBound, WithoutAHistoryOtherBoundsStillJudge) {
  Scene scene;
  scene.report("busbw", {100, 100, 1, 100});
  scene.expect_reference("busbw", 100).history = Drift{};
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "reference")) << result.reason;
}

TEST(HistoryBound, LatencyFailsWhenItRises) {
  PastScene scene;
  scene.earlier("nid001", 10, 10, ItemKind::node, "latency");
  scene.earlier("nid002", 10, 10, ItemKind::node, "latency");
  scene.report("latency", {5, 5, 15, 15});
  scene.expect_history("latency");
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "nid002")) << result.reason;
  EXPECT_FALSE(has(result.reason, "nid001")) << result.reason;
}

TEST(HistoryBound, LinksAndDevicesAreKnownWhereverTheirRanksStand) {
  constexpr static std::string_view told[] = {"tested"};
  PastScene scene;
  scene.probe.told_facts = told;
  scene.earlier("nid002 -> nid001", 100, 10, ItemKind::link);
  scene.earlier("nid001 -> nid002", 100, 10, ItemKind::link);
  scene.add(0, "busbw", 100, {}, 2);
  scene.add(2, "busbw", 50, {}, 0);
  scene.expect_history();
  auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "rank 2 on nid002 to rank 0 on nid001")) << result.reason;

  PastScene moved;
  moved.probe.told_facts = told;
  moved.earlier("GPU-1234", 100, 10, ItemKind::device);
  moved.rank(3).facts = {{"tested", "0000:c1:00.0 GPU-1234 H100"}};
  moved.report("busbw", {100, 100, 100, 50});
  moved.expect_history();
  result = moved.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "rank 3 on nid002")) << result.reason;
}

}  // namespace
}  // namespace muster::testing
