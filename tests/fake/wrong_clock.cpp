/// Preloaded into ranks, sets the clock of one node wrong: that of host WRONG_CLOCK_HOST by WRONG_CLOCK_S seconds.
/// (Time namespaces shift every clock but this one.)
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

long wrong_by() {
  const char* host = std::getenv("WRONG_CLOCK_HOST");
  const char* seconds = std::getenv("WRONG_CLOCK_S");
  char own[256] = {};
  if (host == nullptr || seconds == nullptr || ::gethostname(own, sizeof own - 1) != 0) return 0;
  return std::strcmp(host, own) == 0 ? std::atol(seconds) : 0;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, std::timespec* now) noexcept {
  static const long wrong = wrong_by();
  const auto done = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (done == 0 && clock == CLOCK_REALTIME) now->tv_sec += wrong;
  return done;
}
