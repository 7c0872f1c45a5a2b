#include "system/own_limits.hpp"

#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <sys/resource.h>
#include <utility>

namespace muster {

namespace {

/// Those with a number below the limit: it is the numbers that are limited.
std::size_t open_descriptors(rlim_t limit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return errno == EMFILE || errno == ENFILE ? limit : 0;
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    char* end = nullptr;
    const rlim_t number = std::strtoull(entry->d_name, &end, 10);
    if (end != entry->d_name && number < limit) ++count;
  }
  // One is the folder itself.
  return count == 0 ? 0 : count - 1;
}

}  // namespace

std::size_t free_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  const std::size_t open = open_descriptors(limit.rlim_cur);
  return limit.rlim_cur > open ? limit.rlim_cur - open : 0;
}

std::string too_small_limit(std::size_t files) {
  constexpr rlim_t least_stack = 512u << 10;
  if (const std::size_t free = free_descriptors(); free < files)
    return fmt::format("this process may open only {} more files, and needs {}; raise the limit: ulimit -n 1024", free,
                       files);
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < least_stack)
    return fmt::format("the stack may have {} KiB, and muster needs {}; raise the limit: ulimit -s {}",
                       stack.rlim_cur >> 10, least_stack >> 10, least_stack >> 10);
  // Below it MPI fails without a reason.
  constexpr rlim_t least_data = 128u << 20;
  rlimit data{};
  if (::getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur < least_data)
    return fmt::format("this process may have {} MiB of data, and muster needs {}; raise the limit: ulimit -d unlimited",
                       data.rlim_cur >> 20, least_data >> 20);
  // mpirun of Open MPI starts with 90 MiB, and ranks with 64; ranks below 128 end by a signal at times.
  constexpr rlim_t least_addresses = 256u << 20;
  rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur < least_addresses)
    return fmt::format(
        "this process may have {} MiB of address space, and muster needs {}; raise the limit: ulimit -v unlimited",
        addresses.rlim_cur >> 20, least_addresses >> 20);
  return "";
}

std::string out_of_memory() {
  std::string limits;
  for (const auto& [number, letter] : {std::pair(RLIMIT_DATA, 'd'), std::pair(RLIMIT_AS, 'v')}) {
    rlimit limit{};
    if (::getrlimit(number, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      limits += fmt::format("{}ulimit -{} is {} MiB", limits.empty() ? "" : ", ", letter, limit.rlim_cur >> 20);
  }
  return limits.empty()
             ? "no memory is left; free some on this node"
             : fmt::format("no memory is left: {}; raise the limit: ulimit -d unlimited -v unlimited", limits);
}

}  // namespace muster
