// The file may be anything, and anything may happen to us.
#include <SQLiteCpp/SQLiteCpp.h>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

#include "base/small_disk.hpp"
#include "history/past_runs.hpp"
#include "history/schema.hpp"
#include "history/store.hpp"

namespace muster {
namespace {

using test::a_run;

/// Run number `number` of one of several writers.
PastRun numbered(int writer, int number) {
  PastRun run = a_run(1 + number % 28, 100 + number);
  run.run_id = fmt::format("{}-{}", writer, number);
  for (int i = 0; i < 50; ++i) run.values.push_back(test::a_value(fmt::format("metric{}", i), "nid001", number));
  return run;
}

/// Stores runs until it is killed; tells each one, by a byte, once it is acknowledged.
[[noreturn]] void write_for_ever(const fs::path& file, int announce) {
  auto history = History::open(file, HistoryUse::write);
  if (!history) _exit(1);
  for (int number = 0;; ++number) {
    if (!history->record(numbered(getpid(), number))) _exit(2);
    const char done = 1;
    if (write(announce, &done, 1) != 1) _exit(3);
  }
}

/// How many runs it acknowledged before it was killed.
int killed_writer(const fs::path& file, int after_us) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) write_for_ever(file, pipe_ends[1]);
  close(pipe_ends[1]);
  usleep(static_cast<useconds_t>(after_us));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  int acknowledged = 0;
  char byte = 0;
  while (read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
  close(pipe_ends[0]);
  return WIFSIGNALED(status) ? acknowledged : -1 - WEXITSTATUS(status);
}

std::string integrity(const fs::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  return database.execAndGet("PRAGMA integrity_check").getString();
}

TEST(HistoryFile, LosesNoAcknowledgedRunToAKill) {
  const ScratchFolder folder;
  std::mt19937 engine(1);
  const fs::path file = folder / "history.db";
  int acknowledged = 0;
  int tries_in_midst = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int got = killed_writer(file, std::uniform_int_distribution<int>(0, 60'000)(engine));
    ASSERT_GE(got, 0) << "the writer gave up by itself";
    acknowledged += got;
    tries_in_midst += got > 0;
  }
  auto history = History::open(file, HistoryUse::write);
  ASSERT_TRUE(history) << to_string(history.error());
  const auto runs = history->runs();
  ASSERT_TRUE(runs);
  // One that was stored and not yet acknowledged may be there as well.
  EXPECT_GE(runs->size(), static_cast<std::size_t>(acknowledged));
  EXPECT_LE(runs->size(), static_cast<std::size_t>(acknowledged + 100));
  EXPECT_GT(tries_in_midst, 0) << "too slow a machine to kill anybody at work";
  for (std::size_t at = 0; at < runs->size(); at += 37) {
    const auto run = history->run((*runs)[at].number);
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_EQ(run->values.size(), 52U) << "half a run";
  }
  EXPECT_EQ(integrity(file), "ok");
  std::printf("100 writers killed, %d runs acknowledged, %zu there\n", acknowledged, runs->size());
}

TEST(HistoryFile, SeveralWriteAtOnce) {
  const ScratchFolder folder;
  const fs::path file = folder / "new/history.db";
  constexpr int each = 10;
  std::vector<pid_t> children;
  for (int writer = 0; writer < 4; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      // Every run opens the file anew, and the first of all makes it.
      for (int number = 0; number < each; ++number) {
        auto history = History::open(file, HistoryUse::write);
        if (!history || !history->record(numbered(writer, number))) _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  auto history = History::open(file, HistoryUse::read);
  ASSERT_TRUE(history) << to_string(history.error());
  const auto runs = history->runs();
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->size(), 4U * each);
  EXPECT_EQ(integrity(file), "ok");
}

TEST(HistoryFile, AFullDiskLosesNothing) {
  const ScratchFolder folder;
  const auto trouble = on_small_disk(folder.path(), [&] {
    const fs::path file = folder / "history.db";
    int kept = 0;
    Error why;
    {
      auto history = History::open(file, HistoryUse::write);
      ASSERT_TRUE(history) << to_string(history.error());
      for (; kept < 2000; ++kept) {
        const auto stored = history->record(numbered(0, kept));
        if (stored) continue;
        why = stored.error();
        break;
      }
      ASSERT_LT(kept, 2000);
      ASSERT_GT(kept, 3);
      EXPECT_EQ(why.kind, ErrorKind::system);
      EXPECT_NE(why.what.find("no space"), std::string::npos) << why.what;
      EXPECT_EQ(why.where, file.string());
    }
    auto history = History::open(file, HistoryUse::read);
    ASSERT_TRUE(history) << to_string(history.error());
    const auto runs = history->runs();
    ASSERT_TRUE(runs) << to_string(runs.error());
    EXPECT_EQ(runs->size(), static_cast<std::size_t>(kept));
    std::ofstream(folder / "ballast") << std::string(2 << 20, 'x');
    const auto fresh = History::open(folder / "other.db", HistoryUse::write);
    ASSERT_FALSE(fresh) << "a new one on a full disk";
    EXPECT_NE(fresh.error().what.find("no space"), std::string::npos) << fresh.error().what;
  });
  if (!trouble.empty()) GTEST_SKIP() << trouble;
}

TEST(HistoryFile, WhatIsDamagedOrAnotherProgramsIsLeftAlone) {
  const ScratchFolder folder;
  std::ofstream(folder / "text.db") << std::string(8192, 'x');
  std::filesystem::create_directory(folder / "folder.db");
  {
    SQLite::Database other((folder / "other.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE mine(x)");
  }
  {
    auto history = History::open(folder / "newer.db", HistoryUse::write);
    ASSERT_TRUE(history && history->record(a_run(1, 100)));
  }
  {
    SQLite::Database newer((folder / "newer.db").string(), SQLite::OPEN_READWRITE);
    newer.exec("PRAGMA user_version=99");
  }
  for (const auto& [name, words] : {std::pair("text.db", "damaged or not a history"),
                                    {"other.db", "another program"},
                                    {"newer.db", "newer muster"},
                                    {"folder.db", "is a folder"}}) {
    for (const HistoryUse use : {HistoryUse::read, HistoryUse::write}) {
      const auto history = History::open(folder / name, use);
      ASSERT_FALSE(history) << name;
      EXPECT_NE(to_string(history.error()).find(words), std::string::npos) << to_string(history.error());
      EXPECT_EQ(history.error().where, (folder / name).string());
    }
  }
  std::ifstream text(folder / "text.db");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(text), {}), std::string(8192, 'x'));
}

TEST(HistoryFile, APageThatWasOverwrittenIsSaid) {
  const ScratchFolder folder;
  const fs::path file = folder / "history.db";
  {
    auto history = History::open(file, HistoryUse::write);
    ASSERT_TRUE(history);
    for (int number = 0; number < 20; ++number) ASSERT_TRUE(history->record(numbered(0, number)));
  }
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(4096 + 100);
    for (int page = 0; page < 30; ++page) {
      out << std::string(600, '\xff');
      out.seekp(4096 - 600, std::ios::cur);
    }
  }
  auto history = History::open(file, HistoryUse::write);
  const auto stored = history ? history->record(numbered(1, 1)) : tl::unexpected(history.error());
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().where, file.string());
  EXPECT_NE(stored.error().what.find("damaged"), std::string::npos) << stored.error().what;
}

