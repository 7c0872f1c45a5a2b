#include "run/watchdog.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/clock.hpp"
#include "base/loop.hpp"
#include "run/process_status.hpp"
#include "run/rank_process.hpp"

namespace muster {
namespace {

constexpr WatchdogTimes quick{.grace_s = 0.1, .orphan_s = 0.1, .look_s = 0.02};
constexpr WatchdogTimes patient{.grace_s = 3600, .orphan_s = 3600, .look_s = 0.02};

class WatchdogTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(setenv("MUSTER_RECORDER_FOLDER", folder_.path.c_str(), 1), 0); }
  void TearDown() override { unsetenv("MUSTER_RECORDER_FOLDER"); }

  Folder folder_;
  /// Names of watchdogs belong to the node.
  std::string tag_ = "watched-" + random_hex(6);
};

bool becomes_true(const std::function<bool()>& claim) {
  Loop loop;
  const auto look = loop.every(0.005, [] {});
  const double until = monotonic_seconds() + 60;
  bool is_true = false;
  loop.run_until([&] { return (is_true = claim()) || monotonic_seconds() > until; });
  return is_true;
}

/// Whether a watchdog of this launch lives: it holds a name.
bool is_watched(const std::string& tag) {
  const std::string name = "muster-watchdog-" + tag;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool is_taken = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno == EADDRINUSE;
  ::close(socket);
  return is_taken;
}

bool has_ended(int pid) {
  const auto status = process_status(pid);
  return !status || status->state == 'Z';
}

TEST_F(WatchdogTest, EndsRanksPastTheirDeadlineAndWhatTheyLeft) {
  const auto late = [&](FlightRecorder& recorder) {
    recorder.deadline(monotonic_seconds());
    start_watchdog(tag_, quick);
    RankProcess::hang();
  };
  RankProcess stopped(folder_.path, tag_, late);
  kill(stopped.pid, SIGSTOP);
  EXPECT_TRUE(becomes_true([&] { return has_ended(stopped.pid); }));
  EXPECT_TRUE(WIFSIGNALED(stopped.wait()));
  EXPECT_TRUE(becomes_true([&] { return read_recorders(folder_.path, tag_).empty() && !is_watched(tag_); }));
}

TEST_F(WatchdogTest, OneRankPastItsDeadlineEndsAllOfItsLaunchAndNoOther) {
  RankProcess good(folder_.path, tag_, [&](FlightRecorder& recorder) {
    recorder.deadline(monotonic_seconds() + 3600);
    start_watchdog(tag_, quick);
    RankProcess::hang();
  });
  RankProcess other(folder_.path, tag_ + "other", [](FlightRecorder& recorder) {
    recorder.deadline(monotonic_seconds());
    RankProcess::hang();
  });
  EXPECT_FALSE(has_ended(good.pid));
  RankProcess late(folder_.path, tag_, [](FlightRecorder& recorder) {
    recorder.deadline(monotonic_seconds());
    RankProcess::hang();
  });
  EXPECT_TRUE(becomes_true([&] { return has_ended(good.pid) && has_ended(late.pid); }));
  EXPECT_FALSE(has_ended(other.pid));
}

TEST_F(WatchdogTest, ARankWithoutADeadlineOrBeforeItIsLeftAlone) {
  RankProcess unlimited(folder_.path, tag_, [&](FlightRecorder&) {
    start_watchdog(tag_, quick);
    RankProcess::hang();
  });
  RankProcess early(folder_.path, tag_, [](FlightRecorder& recorder) {
    recorder.deadline(monotonic_seconds() + 3600);
    RankProcess::hang();
  });
  // A later launch of the same node is looked at as often, and ends: so was this one.
  const std::string later = tag_ + "later";
  RankProcess late(folder_.path, later, [&](FlightRecorder& recorder) {
    recorder.deadline(monotonic_seconds());
    start_watchdog(later, quick);
    RankProcess::hang();
  });
  EXPECT_TRUE(becomes_true([&] { return has_ended(late.pid); }));
  EXPECT_FALSE(has_ended(unlimited.pid));
  EXPECT_FALSE(has_ended(early.pid));
  EXPECT_TRUE(is_watched(tag_));
}

