// Runs that do not overlap: who is in whose way, and that the kernel alone says who still is.
#include "run/run_lock.hpp"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"

namespace muster {
namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("muster-lock-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] fs::path file() const { return path / "state" / "running"; }
};

LockedRun run(const std::string& id, std::vector<std::string> nodes, const std::string& system = "alps") {
  return {id, system, std::move(nodes), "login1", ::getpid(), "2026-11-22T02:00:00.000Z", 0};
}

/// Who is in the way; empty: nobody, and the lock is held.
std::string taken(RunLock& lock, const fs::path& file, const LockedRun& mine) {
  const auto result = RunLock::take(lock, file, mine, 2);
  EXPECT_TRUE(result.has_value()) << to_string(result.error());
  return result && *result ? (*result)->run : "";
}

TEST(RunLock, ARunWithANodeInCommonIsInTheWay) {
  const Folder folder;
  RunLock one, two, three, four;
  EXPECT_EQ(taken(one, folder.file(), run("1", {"a", "b"})), "");
  EXPECT_EQ(taken(two, folder.file(), run("2", {"b", "c"})), "1");
  EXPECT_EQ(taken(two, folder.file(), run("2", {"c", "d"})), "");
  EXPECT_EQ(taken(three, folder.file(), run("3", {})), "1") << "a run of all nodes";
  EXPECT_EQ(taken(three, folder.file(), run("3", {}, "lumi")), "") << "of another system";
  EXPECT_EQ(taken(four, folder.file(), run("4", {"x"}, "lumi")), "3");
}

TEST(RunLock, WhoIsInTheWayIsTold) {
  const Folder folder;
  RunLock one, two;
  auto first = run("1", {"a", "b"});
  EXPECT_EQ(taken(one, folder.file(), first), "");
  for (int times = 1; times <= 3; ++times) {
    const auto reported = RunLock::take(two, folder.file(), run("2", {"a"}));
    ASSERT_TRUE(reported && *reported);
    first.turned_away = times;
    EXPECT_EQ(**reported, first);
  }
}

TEST(RunLock, EndsWithItsHolder) {
  const Folder folder;
  RunLock two;
  {
    RunLock one;
    EXPECT_EQ(taken(one, folder.file(), run("1", {"a"})), "");
    EXPECT_EQ(taken(two, folder.file(), run("2", {"a"})), "1");
  }
  EXPECT_EQ(taken(two, folder.file(), run("2", {"a"})), "");
}

TEST(RunLock, EndsWithAKilledProcess) {
  const Folder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    RunLock lock;
    (void)RunLock::take(lock, folder.file(), run("1", {"a"}));
    (void)!::write(ready[1], "x", 1);
    ::pause();
  }
  char letter = 0;
  ASSERT_EQ(::read(ready[0], &letter, 1), 1);
  RunLock two;
  EXPECT_EQ(taken(two, folder.file(), run("2", {"a"})), "1");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(taken(two, folder.file(), run("2", {"a"})), "");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(RunLock, ALineThatWasLostDoesNotSetAnybodyFree) {
  const Folder folder;
  RunLock one, two;
  EXPECT_EQ(taken(one, folder.file(), run("1", {"a"})), "");
  fs::resize_file(folder.file(), 30);
  const auto reported = RunLock::take(two, folder.file(), run("2", {"b"}));
  ASSERT_TRUE(reported && *reported) << "a living run of which nothing is known is in everybody's way";
  EXPECT_EQ((*reported)->run, "");
}

TEST(RunLock, AFileThatWasPutInItsPlaceIsTheOneThatCounts) {
  const Folder folder;
  RunLock one, two, three;
  EXPECT_EQ(taken(one, folder.file(), run("1", {"a"})), "");
  fs::remove(folder.file());
  EXPECT_EQ(taken(two, folder.file(), run("2", {"a"})), "");
  EXPECT_EQ(taken(three, folder.file(), run("3", {"a"})), "2");
}

TEST(RunLock, WhatIsNoLockFileIsLeftAsItIs) {
  const Folder folder;
  const auto path = folder.path / "precious";
  ASSERT_TRUE(write_file(path, "somebody's text\n").has_value());
  RunLock lock;
  const auto refused = RunLock::take(lock, path, run("1", {"a"}), 0.1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(to_string(refused.error()).find("not a lock file of muster"), std::string::npos);
  EXPECT_EQ(*read_file(path), "somebody's text\n");
  const auto missing = RunLock::take(lock, "/proc/muster/running", run("1", {"a"}), 0.1);
  EXPECT_FALSE(missing.has_value());
}

unsigned mode_of(const fs::path& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 0777u : 0;
}

/// Those who may read and not write could lock it against writers.
TEST(RunLock, NobodyElseReadsAFileOfItsOwn) {
  const Folder folder;
  RunLock one, two;
  EXPECT_EQ(taken(one, folder.file(), run("1", {"a"})), "");
  EXPECT_EQ(mode_of(folder.file()), 0600u);
  const auto old = folder.path / "old";
  ASSERT_TRUE(write_file(old, "muster lock 1\n", 0644));
  EXPECT_EQ(taken(two, old, run("2", {"b"})), "");
  EXPECT_EQ(mode_of(old), 0600u);
}

TEST(RunLock, AFileThatIsSharedOnPurposeStaysSo) {
  const Folder folder;
  const auto shared = folder.path / "shared";
  ASSERT_TRUE(write_file(shared, "", 0660));
  ::chmod(shared.c_str(), 0660);
  RunLock one, two;
  EXPECT_EQ(taken(one, shared, run("1", {"a"})), "");
  EXPECT_EQ(mode_of(shared), 0660u);
  EXPECT_EQ(taken(two, shared, run("2", {"a"})), "1");
}

TEST(RunLock, ARunInAFileOfAnEarlierMusterStillCounts) {
  const Folder folder;
  RunLock one, two;
  EXPECT_EQ(taken(one, folder.file(), run("1", {"a"})), "");
  ::chmod(folder.file().c_str(), 0644);
  EXPECT_EQ(taken(two, folder.file(), run("2", {"a"})), "1");
}

TEST(RunLock, ReadLocksAreNoRuns) {
  const Folder folder;
  RunLock one;
  EXPECT_EQ(taken(one, folder.file(), run("1", {"a"})), "");
  one = RunLock();
  const int reader = ::open(folder.file().c_str(), O_RDONLY | O_CLOEXEC);
  struct flock range = {};
  range.l_type = F_RDLCK;
  range.l_whence = SEEK_SET;
  range.l_start = off_t{1} << 40;
  range.l_len = 100;
  ASSERT_EQ(::fcntl(reader, F_OFD_SETLK, &range), 0);
  RunLock two, three;
  EXPECT_EQ(taken(two, folder.file(), run("2", {"a"})), "");
  EXPECT_EQ(taken(three, folder.file(), run("3", {"a"})), "2");
  ::close(reader);
}

TEST(RunLock, HowLongARunHasLasted) {
  auto young = run("1", {});
  young.since = rfc3339(realtime_nanoseconds() - 30'000'000'000);
  EXPECT_FALSE(has_lasted(young, 60));
  EXPECT_TRUE(has_lasted(young, 10));
  EXPECT_FALSE(has_lasted({}, 10)) << "of which nothing is known";
}

TEST(RunLock, ManyAtOnceAllGetTheirTurn) {
  const Folder folder;
  // Whoever has the lock keeps it until the others have been turned away.
  int gate[2] = {};
  ASSERT_EQ(::pipe(gate), 0);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child != 0) continue;
    ::close(gate[1]);
    char end = 0;
    RunLock lock;
    const auto result = RunLock::take(lock, folder.file(), run(std::to_string(i), {"a"}), 20);
    ::_exit(!result ? 2 : *result ? 1 : static_cast<int>(::read(gate[0], &end, 1)));
  }
  int held = 0, turned_away = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 19) ::close(gate[1]);
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    held += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    turned_away += WIFEXITED(status) && WEXITSTATUS(status) == 1;
  }
  ::close(gate[0]);
  EXPECT_EQ(held, 1);
  EXPECT_EQ(turned_away, 19);
}

}  // namespace
}  // namespace muster
