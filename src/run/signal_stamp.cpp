#include "run/signal_stamp.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <sys/prctl.h>
#include <unistd.h>

#include "run/recorder_layout.hpp"

namespace muster {

std::uint64_t monotonic_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

namespace {

constexpr std::array stamped{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t highest_signal = 64;
constexpr int most_formers = 3;

// Who handled a signal before us, each time that we stepped in front: first the disposition at the start, then the
// handlers of libraries. A library that calls its predecessor's handler calls us again: we go one further back.
struct Formers {
  std::array<struct sigaction, most_formers> actions{};
  std::atomic<int> count{0};
  std::atomic<int> depth{0};
};

std::array<Formers, highest_signal + 1> formers;
std::atomic<FlightRecorder::Layout*> target{nullptr};
// Stack for a handler when the thread's own has overflowed.
alignas(16) std::array<char, 64u << 10> spare_stack;

void stamp(int signal) {
  FlightRecorder::Layout* layout = target.load();
  // The pid distinguishes a fork()ed child from its parent, whose recorder this is. getpid is a plain system call.
  if (layout == nullptr || layout->pid.load() != getpid() || layout->signal.load() != 0) return;
  layout->signal_ns.store(monotonic_nanoseconds());
  int none = 0;
  layout->signal.compare_exchange_strong(none, signal);
}

void act_by_default(int signal, const siginfo_t* info) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  const bool is_fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
  // A fault of our own happens again, at the right place, when we return; anything else must be sent again. It is
  // blocked until we return.
  if (!is_fault || info == nullptr || info->si_code <= 0) raise(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  stamp(signal);
  Formers& known = formers[static_cast<std::size_t>(signal)];
  const int index = known.count.load() - 1 - known.depth.fetch_add(1);
  if (index < 0) {
    act_by_default(signal, info);
  } else {
    const struct sigaction& former = known.actions[static_cast<std::size_t>(index)];
    if ((former.sa_flags & SA_SIGINFO) != 0)
      former.sa_sigaction(signal, info, context);
    else if (former.sa_handler == SIG_DFL)
      act_by_default(signal, info);
    else if (former.sa_handler != SIG_IGN)
      former.sa_handler(signal);
  }
  known.depth.fetch_sub(1);
  errno = error;
}

void step_in_front(int signal) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) != 0) return;
  const bool is_ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal;
  const bool is_ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
  if (is_ours || is_ignored) return;
  Formers& known = formers[static_cast<std::size_t>(signal)];
  const int count = known.count.load();
  if (count == most_formers) return;
  known.actions[static_cast<std::size_t>(count)] = now;
  known.count.store(count + 1);
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_mask = now.sa_mask;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & SA_RESTART);
  sigaction(signal, &ours, nullptr);
}

/// The kernel also sends it where only the thread of the parent has ended that started this process.
void on_end_of_parent(int) {
  FlightRecorder::Layout* layout = target.load();
  if (layout == nullptr || layout->pid.load() != getpid() || getppid() == layout->parent.load()) return;
  std::uint64_t none = 0;
  layout->orphaned_ns.compare_exchange_strong(none, monotonic_nanoseconds());
}

/// By a signal that no library of ours uses; one that has a handler, or another signal that a wrapper asked for, stays.
void watch_parent(const FlightRecorder::Layout& layout) {
  const int signal = SIGRTMAX - 5;
  int asked = 0;
  struct sigaction now {};
  if (layout.parent.load() == 0 || prctl(PR_GET_PDEATHSIG, &asked) != 0 || sigaction(signal, nullptr, &now) != 0)
    return;
  const bool is_plain = (now.sa_flags & SA_SIGINFO) == 0;
  // A library has taken the signal since: it must not get ours.
  if (asked == signal && !(is_plain && now.sa_handler == on_end_of_parent)) prctl(PR_SET_PDEATHSIG, 0);
  if (asked != 0 || !is_plain || now.sa_handler != SIG_DFL) return;
  struct sigaction ours {};
  ours.sa_handler = on_end_of_parent;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  if (sigaction(signal, &ours, nullptr) != 0 || prctl(PR_SET_PDEATHSIG, signal) != 0) return;
  // It may have ended before.
  on_end_of_parent(signal);
}

}  // namespace

void start_stamping(FlightRecorder::Layout* layout) {
  target.store(layout);
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0) {
    stack = {};
    stack.ss_sp = spare_stack.data();
    stack.ss_size = spare_stack.size();
    sigaltstack(&stack, nullptr);
  }
  for (const int signal : stamped) step_in_front(signal);
  watch_parent(*layout);
}

void stop_stamping(FlightRecorder::Layout* layout) {
  target.compare_exchange_strong(layout, nullptr);
}

}  // namespace muster