TEST_F(WatchdogTest, EndsWithTheLastRecorder) {
  const auto watched = [&](FlightRecorder&) {
    start_watchdog(tag_, patient);
    start_watchdog(tag_, patient);
    RankProcess::hang();
  };
  RankProcess one(folder_.path, tag_, watched);
  RankProcess two(folder_.path, tag_, watched);
  EXPECT_TRUE(is_watched(tag_));
  kill(one.pid, SIGKILL);
  one.wait();
  kill(two.pid, SIGKILL);
  two.wait();
  // The driver may still read what they recorded, and removes it in the end.
  EXPECT_EQ(read_recorders(folder_.path, tag_).size(), 2u);
  EXPECT_TRUE(is_watched(tag_));
  for (const auto& record : read_recorders(folder_.path, tag_)) fs::remove(record.file);
  EXPECT_TRUE(becomes_true([&] { return !is_watched(tag_); }));
}

TEST_F(WatchdogTest, EndsADaemonThatStaysWithoutItsRanks) {
  const fs::path reported = folder_.path / "pid";
  const pid_t daemon = fork();
  if (daemon == 0) {
    prctl(PR_SET_NAME, "orted");
    const RankProcess rank(folder_.path, tag_, [&](FlightRecorder&) {
      start_watchdog(tag_, {.grace_s = 2, .orphan_s = 60, .look_s = 0.05});
      RankProcess::hang();
    });
    std::ofstream(reported) << rank.pid << std::flush;
    for (;;) pause();
  }
  ASSERT_TRUE(becomes_true([&] { return fs::exists(reported) && fs::file_size(reported) > 0; }));
  pid_t rank = 0;
  std::ifstream(reported) >> rank;
  kill(rank, SIGKILL);
  for (const auto& record : read_recorders(folder_.path, tag_)) fs::remove(record.file);
  int status = 0;
  EXPECT_EQ(waitpid(daemon, &status, WNOHANG), 0) << "it has the grace for its own end";
  const bool is_gone = becomes_true([&] { return waitpid(daemon, &status, WNOHANG) == daemon; });
  if (!is_gone) kill(daemon, SIGKILL);
  EXPECT_TRUE(is_gone);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE(becomes_true([&] { return !is_watched(tag_); }));
}

TEST_F(WatchdogTest, IsAwaitedUntilItHasSeenTheEndOfItsRanks) {
  const auto watched = [&](FlightRecorder&) {
    start_watchdog(tag_, patient);
    RankProcess::hang();
  };
  RankProcess rank(folder_.path, tag_, watched);
  await_end_of_watchdog(tag_, 0.05);
  EXPECT_TRUE(is_watched(tag_)) << "its rank lives, and the wait has a limit";
  kill(rank.pid, SIGKILL);
  rank.wait();
  for (const auto& record : read_recorders(folder_.path, tag_)) fs::remove(record.file);
  await_end_of_watchdog(tag_, 60);
  EXPECT_FALSE(is_watched(tag_));
}

TEST_F(WatchdogTest, RecordersThatNoDriverRemovesGo) {
  RankProcess rank(folder_.path, tag_, [&](FlightRecorder&) {
    start_watchdog(tag_, quick);
    RankProcess::hang();
  });
  kill(rank.pid, SIGKILL);
  rank.wait();
  EXPECT_TRUE(becomes_true([&] { return read_recorders(folder_.path, tag_).empty() && !is_watched(tag_); }));
}

// A daemon of the launcher that was killed: nothing else would end its rank.
class Orphans : public WatchdogTest {
 protected:
  /// Ends the parent of a rank.
  void orphan(const WatchdogTimes& times) {
    const fs::path reported = folder_.path / "pid";
    RankProcess daemon(folder_.path, tag_ + "daemon", [&](FlightRecorder&) {
      if (fork() == 0) {
        const auto recorder = FlightRecorder::create(folder_.path, tag_);
        start_watchdog(tag_, times);
        std::ofstream(reported) << getpid() << std::flush;
        for (;;) pause();
      }
      RankProcess::hang();
    });
    ASSERT_TRUE(becomes_true([&] { return fs::exists(reported) && fs::file_size(reported) > 0; }));
    std::ifstream(reported) >> rank_;
    ASSERT_GT(rank_, 1);
    EXPECT_FALSE(has_ended(rank_));
    kill(daemon.pid, SIGKILL);
    daemon.wait();
  }