TEST(HistoryFile, OneThatCanOnlyBeReadIsRead) {
  const ScratchFolder folder;
  const auto trouble = on_small_disk(folder.path(), [&] {
    const fs::path file = folder / "history.db";
    {
      auto history = History::open(file, HistoryUse::write);
      ASSERT_TRUE(history && history->record(a_run(1, 100)));
    }
    ASSERT_EQ(mount(nullptr, folder.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    auto reading = History::open(file, HistoryUse::read);
    ASSERT_TRUE(reading) << to_string(reading.error());
    const auto runs = reading->runs();
    ASSERT_TRUE(runs) << to_string(runs.error());
    EXPECT_EQ(runs->size(), 1U);
    auto writing = History::open(file, HistoryUse::write);
    const auto stored = writing ? writing->record(a_run(2, 100)) : tl::unexpected(writing.error());
    ASSERT_FALSE(stored);
    EXPECT_NE(stored.error().what.find("can't be"), std::string::npos) << stored.error().what;
  });
  if (!trouble.empty()) GTEST_SKIP() << trouble;
}

TEST(HistoryFile, AnOlderSchemaIsBroughtUpToDate) {
  const ScratchFolder folder;
  const fs::path file = folder / "history.db";
  const PastRun before = a_run(1, 100);
  {
    auto history = History::open(file, HistoryUse::write);
    ASSERT_TRUE(history && history->record(before));
  }
  {
    // As the first muster that had a history left it.
    SQLite::Database old(file.string(), SQLite::OPEN_READWRITE);
    old.exec("DROP TABLE accepted");
    old.exec("PRAGMA user_version=1");
  }
  {
    auto history = History::open(file, HistoryUse::read);
    ASSERT_TRUE(history) << to_string(history.error());
    ASSERT_TRUE(history->accepted()) << "the table of schema 2";
  }
  auto history = History::open(file, HistoryUse::write);
  ASSERT_TRUE(history) << to_string(history.error());
  const Accepted accepted{"2026-11-30T00:00:00.000Z", "nid001", ""};
  ASSERT_TRUE(history->record_accepted(accepted));
  EXPECT_EQ(history->accepted(), Result<std::vector<Accepted>>(std::vector{accepted}));
  const auto runs = history->runs();
  ASSERT_TRUE(runs && runs->size() == 1);
  EXPECT_EQ(history->run(runs->front().number), Result<PastRun>(before));
}

TEST(HistoryFile, EverySchemaHasItsStep) {
  const ScratchFolder folder;
  ASSERT_TRUE(History::open(folder / "history.db", HistoryUse::write));
  SQLite::Database database((folder / "history.db").string(), SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), static_cast<int>(schema_steps().size()));
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "wal");
}

}  // namespace
}  // namespace muster
