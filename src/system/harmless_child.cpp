#include "system/harmless_child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "system/inherited_descriptors.hpp"

namespace muster {

namespace {

/// How long a killed process is waited for: one that hangs in a file system may not end at all.
constexpr double reap_s = 1;

/// True: the other end was closed in time.
bool is_closed_within(int in, double deadline_s) {
  const double until = monotonic_seconds() + deadline_s;
  for (;;) {
    const double left = until - monotonic_seconds();
    if (left <= 0) return false;
    pollfd one{in, POLLIN, 0};
    if (::poll(&one, 1, static_cast<int>(left * 1000) + 1) > 0) return true;
  }
}

}  // namespace

void become_harmless(pid_t parent, int& out, int kept) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  // A rank's handlers would write into its flight recorder, and its MPI library owns its descriptors.
  for (int number = 1; number < 32; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (out < 3) out = ::fcntl(out, F_DUPFD, 3);
  close_inherited_descriptors(out, kept);
}

int end_harmless(pid_t child) {
  // Its group is its own from its first step on; before that it is one process.
  if (::kill(-child, SIGKILL) != 0) ::kill(child, SIGKILL);
  const double until = monotonic_seconds() + reap_s;
  int status = 0;
  // Most have ended by then, or do so in microseconds.
  constexpr long longest_ns = 1'000'000;
  for (long moment_ns = 50'000;; moment_ns = std::min(2 * moment_ns, longest_ns)) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if ((ended < 0 && errno != EINTR) || monotonic_seconds() > until) return -1;
    const timespec moment{0, moment_ns};
    ::nanosleep(&moment, nullptr);
  }
}

Result<void> survives(const std::function<void()>& act, double deadline_s) {
  const auto refuse = [](std::string what) { return fail(ErrorKind::system, "", std::move(what)); };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return refuse(fmt::format("can't be tried: {}", std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    int out = ends[1];
    become_harmless(parent, out, -1);
    act();
    (void)!::write(out, "y", 1);
    ::_exit(0);
  }
  const int error = errno;
  ::close(ends[1]);
  const bool has_ended = child > 0 && is_closed_within(ends[0], deadline_s);
  char word = 0;
  const bool is_done = has_ended && ::read(ends[0], &word, 1) == 1 && word == 'y';
  ::close(ends[0]);
  if (child < 0) return refuse(fmt::format("can't be tried: {}", std::strerror(error)));
  const int status = end_harmless(child);
  if (is_done) return {};
  if (!has_ended) return refuse(fmt::format("takes longer than {:g} s", deadline_s));
  if (status != -1 && WIFSIGNALED(status)) return refuse(fmt::format("crashes (signal {})", WTERMSIG(status)));
  return refuse("ends the process");
}

}  // namespace muster
