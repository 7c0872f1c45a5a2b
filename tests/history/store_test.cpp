#include "history/store.hpp"

#include <gtest/gtest.h>

#include "base/small_disk.hpp"
#include "history/past_runs.hpp"

namespace muster {
namespace {

using test::a_run;

TEST(History, GivesBackWhatItWasGiven) {
  const ScratchFolder folder;
  auto history = History::open(folder / "state/history.db", HistoryUse::write);
  ASSERT_TRUE(history) << to_string(history.error());
  const PastRun run = a_run(1, 100);
  ASSERT_EQ(history->record(run), Result<bool>(true));
  EXPECT_EQ(history->record(run), Result<bool>(false)) << "the same run twice";
  const auto lines = history->runs();
  ASSERT_TRUE(lines && lines->size() == 1);
  const auto back = history->run(lines->front().number);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, run);
}

TEST(History, RemembersSkippedRunsAndActions) {
  const ScratchFolder folder;
  auto history = History::open(folder / "history.db", HistoryUse::write);
  ASSERT_TRUE(history);
  ASSERT_TRUE(history->record_skipped("2026-11-21T02:00:00.000Z", "another run holds the lock", {"muster", "run"}));
  const NodeAction drained{
      "2026-11-21T03:00:00.000Z", "nid003", "drain", "muster: slow link", "muster:night", "done", "abc123"};
  ASSERT_TRUE(history->record_action(drained));
  EXPECT_EQ(history->actions(), Result<std::vector<NodeAction>>(std::vector{drained}));
  const auto lines = history->runs();
  ASSERT_TRUE(lines && lines->size() == 1);
  EXPECT_EQ(lines->front().head.skipped, "another run holds the lock");
}

TEST(History, SeriesHaveTheirValuesInOrderOfTime) {
  const ScratchFolder folder;
  auto history = History::open(folder / "history.db", HistoryUse::write);
  ASSERT_TRUE(history);
  for (const int day : {3, 1, 2}) ASSERT_TRUE(history->record(a_run(day, 100.0 + day)));
  SeriesQuery query;
  query.metric = "triad";
  query.item = "nid001";
  query.most_points = 2;
  const auto found = history->series(query);
  ASSERT_TRUE(found && found->size() == 1);
  const auto& points = found->front().points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].value, 102.0);
  EXPECT_EQ(points[1].value, 103.0);
  EXPECT_FALSE(points[1].configuration.empty());
}

TEST(History, PruneRemovesWhatOnlyOldRunsNeed) {
  const ScratchFolder folder;
  auto history = History::open(folder / "history.db", HistoryUse::write);
  ASSERT_TRUE(history);
  PastRun old = a_run(1, 100);
  old.nodes.push_back({"gone", {{"kernel", "Linux 4"}}});
  ASSERT_TRUE(history->record(old));
  const PastRun kept = a_run(9, 100);
  ASSERT_TRUE(history->record(kept));
  EXPECT_EQ(history->prune("2026-11-05T00:00:00.000Z"), Result<std::int64_t>(1));
  const auto lines = history->runs();
  ASSERT_TRUE(lines && lines->size() == 1);
  const auto back = history->run(lines->front().number);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, kept);
}

}  // namespace
}  // namespace muster