  int rank_ = 0;
};

TEST_F(Orphans, AreEndedAndTheirRecordersGo) {
  orphan(quick);
  EXPECT_TRUE(becomes_true([&] { return has_ended(rank_); }));
  EXPECT_TRUE(becomes_true([&] { return read_recorders(folder_.path, tag_).empty() && !is_watched(tag_); }));
}

TEST_F(Orphans, LeaveTheirRecordersToADriverForAWhile) {
  orphan({.grace_s = 3600, .orphan_s = 0.1, .look_s = 0.02});
  EXPECT_TRUE(becomes_true([&] { return has_ended(rank_); }));
  EXPECT_EQ(read_recorders(folder_.path, tag_).size(), 1u);
  EXPECT_TRUE(is_watched(tag_));
  for (const auto& record : read_recorders(folder_.path, tag_)) fs::remove(record.file);
  EXPECT_TRUE(becomes_true([&] { return !is_watched(tag_); }));
}

/// From here on this process and its children have the calls of Linux 4.18 (EL8): no pidfd_open, no pidfd_send_signal.
bool forget_newer_calls() {
  constexpr unsigned first_newer = 424;  // pidfd_send_signal; the same on all architectures
  constexpr long pidfd_open = 434;
  constexpr unsigned answer = SECCOMP_RET_ERRNO | ENOSYS;
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_newer, 0, 1), BPF_STMT(BPF_RET | BPF_K, answer),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 &&
         ::syscall(pidfd_open, ::getpid(), 0) < 0 && errno == ENOSYS;
}

TEST_F(WatchdogTest, WithoutPidfd) {
  RankProcess late(folder_.path, tag_, [&](FlightRecorder& recorder) {
    if (!forget_newer_calls()) ::_exit(99);
    recorder.deadline(monotonic_seconds());
    start_watchdog(tag_, quick);
    RankProcess::hang();
  });
  EXPECT_TRUE(becomes_true([&] { return has_ended(late.pid); }));
  EXPECT_TRUE(WIFSIGNALED(late.wait())) << "status 99: no filters of system calls here";
  EXPECT_TRUE(becomes_true([&] { return read_recorders(folder_.path, tag_).empty() && !is_watched(tag_); }));
}

/// What the kernel gives: a number alone is not enough, also without pidfd.
TEST_F(WatchdogTest, WithoutPidfdTheStartTimeTellsProcessesApart) {
  RankProcess rank(folder_.path, tag_, [](FlightRecorder&) { RankProcess::hang(); });
  const auto start_ticks = process_status(rank.pid)->start_ticks;
  const auto signal_without = [&](std::uint64_t ticks) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(!forget_newer_calls() ? 99 : signal_process(rank.pid, ticks, SIGKILL) ? 1 : 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(signal_without(start_ticks + 1), 0);
  EXPECT_FALSE(has_ended(rank.pid));
  EXPECT_EQ(signal_without(start_ticks), 1);
  EXPECT_TRUE(becomes_true([&] { return has_ended(rank.pid); }));
}

TEST_F(WatchdogTest, AnotherHolderOfTheNameMeansNoWatchdogAndNoHarm) {
  const std::string name = "muster-watchdog-" + tag_;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), length), 0);
  RankProcess rank(folder_.path, tag_, [&](FlightRecorder& recorder) {
    recorder.phase(Phase::finished);
    start_watchdog(tag_, quick);
    start_watchdog(std::string(200, 't'), quick);  // too long for a name
    RankProcess::ready();
  });
  EXPECT_EQ(rank.wait(), 0);
  ::close(socket);
}

}  // namespace
}  // namespace muster
