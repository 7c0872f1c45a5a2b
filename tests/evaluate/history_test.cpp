// Values against those of earlier runs of the same node, device or link.
#include <gtest/gtest.h>
#include <span>

#include "case_fixture.hpp"
#include "evaluate/past_items.hpp"

namespace muster::testing {
namespace {

struct PastScene : CaseFixture {
  PastValues past;

  explicit PastScene(int nodes = 2, int per_node = 2) : CaseFixture(nodes, per_node) {
    probe.subject = Subject::memory;
  }

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
  PastScene fixture;
  fixture.earlier("nid001", 100, 10);
  fixture.earlier("nid002", 50, 10);
  fixture.report("busbw", {100, 101, 50, 49});
  fixture.expect_history();
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_TRUE(has(result.reason, "busbw: all 4 readings inside the bounds (history); one worse by ")) << result.reason;
}

/// Verdict where the second node is worse than usual by that share.
Verdict verdict_of_worse(double share, std::string* reason = nullptr) {
  PastScene fixture;
  fixture.earlier("nid001", 100, 30);
  fixture.earlier("nid002", 50, 30);
  const double slow = 50 * (1 - share);
  fixture.report("busbw", {100, 100, slow, slow});
  fixture.expect_history();
  const auto result = fixture.result();
  if (reason != nullptr) *reason = result.reason;
  return result.verdict;
}

TEST(HistoryBound, APassStatesItsDetectionLimit) {
  std::string reason;
  ASSERT_EQ(verdict_of_worse(0, &reason), Verdict::pass);
  const std::string mark = "one worse by ";
  ASSERT_TRUE(has(reason, mark)) << reason;
  const double limit = std::stod(reason.substr(reason.find(mark) + mark.size())) / 100;
  EXPECT_GT(limit, 0.05);
  EXPECT_EQ(verdict_of_worse(limit), Verdict::fail);
  EXPECT_EQ(verdict_of_worse(0.9 * (limit - 0.01)), Verdict::pass) << "it is not much larger than necessary";
}

TEST(HistoryBound, OneThatBecameSlowFails) {
  PastScene fixture;
  fixture.earlier("nid001", 100, 10);
  fixture.earlier("nid002", 50, 10);
  fixture.report("busbw", {100, 101, 30, 30});
  fixture.expect_history();
  const auto result = fixture.result();
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

/// 60 runs at 82 GB/s after some at 47 GB/s, as of memory whose two virtual CPUs then ran on one core.
CaseResult with_two_levels(double now, bool is_virtual) {
  PastScene fixture(1, 1);
  std::vector<DriftPoint> points;
  for (int run = 0; run < 70; ++run) points.push_back({(run < 10 ? 47 : 82) * (1 + 0.01 * (run % 3 - 1)), true});
  fixture.past.add({"scene%00000001", "1 rank per node", "", "busbw", {}, {ItemKind::node, "nid001", "", ""}},
                   std::move(points), is_virtual);
  fixture.report("busbw", {now});
  fixture.expect_history();
  return fixture.result();
}

TEST(HistoryBound, ALevelThatAVirtualMachineHadPasses) {
  EXPECT_EQ(with_two_levels(46, true).verdict, Verdict::pass) << with_two_levels(46, true).reason;
  EXPECT_EQ(with_two_levels(46, false).verdict, Verdict::fail);
  const auto below = with_two_levels(38, true);
  EXPECT_EQ(below.verdict, Verdict::fail);
  EXPECT_TRUE(has(below.reason, "a virtual machine, whose hypervisor may have moved its CPUs")) << below.reason;
}

constexpr MetricSpec error_metrics[] = {{"errors", "1/s", Better::neither, "", false, false, 10}};
constexpr MetricSpec rare_error_metrics[] = {{"errors", "1/s", Better::neither, "", false, false, 0.5}};

/// Ten earlier runs with such a rate on nid001, and one of now; no check asks for history.
CaseResult with_errors(double earlier, double now, int runs = 10) {
  PastScene fixture(2, 1);
  fixture.probe.metrics = error_metrics;
  message.evidence = {"all met"};
  fixture.past.add({"scene%00000001", "1 rank per node", "", "errors", {}, {ItemKind::node, "nid001", "", ""}},
                   std::vector<DriftPoint>(static_cast<std::size_t>(runs), {earlier, true}));
  fixture.report("errors", {now, 900});
  return fixture.result();
}

TEST(HistoryBound, ARateOfErrorsIsJudgedUnasked) {
  const auto many = with_errors(0, 200);
  EXPECT_EQ(many.verdict, Verdict::fail);
  EXPECT_TRUE(has(many.reason, "nid001")) << many.reason;
  EXPECT_TRUE(has(many.reason, "history: ten times the median 0 1/s of 10 earlier passing runs, at least 10 1/s"))
      << many.reason;
  EXPECT_FALSE(has(many.reason, "nid002")) << "it has no past: " << many.reason;
  EXPECT_EQ(with_errors(30, 299).verdict, Verdict::pass);
  EXPECT_EQ(with_errors(30, 301).verdict, Verdict::fail);
  EXPECT_EQ(with_errors(0, 9).verdict, Verdict::pass) << "too few to judge";
  const auto fewer = with_errors(0, 200, 4);
  EXPECT_EQ(fewer.verdict, Verdict::pass) << fewer.reason;
  EXPECT_TRUE(fewer.notes.empty()) << "nobody asked";
}

TEST(HistoryBound, ARateOfErrorsHasNoDetectionLimit) {
  for (const std::span<const MetricSpec> metrics : {std::span(error_metrics), std::span(rare_error_metrics)}) {
    PastScene fixture(2, 1);
    fixture.probe.metrics = metrics;
    for (const char* node : {"nid001", "nid002"})
      fixture.past.add({"scene%00000001", "1 rank per node", "", "errors", {}, {ItemKind::node, node, "", ""}},
                       std::vector<DriftPoint>(10, {30, true}));
    fixture.report("errors", {29, 31});
    fixture.expect_history("errors");
    const auto result = fixture.result();
    EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
    EXPECT_TRUE(has(result.reason, "(history)")) << result.reason;
    EXPECT_TRUE(result.reason.ends_with("(history)")) << result.reason;
  }
}

/// One in so many series is off by chance, wherever in the run it is judged.
TEST(HistoryBound, TheBoundCountsAllSeriesOfTheRun) {
  PastScene fixture;
  fixture.earlier("nid001", 100, 10);
  fixture.earlier("nid002", 50, 10);
  fixture.report("busbw", {100, 101, 40, 40});
  fixture.expect_history();
  EXPECT_EQ(fixture.result().verdict, Verdict::fail);
  fixture.past.groups = 500;
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << fixture.result().reason;
}

TEST(HistoryBound, GroupsOfSeriesAreThoseThatTheRunJudges) {
  PastScene fixture;
  auto& asked = fixture.expect_history();
  asked.where = {{"size", "16MiB"}, {"op", "sum"}};
  Plan plan;
  plan.cases = {fixture.item};
  const std::vector<DriftPoint> points(10, {100, true});
  const auto add = [&](const std::string& id, const std::string& metric, const Labels& where, const std::string& node,
                       std::size_t runs = 10) {
    fixture.past.add({id, "2 ranks per node", "", metric, where, {ItemKind::node, node, "", ""}},
                     {points.begin(), points.begin() + static_cast<std::ptrdiff_t>(runs)});
    fixture.past.count_groups(plan);
    return fixture.past.groups;
  };
  const std::string id = common_id(fixture.item);
  EXPECT_EQ(add("other%00000001", "busbw", {{"size", "16MiB"}}, "nid001"), 1U);
  EXPECT_EQ(add(id, "busbw", {{"size", "16777216"}}, "nid001"), 1U);
  EXPECT_EQ(add(id, "busbw", {{"size", "16777216"}}, "nid002"), 1U);
  EXPECT_EQ(add(id, "busbw", {{"size", "16777216"}, {"link", "node"}}, "nid002"), 2U);
  EXPECT_EQ(add(id, "busbw", {{"size", "16777216"}, {"link", "socket"}}, "nid002", 4), 2U);
  EXPECT_EQ(add(id, "busbw", {{"size", "8B"}}, "nid001"), 2U);
  EXPECT_EQ(add(id, "latency", {{"size", "16MiB"}}, "nid001"), 2U);
}

TEST(HistoryBound, ANodeIsJudgedByTheMedianOfItsRanks) {
  PastScene fixture(1, 3);
  fixture.past.add({"scene%00000001", "3 ranks per node", "", "busbw", {}, {ItemKind::node, "nid001", "", ""}},
                   std::vector<DriftPoint>(10, {100, true}));
  fixture.report("busbw", {100, 100, 20});
  fixture.expect_history();
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << fixture.result().reason;
}

TEST(HistoryBound, TooLittlePastIsNoFailureAndNoEvidence) {
  PastScene fixture;
  fixture.earlier("nid001", 100, 4);
  fixture.report("busbw", {1, 1, 1, 1});
  fixture.expect_history();
  auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::unmeasured) << result.reason;
  EXPECT_TRUE(has(result.reason, "nothing was judged")) << result.reason;
  ASSERT_FALSE(result.notes.empty());
  EXPECT_TRUE(has(result.notes[0], "history not judged: fewer than 5 earlier")) << result.notes[0];
  EXPECT_TRUE(result.items.empty());
  message.evidence = {"the data is right"};
  EXPECT_EQ(fixture.result().verdict, Verdict::pass) << "it stands on its other evidence";
}

TEST(HistoryBound, AValueThatIsNotThereIsNotMissed) {
  PastScene fixture;
  fixture.earlier("nid001", 100, 10);
  fixture.report("busbw", {100, 100});
  fixture.rank(1).readings[0].summary = {};
  fixture.expect_history();
  fixture.expect_history("latency");
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_TRUE(has(result.reason, "busbw: 1 reading inside the bounds (history)")) << result.reason;
}

TEST(HistoryBound, ANewNodeIsPassedOver) {
  PastScene fixture;
  fixture.earlier("nid001", 100, 10);
  fixture.report("busbw", {100, 100, 1, 1});
  fixture.expect_history();
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_EQ(result.reason, "busbw: all 2 readings inside the bounds (history)")
      << "no detection limit: of the new node nothing is known";
}

TEST(HistoryBound, WithoutAHistoryOtherBoundsStillJudge) {
  CaseFixture fixture;
  fixture.report("busbw", {100, 100, 1, 100});
  fixture.expect_reference("busbw", 100).history = Drift{};
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "reference")) << result.reason;
}

TEST(HistoryBound, LatencyFailsWhenItRises) {
  PastScene fixture;
  fixture.earlier("nid001", 10, 10, ItemKind::node, "latency");
  fixture.earlier("nid002", 10, 10, ItemKind::node, "latency");
  fixture.report("latency", {5, 5, 15, 15});
  fixture.expect_history("latency");
  const auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "nid002")) << result.reason;
  EXPECT_FALSE(has(result.reason, "nid001")) << result.reason;
}

TEST(HistoryBound, LinksAndDevicesAreKnownWhereverTheirRanksStand) {
  constexpr static std::string_view reported[] = {"tested"};
  PastScene fixture;
  fixture.probe.reported_facts = reported;
  fixture.earlier("nid002 -> nid001", 100, 10, ItemKind::link);
  fixture.earlier("nid001 -> nid002", 100, 10, ItemKind::link);
  fixture.add(0, "busbw", 100, {}, 2);
  fixture.add(2, "busbw", 50, {}, 0);
  fixture.expect_history();
  auto result = fixture.result();
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_TRUE(has(result.reason, "rank 2 on nid002 to rank 0 on nid001")) << result.reason;

  PastScene moved;
  moved.probe.reported_facts = reported;
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
