// A number of a process that has ended is given to another one: in a PID namespace, where it can be chosen.
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/process_status.hpp"

namespace muster {
namespace {

constexpr int cannot = 77;

pid_t sleeper() {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  for (;;) ::pause();
}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

bool lives(pid_t pid) {
  const auto status = process_status(pid);
  return status && status->state != 'Z';
}

/// As process 1 of a namespace.
int use_a_number_again() {
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return cannot;
  if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) return cannot;
  const pid_t first = sleeper();
  const auto recorded = process_status(first);
  if (!recorded) return 1;
  ::usleep(50'000);  // several ticks of the clock that start times are in
  end(first);
  std::ofstream("/proc/sys/kernel/ns_last_pid") << first - 1;
  const pid_t second = sleeper();
  if (second != first) return cannot;
  if (signal_process(first, recorded->start_ticks, SIGKILL)) return 2;
  ::usleep(50'000);
  if (!lives(second)) return 3;
  const auto own = process_status(second);
  if (!own || !signal_process(second, own->start_ticks, SIGKILL)) return 4;
  int status = 0;
  ::waitpid(second, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 5;
}

TEST(SignalProcess, ANumberThatIsUsedAgainIsAnotherProcess) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(cannot);
    const pid_t inner = ::fork();
    if (inner == 0) ::_exit(use_a_number_again());
    int status = 0;
    ::waitpid(inner, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == cannot) GTEST_SKIP() << "numbers of processes can't be chosen here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace muster
