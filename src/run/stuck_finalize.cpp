#include "run/stuck_finalize.hpp"

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::string_view report = "muster-rank: left MPI_Finalize, which did not return\n";
// Together below the driver's deadline for the finish.
constexpr unsigned first_look_s = most_finalize_s - 1;
constexpr unsigned look_every_s = 1;
constexpr int most_wait_ms = 2500;
constexpr int most_answer_ms = 1000;
// Of processor time, between two looks: a rank that sleeps in the process manager uses less, one that waits in UCX
// more.
constexpr std::int64_t spins_ns = 200'000;

int pmi_socket = -1;
std::int64_t last_ns = -1;
sigjmp_buf before_finalize;

/// Only what a signal handler may do, as all of the following.
std::int64_t processor_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void write_all(int file, std::string_view text) {
  (void)!::write(file, text.data(), text.size());
}

bool is_answered(std::string_view request, std::string_view answer, int most_ms) {
  std::array<char, 1024> text{};
  std::size_t filled = 0;
  write_all(pmi_socket, request);
  while (filled < text.size()) {
    pollfd input{pmi_socket, POLLIN, 0};
    if (::poll(&input, 1, most_ms) <= 0) return false;
    const ssize_t count = ::read(pmi_socket, text.data() + filled, text.size() - filled);
    if (count <= 0) return false;
    filled += static_cast<std::size_t>(count);
    if (std::string_view(text.data(), filled).find(answer) != std::string_view::npos) return true;
  }
  return false;
}

/// A rank that sleeps has reached the barrier of the process manager, and ends as the others reach it. One that spins
/// goes there itself. Where no answer comes, it had been there before, and waits for one of its node that has left.
void look(int) {
  const std::int64_t now_ns = processor_time_ns();
  const bool is_asleep = last_ns < 0 || now_ns - last_ns < spins_ns;
  last_ns = now_ns;
  if (is_asleep) {
    ::alarm(look_every_s);
    return;
  }
  write_all(STDERR_FILENO, report);
  (void)is_answered("cmd=barrier_in\n", "cmd=barrier_out", most_wait_ms);
  (void)is_answered("cmd=finalize\n", "cmd=finalize_ack", most_answer_ms);
  ::siglongjmp(before_finalize, 1);
}

}  // namespace

bool can_hang_in_finalize(std::string_view library) {
  constexpr std::string_view mark = "MPICH Version:";
  const std::size_t at = library.find(mark);
  if (at == library.npos || library.find("ch4:ucx") == library.npos) return false;
  const std::string version(trim(library.substr(at + mark.size(), 16)));
  int major = 0;
  int minor = 0;
  return std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 && major == 4 && minor < 2;
}

bool finish_in_time(const std::function<void()>& finalize) {
  const char* socket = std::getenv("PMI_FD");
  pmi_socket = socket == nullptr ? -1 : std::atoi(socket);
  if (pmi_socket <= STDERR_FILENO) {
    finalize();
    return true;
  }
  // The library's frames that are left behind are C's: no destructor is skipped.
  if (sigsetjmp(before_finalize, 1) != 0) return false;
  struct sigaction action {};
  action.sa_handler = look;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  ::alarm(first_look_s);
  finalize();
  ::alarm(0);
  return true;
}

std::string note_of_left_finalize(std::string_view standard_error) {
  const std::string_view line = report.substr(0, report.size() - 1);
  std::size_t ranks = 0;
  for (std::size_t at = standard_error.find(line); at != standard_error.npos;
       at = standard_error.find(line, at + line.size()))
    ++ranks;
  if (ranks == 0) return {};
  return fmt::format(
      "MPI_Finalize did not return within {} s after all cases had ended; {} left it. MPICH before 4.2 with UCX "
      "can hang there, and applications meet that too: use a later MPICH, or one that was built for ofi",
      most_finalize_s, counted(ranks, "rank"));
}

}  // namespace muster
