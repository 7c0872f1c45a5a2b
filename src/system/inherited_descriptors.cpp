#include "system/inherited_descriptors.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster {

namespace {

constexpr unsigned all_above = ~0U;
/// A loop over more takes longer than what it is for.
constexpr long most_in_turn = 65536;

/// Closes the descriptors from `first` to `last`, both included.
void close_range_of(unsigned first, unsigned last) {
  if (first > last) return;
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, first, last, 0U) == 0) return;
#endif
  const long open_at_most = std::clamp<long>(::sysconf(_SC_OPEN_MAX), 0, most_in_turn);
  for (long one = first; one < open_at_most && one <= static_cast<long>(last); ++one) ::close(static_cast<int>(one));
}

}  // namespace

void close_inherited_descriptors(int kept, int also_kept) {
  unsigned next = 0;
  for (const int one : {std::min(kept, also_kept), std::max(kept, also_kept)}) {
    if (one < 0) continue;
    const auto number = static_cast<unsigned>(one);
    if (number > next) close_range_of(next, number - 1);
    next = number + 1;
  }
  close_range_of(next, all_above);
  // open and dup give the lowest number that is free.
  int stream = ::open("/dev/null", O_RDWR);
  while (stream >= 0 && stream < STDERR_FILENO) stream = ::dup(stream);
  if (stream > STDERR_FILENO) ::close(stream);
}

}  // namespace muster
