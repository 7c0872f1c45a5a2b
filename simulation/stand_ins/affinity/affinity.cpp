/// Preloaded into launchers, their daemons and the ranks of a simulated machine: answers sched_setaffinity and
/// sched_getaffinity for CPUs that only the description has. What is set for a thread is recorded in a file, and so
/// outlives exec and is seen by other processes; threads and children without a record have that of their parent.
///
/// MUSTER_AFFINITY_CPUS    CPUs of the simulated machine (`0-127`); not set: every call goes to the kernel
/// MUSTER_AFFINITY_FOLDER  where the records lie; the same for all processes of a node
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr std::size_t most_cpus = 4096;
constexpr std::size_t most_bytes = most_cpus / 8;

struct Mask {
  std::array<std::uint8_t, most_bytes> bytes = {};

  void add(unsigned long cpu) {
    if (cpu < most_cpus) bytes[cpu / 8] |= static_cast<std::uint8_t>(1U << (cpu % 8));
  }
  [[nodiscard]] bool empty() const {
    for (const std::uint8_t byte : bytes)
      if (byte != 0) return false;
    return true;
  }
  /// Bytes up to the last that is not 0.
  [[nodiscard]] std::size_t size() const {
    std::size_t used = bytes.size();
    while (used > 0 && bytes[used - 1] == 0) --used;
    return used;
  }
};

/// A list as the kernel writes it: `0-3,8`. False: damaged.
bool parse(const char* text, Mask& mask) {
  mask = {};
  while (*text != '\0' && *text != '\n') {
    char* end = nullptr;
    const unsigned long low = std::strtoul(text, &end, 10);
    if (end == text) return false;
    unsigned long high = low;
    if (*end == '-') {
      text = end + 1;
      high = std::strtoul(text, &end, 10);
      if (end == text) return false;
    }
    for (unsigned long cpu = low; cpu <= high && cpu < most_cpus; ++cpu) mask.add(cpu);
    text = *end == ',' ? end + 1 : end;
    if (*end != ',' && *end != '\0' && *end != '\n') return false;
  }
  return true;
}

/// False where this process is on the real machine.
bool machine_cpus(Mask& mask) {
  const char* cpus = std::getenv("MUSTER_AFFINITY_CPUS");
  return cpus != nullptr && *cpus != '\0' && std::getenv("MUSTER_AFFINITY_FOLDER") != nullptr && parse(cpus, mask) &&
         !mask.empty();
}

/// Parent and start time (fields 4 and 22 of /proc/PID/stat), also of a thread. False: it is gone.
bool look_at(pid_t thread, pid_t& parent, unsigned long long& started) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(thread));
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  char text[1024];
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  const char* rest = std::strrchr(text, ')');
  int above = 0;
  if (rest == nullptr ||
      std::sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &above,
                  &started) != 2)
    return false;
  parent = above;
  return true;
}

/// Nodes may share the folder, and have equal process numbers.
void record_path(pid_t thread, char* path, std::size_t size) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::snprintf(path, size, "%s/%s.%d", std::getenv("MUSTER_AFFINITY_FOLDER"), host, static_cast<int>(thread));
}

bool read_record(pid_t thread, unsigned long long started, Mask& mask) {
  char path[4096];
  record_path(thread, path, sizeof path);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  char text[2 * most_bytes + 32];
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  char* digits = nullptr;
  // A number that was given again belongs to another process.
  if (std::strtoull(text, &digits, 10) != started || *digits != ' ') return false;
  mask = {};
  for (std::uint8_t& byte : mask.bytes) {
    unsigned value = 0;
    if (std::sscanf(++digits, "%2x", &value) != 1) return true;
    byte = static_cast<std::uint8_t>(value);
    ++digits;
  }
  return true;
}

