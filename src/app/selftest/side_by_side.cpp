#include "app/selftest/side_by_side.hpp"

#include <algorithm>
#include <csignal>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace muster {

namespace {

/// Signals wait to be asked for, in place of coming at any moment.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(std::span<const int> signals) {
    sigemptyset(&blocked_);
    for (const int signal : signals) sigaddset(&blocked_, signal);
    sigaddset(&blocked_, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  }
  ~SignalsBlocked() { restore(); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  void restore() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] int wait() const {
    int signal = 0;
    return sigwait(&blocked_, &signal) == 0 ? signal : 0;
  }

 private:
  sigset_t blocked_{};
  sigset_t before_{};
};

/// Never returns: what the caller holds (temporary folders, unwritten output) is the caller's alone.
[[noreturn]] void be_worker(std::size_t piece, pid_t parent, std::span<const int> heeded, const SignalsBlocked& blocked,
                            const std::function<void(std::size_t)>& work) noexcept {
  // A terminal's Ctrl-C reaches the caller only, who passes it on: twice would be the request to end at once.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const int signal : heeded) std::signal(signal, SIG_DFL);
  blocked.restore();
  if (getppid() == parent) work(piece);
  _exit(0);
}

/// Takes those that have ended off the list.
void reap(std::vector<pid_t>& at_work) {
  std::erase_if(at_work, [](pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, WNOHANG) != 0;
  });
}

}  // namespace

int side_by_side(std::size_t count, std::size_t at_once, std::span<const int> heeded,
                 const std::function<void(std::size_t)>& work) {
  const SignalsBlocked blocked(heeded);
  const pid_t parent = getpid();
  std::vector<pid_t> at_work;
  std::size_t next = 0;
  int ended_by = 0;
  while (true) {
    while (ended_by == 0 && next < count && at_work.size() < std::max(at_once, std::size_t{1})) {
      const pid_t pid = fork();
      if (pid == 0) be_worker(next, parent, heeded, blocked, work);
      if (pid < 0 && !at_work.empty()) break;  // no process more for now: when one has ended
      if (pid > 0) at_work.push_back(pid);
      ++next;
    }
    if (at_work.empty()) return ended_by;
    const int signal = blocked.wait();
    if (signal == SIGCHLD || signal == 0) {
      reap(at_work);
      continue;
    }
    ended_by = signal;
    for (const pid_t pid : at_work) kill(pid, signal);
  }
}

std::size_t processors_here() {
  cpu_set_t may_use;
  if (sched_getaffinity(0, sizeof may_use, &may_use) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&may_use)));
}

}  // namespace muster
