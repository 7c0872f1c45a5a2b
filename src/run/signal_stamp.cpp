#include "run/signal_stamp.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <link.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <ucontext.h>
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

/// Code of the MPI and of its transports, as it is loaded. Filled before a signal is looked at.
struct CodeRanges {
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  std::array<Range, 64> ranges{};
  std::atomic<std::size_t> count{0};

  [[nodiscard]] bool holds(std::uintptr_t address) const {
    const std::size_t all = count.load();
    for (std::size_t i = 0; i < all; ++i)
      if (address >= ranges[i].begin && address < ranges[i].end) return true;
    return false;
  }
};
CodeRanges mpi_code;

bool is_of_mpi(std::string_view path) {
  constexpr std::array<std::string_view, 8> beginnings{"libmpi",    "libopen-", "libpmi", "libuc",
                                                       "libfabric", "libpsm",   "mca_",   "libcxi"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto beginning) { return name.starts_with(beginning); });
}

int add_code(dl_phdr_info* library, std::size_t, void*) {
  if (library->dlpi_name == nullptr || !is_of_mpi(library->dlpi_name)) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    const std::size_t at = mpi_code.count.load();
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || at == mpi_code.ranges.size()) continue;
    const std::uintptr_t begin = library->dlpi_addr + part.p_vaddr;
    mpi_code.ranges[at] = {begin, begin + part.p_memsz};
    mpi_code.count.store(at + 1);
  }
  return 0;
}

struct CodePlace {
  std::uintptr_t instruction = 0;  ///< 0: not known on this processor
  std::uintptr_t stack = 0;
};

CodePlace place_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return {static_cast<std::uintptr_t>(machine.gregs[REG_RIP]), static_cast<std::uintptr_t>(machine.gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {machine.pc, machine.sp};
#else
  (void)machine;
  return {};
#endif
}

/// What MPI calls, as memcpy and abort, has return addresses into it on the stack.
bool is_called_by_mpi(std::uintptr_t stack) {
  constexpr std::size_t words = 128;
  std::array<std::uintptr_t, words> top{};
  const iovec here{top.data(), sizeof top};
  const iovec there{reinterpret_cast<void*>(stack), sizeof top};
  // Does not fault where the stack ends.
  const ssize_t count = ::process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  const std::size_t read = count > 0 ? static_cast<std::size_t>(count) / sizeof top[0] : 0;
  return std::any_of(top.begin(), top.begin() + read, [](std::uintptr_t word) { return mpi_code.holds(word); });
}

/// Of a fault, or of an abort() of this process; a signal that another process sent is not a crash in MPI.
bool is_in_mpi(int signal, const siginfo_t* info, const void* context) {
  const bool is_fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
  const bool is_own = is_fault ? info->si_code > 0 : signal == SIGABRT && info->si_pid == getpid();
  if (!is_own || mpi_code.count.load() == 0) return false;
  const CodePlace place = place_of(context);
  if (place.instruction == 0) return false;
  return mpi_code.holds(place.instruction) || is_called_by_mpi(place.stack);
}

void stamp(int signal, const siginfo_t* info, const void* context) {
  FlightRecorder::Layout* layout = target.load();
  // The pid distinguishes a fork()ed child from its parent, whose recorder this is. getpid is a plain system call.
  if (layout == nullptr || layout->pid.load() != getpid() || layout->signal.load() != 0) return;
  layout->signal_ns.store(monotonic_nanoseconds());
  layout->is_signal_in_mpi.store(is_in_mpi(signal, info, context) ? 1 : 0);
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
  stamp(signal, info, context);
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
  mpi_code.count.store(0);
  ::dl_iterate_phdr(add_code, nullptr);
  for (const int signal : stamped) step_in_front(signal);
  watch_parent(*layout);
}

void stamp_exit(const void* caller) {
  FlightRecorder::Layout* layout = target.load();
  if (layout == nullptr || layout->pid.load() != getpid()) return;
  if (mpi_code.holds(reinterpret_cast<std::uintptr_t>(caller))) layout->is_exit_in_mpi.store(1);
}

void stop_stamping(FlightRecorder::Layout* layout) {
  target.compare_exchange_strong(layout, nullptr);
}

}  // namespace muster