int write_record(pid_t thread, unsigned long long started, const Mask& mask) {
  char path[4096], beside[4200];
  record_path(thread, path, sizeof path);
  std::snprintf(beside, sizeof beside, "%s.%ld", path, ::syscall(SYS_gettid));
  (void)::mkdir(std::getenv("MUSTER_AFFINITY_FOLDER"), 0777);
  std::FILE* file = std::fopen(beside, "we");
  if (file == nullptr) return errno;
  std::fprintf(file, "%llu ", started);
  for (std::size_t i = 0; i < mask.size(); ++i) std::fprintf(file, "%02x", mask.bytes[i]);
  if (std::fclose(file) != 0) return errno;
  return std::rename(beside, path) == 0 ? 0 : errno;
}

pid_t process_of(pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(thread));
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return thread;
  char line[256];
  int process = thread;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "Tgid: %d", &process) == 1) break;
  std::fclose(file);
  return process;
}

/// What was set for the thread, else for its process, else for the nearest process above it; else all CPUs.
int find(pid_t thread, Mask& mask) {
  Mask all;
  machine_cpus(all);
  pid_t parent = 0;
  unsigned long long started = 0;
  if (!look_at(thread, parent, started)) return ESRCH;
  if (read_record(thread, started, mask)) return 0;
  for (pid_t process = process_of(thread); process > 1 && look_at(process, parent, started); process = parent)
    if (read_record(process, started, mask)) return 0;
  mask = all;
  return 0;
}

/// As the kernel: CPUs that are not there are dropped, and an empty set is refused.
int set(pid_t thread, std::size_t size, const cpu_set_t* wanted) {
  Mask all, mask;
  machine_cpus(all);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(wanted);
  for (std::size_t i = 0; i < size && i < most_bytes; ++i) mask.bytes[i] = bytes[i] & all.bytes[i];
  if (mask.empty()) return EINVAL;
  pid_t parent = 0;
  unsigned long long started = 0;
  if (!look_at(thread, parent, started)) return ESRCH;
  return write_record(thread, started, mask);
}

int get(pid_t thread, std::size_t size, cpu_set_t* found) {
  Mask all, mask;
  machine_cpus(all);
  if (size < all.size()) return EINVAL;
  if (const int error = find(thread, mask); error != 0) return error;
  std::memset(found, 0, size);
  std::memcpy(found, mask.bytes.data(), size < most_bytes ? size : most_bytes);
  return 0;
}

pid_t own_thread() {
  return static_cast<pid_t>(::syscall(SYS_gettid));
}

bool is_simulated() {
  Mask all;
  return machine_cpus(all);
}

int finish(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/// The next library's function of that name: where nothing is simulated, its answer counts.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define ANSWERS extern "C" __attribute__((visibility("default")))

ANSWERS int sched_setaffinity(pid_t thread, std::size_t size, const cpu_set_t* mask) noexcept {
  static const auto real_one = real<int(pid_t, std::size_t, const cpu_set_t*)>("sched_setaffinity");
  if (!is_simulated()) return real_one(thread, size, mask);
  return finish(set(thread == 0 ? own_thread() : thread, size, mask));
}

ANSWERS int sched_getaffinity(pid_t thread, std::size_t size, cpu_set_t* mask) noexcept {
  static const auto real_one = real<int(pid_t, std::size_t, cpu_set_t*)>("sched_getaffinity");
  if (!is_simulated()) return real_one(thread, size, mask);
  return finish(get(thread == 0 ? own_thread() : thread, size, mask));
}

/// The number of another thread of this process can't be asked for: it has the mask of the process, and keeps it.
ANSWERS int pthread_setaffinity_np(pthread_t thread, std::size_t size, const cpu_set_t* mask) noexcept {
  static const auto real_one = real<int(pthread_t, std::size_t, const cpu_set_t*)>("pthread_setaffinity_np");
  if (!is_simulated()) return real_one(thread, size, mask);
  return ::pthread_equal(thread, ::pthread_self()) == 0 ? ENOSYS : set(own_thread(), size, mask);
}

ANSWERS int pthread_getaffinity_np(pthread_t thread, std::size_t size, cpu_set_t* mask) noexcept {
  static const auto real_one = real<int(pthread_t, std::size_t, cpu_set_t*)>("pthread_getaffinity_np");
  if (!is_simulated()) return real_one(thread, size, mask);
  return get(::pthread_equal(thread, ::pthread_self()) == 0 ? ::getpid() : own_thread(), size, mask);
}
