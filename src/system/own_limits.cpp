#include "system/own_limits.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "system/control_groups.hpp"

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

rlim_t limit_on_files() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

/// `5`, the least of the group and those around it; empty: none.
std::string limit_of_groups() {
  std::string least;
  for (const ControlGroup& group : control_groups("pids")) {
    const std::string value = read_line(group.folder / "pids.max");
    if (value.empty() || value.find_first_not_of("0123456789") != value.npos) continue;
    if (least.empty() || std::pair(value.size(), value) < std::pair(least.size(), least)) least = value;
  }
  return least;
}

std::string limits_on_processes() {
  std::vector<std::string> limits;
  if (const std::string group = limit_of_groups(); !group.empty())
    limits.push_back("pids.max of its control group is " + group);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    limits.push_back(fmt::format("ulimit -u is {}", limit.rlim_cur));
  return limits.empty() ? "" : "; " + human_list(limits);
}

void* wait_at(void* gate) {
  const std::lock_guard<std::mutex> passed(*static_cast<std::mutex*>(gate));
  return nullptr;
}

}  // namespace

std::string too_few_threads(int count) {
  // So small that no limit on memory counts here.
  constexpr std::size_t stack = 64u << 10;
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return "";
  (void)::pthread_attr_setstacksize(&attributes, stack);
  std::mutex gate;
  std::vector<pthread_t> threads;
  int error = 0;
  {
    const std::lock_guard<std::mutex> closed(gate);
    for (int one = 0; one < count && error == 0; ++one) {
      pthread_t thread{};
      error = ::pthread_create(&thread, &attributes, wait_at, &gate);
      if (error == 0) threads.push_back(thread);
    }
  }
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  // EINVAL: the stack is too small for what was preloaded.
  if (error != EAGAIN) return "";
  return fmt::format("this process can start only {} of {} threads ({}){}; raise the limit: ulimit -u and pids.max",
                     threads.size(), count, std::strerror(error), limits_on_processes());
}

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
    return fmt::format(
        "this process may open only {} more files (the limit on open files is {}), and needs {}; raise the limit: "
        "ulimit -n 1024",
        free, limit_on_files(), files);
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < least_stack)
    return fmt::format("the stack may have {} KiB, and muster needs {}; raise the limit: ulimit -s {}",
                       stack.rlim_cur >> 10, least_stack >> 10, least_stack >> 10);
  // Open MPI calls it a full file system; ranks of hello start with 4 MiB.
  constexpr rlim_t least_file = 16u << 20;
  rlimit file{};
  if (::getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur < least_file)
    return fmt::format("files of this process may have {} KiB, and MPI needs {}; raise the limit: ulimit -f unlimited",
                       file.rlim_cur >> 10, least_file >> 10);
  // Below it MPI fails without a reason.
  constexpr rlim_t least_data = 128u << 20;
  rlimit data{};
  if (::getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur < least_data)
    return fmt::format(
        "this process may have {} MiB of data, and muster needs {}; raise the limit: ulimit -d unlimited",
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
