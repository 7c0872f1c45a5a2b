#include "history/store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(History, CompactGivesTheRoomOfRemovedRunsBack) {
  const ScratchFolder folder;
  const auto file = folder / "history.db";
  auto history = History::open(file, HistoryUse::write);
  ASSERT_TRUE(history);
  for (int day = 1; day <= 9; ++day) {
    PastRun run = a_run(day, 100);
    for (int node = 0; node < 200; ++node)
      run.nodes.push_back(
          {fmt::format("n{}-{}", day, node), {{"kernel", fmt::format("{:k>2000}-{}-{}", "", day, node)}}});
    ASSERT_TRUE(history->record(run));
  }
  ASSERT_EQ(history->prune("2026-11-09T00:00:00.000Z"), Result<std::int64_t>(8));
  const auto freed = history->compact();
  ASSERT_TRUE(freed);
  EXPECT_GT(*freed, 100'000);
  EXPECT_GT(*freed, static_cast<std::int64_t>(fs::file_size(file)));
  const auto lines = history->runs();
  ASSERT_TRUE(lines && lines->size() == 1);
  EXPECT_EQ(history->compact(), Result<std::int64_t>(0));
}

TEST(History, APipeIsRefusedAndNotWaitedFor) {
  const ScratchFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const HistoryUse use : {HistoryUse::read, HistoryUse::write, HistoryUse::amend}) {
    const auto opened = History::open(pipe, use);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().what, "is a pipe or a device; name a regular file with --history");
  }
}

}  // namespace
}  // namespace muster
