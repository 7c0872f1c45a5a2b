#include "run/detach.hpp"

#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster {

namespace {

void close_others(int kept) {
#ifdef SYS_close_range
  const auto above = static_cast<unsigned>(kept) + 1;
  if (::syscall(SYS_close_range, above, ~0U, 0U) == 0 &&
      (kept == 0 || ::syscall(SYS_close_range, 0U, static_cast<unsigned>(kept) - 1, 0U) == 0))
    return;
#endif
  std::set<int> open;
  DIR* list = ::opendir("/proc/self/fd");
  for (const dirent* entry = list == nullptr ? nullptr : ::readdir(list); entry != nullptr; entry = ::readdir(list))
    open.insert(std::atoi(entry->d_name));
  if (list != nullptr) ::closedir(list);
  for (const int one : open)
    if (one != kept) ::close(one);
}

void open_null_streams() {
  for (int stream = ::open("/dev/null", O_RDWR); stream >= 0 && stream < STDERR_FILENO;) stream = ::dup(stream);
}

}  // namespace

void detach(int kept) {
  ::setsid();
  close_others(kept);
  open_null_streams();
}

}  // namespace muster
