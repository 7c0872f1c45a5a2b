/// Preloaded into a program, makes its Nth call of a kind fail. A loop over N then visits every failure path there is.
///
///   FAIL_KIND=file      opening for writing, writing, making, renaming, closing below FAIL_PATH
///   FAIL_KIND=process   starting processes: fork, vfork, posix_spawn, and exec in the child
///   FAIL_KIND=read, write, open, fork, connect, mmap, socket, pipe, thread: every call of that name and its likes,
///                       whatever it is about; of writes, not those to pipes and event counters, nor libuv's reads of
///                       these. `fork` is clone, too, `pipe` what makes event counters, and `thread` pthread_create.
///   FAIL_NAME=TEXT      of kind open, only paths that contain the text
///   FAIL_CALL=N         which call fails, counted from 1; 0: none, they are only counted
///   FAIL_STAYS=1        all calls from that one on fail, as on a disk that is full
///   FAIL_ERRNO=28       with what
///   FAIL_COUNT_FILE=F   gets the number of calls as 8 bytes, up to date at any moment, also after a crash
///
/// The programs that the victim starts are spared: LD_PRELOAD is taken out of its environment.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace {

template <class Function>
Function* next(const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) next(#name, &name)

struct Plan {
  enum class Kind {
    none,
    file,
    process,
    read,
    write,
    open,
    fork,
    connect,
    mmap,
    socket,
    pipe,
    thread
  } kind = Kind::none;
  std::uint64_t call = 0;
  bool stays = false;
  int error = EIO;
  std::string path;
  std::string name;
  std::atomic<std::uint64_t>* count = nullptr;  // mapped and shared: forked children count on
};

// Never destroyed: files are still closed when static objects die.
Plan& plan() {
  static Plan& one = *new Plan;
  return one;
}

constexpr int most_descriptors = 4096;
std::array<std::atomic<bool>, most_descriptors> watched{};  // descriptors that were opened for writing below the path

std::uint64_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

std::atomic<std::uint64_t>* map_counter(const char* file) {
  const int descriptor = file == nullptr ? -1 : REAL(open)(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int flags = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  if (descriptor >= 0 && REAL(ftruncate)(descriptor, 8) != 0) std::abort();
  void* memory = REAL(mmap)(nullptr, 8, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (descriptor >= 0) REAL(close)(descriptor);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<std::atomic<std::uint64_t>*>(memory);
}

Plan::Kind kind_of(std::string_view name) {
  using Kind = Plan::Kind;
  constexpr std::pair<std::string_view, Kind> kinds[] = {
      {"file", Kind::file}, {"process", Kind::process}, {"read", Kind::read},       {"write", Kind::write},
      {"open", Kind::open}, {"fork", Kind::fork},       {"connect", Kind::connect}, {"mmap", Kind::mmap},
      {"pipe", Kind::pipe}, {"socket", Kind::socket},   {"thread", Kind::thread}};
  for (const auto& [one, kind] : kinds)
    if (one == name) return kind;
  std::abort();
}

__attribute__((constructor)) void read_plan() {
  Plan& one = plan();
  const char* kind = std::getenv("FAIL_KIND");
  const char* path = std::getenv("FAIL_PATH");
  ::unsetenv("LD_PRELOAD");
  if (kind == nullptr) return;
  one.call = number_in("FAIL_CALL");
  one.stays = number_in("FAIL_STAYS") != 0;
  if (const auto error = number_in("FAIL_ERRNO"); error != 0) one.error = static_cast<int>(error);
  one.path = path == nullptr ? "/" : path;
  if (const char* name = std::getenv("FAIL_NAME"); name != nullptr) one.name = name;
  one.count = map_counter(std::getenv("FAIL_COUNT_FILE"));
  one.kind = kind_of(kind);
}

/// Counts one call; true when it is to fail, with errno set.
bool counted_to_fail(Plan::Kind kind) {
  Plan& one = plan();
  if (one.kind != kind || one.count == nullptr) return false;
  const auto now = one.count->fetch_add(1) + 1;
  if (one.call == 0 || (one.stays ? now < one.call : now != one.call)) return false;
  errno = one.error;
  return true;
}

bool is_below(const char* path) {
  if (plan().kind != Plan::Kind::file || path == nullptr) return false;
  std::string whole = path;
  if (whole.empty() || whole[0] != '/') {
    char folder[4096];
    if (::getcwd(folder, sizeof folder) != nullptr) whole = std::string(folder) + "/" + whole;
  }
  return whole.compare(0, plan().path.size(), plan().path) == 0;
}

bool path_fails(const char* path) {
  return is_below(path) && counted_to_fail(Plan::Kind::file);
}

bool is_watched(int descriptor) {
  return descriptor >= 0 && descriptor < most_descriptors && watched[static_cast<std::size_t>(descriptor)];
}

bool opening_fails(const char* path) {
  if (plan().kind != Plan::Kind::open || path == nullptr) return false;
  return std::string_view(path).find(plan().name) != std::string_view::npos && counted_to_fail(Plan::Kind::open);
}

bool descriptor_fails(int descriptor) {
  return is_watched(descriptor) && counted_to_fail(Plan::Kind::file);
}

/// Pipes and event counters have both ends here, and no such failure: libuv, which wakes itself by them, asserts that.
bool can_fail_to_write(int descriptor) {
  struct stat about {};
  return ::fstat(descriptor, &about) != 0 || (!S_ISFIFO(about.st_mode) && (about.st_mode & S_IFMT) != 0);
}

bool is_libuv(const void* caller) {
  Dl_info about{};
  return ::dladdr(caller, &about) != 0 && about.dli_fname != nullptr &&
         std::string_view(about.dli_fname).find("libuv") != std::string_view::npos;
}

/// libuv wakes itself by pipes and event counters, and ends the process where it can't read one; the kernel has no such
/// failure. Other readers of a pipe are not spared.
bool can_fail_to_read(int descriptor, const void* caller) {
  return plan().kind != Plan::Kind::read || !is_libuv(caller) || can_fail_to_write(descriptor);
}

bool write_fails(int descriptor) {
  return descriptor_fails(descriptor) || (can_fail_to_write(descriptor) && counted_to_fail(Plan::Kind::write));
}

int watch(int descriptor, bool is_ours) {
  if (descriptor >= 0 && descriptor < most_descriptors) watched[static_cast<std::size_t>(descriptor)] = is_ours;
  return descriptor;
}

bool writes(int flags) {
  return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
}

}  // namespace

// The functions of the C library that are replaced.
extern "C" {

#define OPENING(name)                                            \
  int name(const char* path, int flags, ...) {                   \
    va_list rest;                                                \
    va_start(rest, flags);                                       \
    const unsigned mode = va_arg(rest, unsigned);                \
    va_end(rest);                                                \
    const bool is_ours = writes(flags) && is_below(path);        \
    if (is_ours && counted_to_fail(Plan::Kind::file)) return -1; \
    if (opening_fails(path)) return -1;                          \
    return watch(REAL(name)(path, flags, mode), is_ours);        \
  }
OPENING(open)
OPENING(open64)

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  const bool is_ours = writes(flags) && (folder == AT_FDCWD || path[0] == '/') && is_below(path);
  if (is_ours && counted_to_fail(Plan::Kind::file)) return -1;
  if (opening_fails(path)) return -1;
  return watch(REAL(openat)(folder, path, flags, mode), is_ours);
}

#define STREAM(name)                                                         \
  FILE* name(const char* path, const char* mode) {                           \
    const bool is_ours = std::string_view(mode)[0] != 'r' && is_below(path); \
    if (is_ours && counted_to_fail(Plan::Kind::file)) return nullptr;        \
    if (opening_fails(path)) return nullptr;                                 \
    FILE* stream = REAL(name)(path, mode);                                   \
    if (stream != nullptr) watch(fileno(stream), is_ours);                   \
    return stream;                                                           \
  }
STREAM(fopen)
STREAM(fopen64)

ssize_t write(int descriptor, const void* bytes, size_t count) {
  return write_fails(descriptor) ? -1 : REAL(write)(descriptor, bytes, count);
}
ssize_t writev(int descriptor, const iovec* parts, int count) {
  return write_fails(descriptor) ? -1 : REAL(writev)(descriptor, parts, count);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t at) {
  return write_fails(descriptor) ? -1 : REAL(pwrite)(descriptor, bytes, count, at);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t at) {
  return write_fails(descriptor) ? -1 : REAL(pwrite64)(descriptor, bytes, count, at);
}
int ftruncate(int descriptor, off_t size) noexcept {
  return descriptor_fails(descriptor) ? -1 : REAL(ftruncate)(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) noexcept {
  return descriptor_fails(descriptor) ? -1 : REAL(ftruncate64)(descriptor, size);
}
int fallocate(int descriptor, int mode, off_t at, off_t size) {
  return descriptor_fails(descriptor) ? -1 : REAL(fallocate)(descriptor, mode, at, size);
}
int fallocate64(int descriptor, int mode, off64_t at, off64_t size) {
  return descriptor_fails(descriptor) ? -1 : REAL(fallocate64)(descriptor, mode, at, size);
}
int posix_fallocate(int descriptor, off_t at, off_t size) {
  return descriptor_fails(descriptor) ? errno : REAL(posix_fallocate)(descriptor, at, size);
}
int posix_fallocate64(int descriptor, off64_t at, off64_t size) {
  return descriptor_fails(descriptor) ? errno : REAL(posix_fallocate64)(descriptor, at, size);
}
int fsync(int descriptor) {
  return descriptor_fails(descriptor) ? -1 : REAL(fsync)(descriptor);
}
int fdatasync(int descriptor) {
  return descriptor_fails(descriptor) ? -1 : REAL(fdatasync)(descriptor);
}

/// A close that fails has closed all the same.
int close(int descriptor) {
  const bool fails = descriptor_fails(descriptor);
  watch(descriptor, false);
  const int result = REAL(close)(descriptor);
  if (!fails) return result;
  errno = plan().error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  return path_fails(to) ? -1 : REAL(rename)(from, to);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return path_fails(path) ? -1 : REAL(mkdir)(path, mode);
}
int symlink(const char* target, const char* path) noexcept {
  return path_fails(path) ? -1 : REAL(symlink)(target, path);
}

ssize_t read(int descriptor, void* bytes, size_t count) {
  const bool fails = can_fail_to_read(descriptor, __builtin_return_address(0)) && counted_to_fail(Plan::Kind::read);
  return fails ? -1 : REAL(read)(descriptor, bytes, count);
}
ssize_t readv(int descriptor, const iovec* parts, int count) {
  return counted_to_fail(Plan::Kind::read) ? -1 : REAL(readv)(descriptor, parts, count);
}
ssize_t pread(int descriptor, void* bytes, size_t count, off_t at) {
  return counted_to_fail(Plan::Kind::read) ? -1 : REAL(pread)(descriptor, bytes, count, at);
}
ssize_t pread64(int descriptor, void* bytes, size_t count, off64_t at) {
  return counted_to_fail(Plan::Kind::read) ? -1 : REAL(pread64)(descriptor, bytes, count, at);
}
ssize_t recv(int descriptor, void* bytes, size_t count, int flags) {
  return counted_to_fail(Plan::Kind::read) ? -1 : REAL(recv)(descriptor, bytes, count, flags);
}
ssize_t send(int descriptor, const void* bytes, size_t count, int flags) {
  return counted_to_fail(Plan::Kind::write) ? -1 : REAL(send)(descriptor, bytes, count, flags);
}
ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  return counted_to_fail(Plan::Kind::write) ? -1 : REAL(sendmsg)(descriptor, message, flags);
}
int connect(int descriptor, const sockaddr* to, socklen_t size) {
  return counted_to_fail(Plan::Kind::connect) ? -1 : REAL(connect)(descriptor, to, size);
}
void* mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset) noexcept {
  return counted_to_fail(Plan::Kind::mmap) ? MAP_FAILED : REAL(mmap)(at, size, protection, flags, descriptor, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int descriptor, off64_t offset) noexcept {
  return counted_to_fail(Plan::Kind::mmap) ? MAP_FAILED : REAL(mmap64)(at, size, protection, flags, descriptor, offset);
}

int socket(int family, int type, int protocol) noexcept {
  return counted_to_fail(Plan::Kind::socket) ? -1 : REAL(socket)(family, type, protocol);
}
int socketpair(int family, int type, int protocol, int ends[2]) noexcept {
  return counted_to_fail(Plan::Kind::socket) ? -1 : REAL(socketpair)(family, type, protocol, ends);
}
int accept4(int descriptor, sockaddr* from, socklen_t* size, int flags) {
  return counted_to_fail(Plan::Kind::socket) ? -1 : REAL(accept4)(descriptor, from, size, flags);
}
int pipe(int ends[2]) noexcept {
  return counted_to_fail(Plan::Kind::pipe) ? -1 : REAL(pipe)(ends);
}
/// libuv ends the process where it can't make the pipe for its signals; muster starts with enough free descriptors.
int pipe2(int ends[2], int flags) noexcept {
  const bool fails = !is_libuv(__builtin_return_address(0)) && counted_to_fail(Plan::Kind::pipe);
  return fails ? -1 : REAL(pipe2)(ends, flags);
}
int eventfd(unsigned start, int flags) noexcept {
  return counted_to_fail(Plan::Kind::pipe) ? -1 : REAL(eventfd)(start, flags);
}
int epoll_create1(int flags) noexcept {
  return counted_to_fail(Plan::Kind::pipe) ? -1 : REAL(epoll_create1)(flags);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*act)(void*), void* given) {
  return counted_to_fail(Plan::Kind::thread) ? errno : REAL(pthread_create)(thread, attributes, act, given);
}

pid_t fork() noexcept {
  const bool fails = counted_to_fail(Plan::Kind::process) || counted_to_fail(Plan::Kind::fork);
  return fails ? -1 : REAL(fork)();
}
/// A frame that returns twice can't be wrapped: a fork does what a vfork promises.
pid_t vfork() noexcept {
  return fork();
}
int execve(const char* path, char* const argv[], char* const env[]) noexcept {
  return counted_to_fail(Plan::Kind::process) ? -1 : REAL(execve)(path, argv, env);
}
int execvp(const char* file, char* const argv[]) noexcept {
  return counted_to_fail(Plan::Kind::process) ? -1 : REAL(execvp)(file, argv);
}
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const argv[], char* const env[]) {
  if (counted_to_fail(Plan::Kind::process) || counted_to_fail(Plan::Kind::fork)) return errno;
  return REAL(posix_spawn)(pid, path, actions, attributes, argv, env);
}
int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const argv[], char* const env[]) {
  if (counted_to_fail(Plan::Kind::process) || counted_to_fail(Plan::Kind::fork)) return errno;
  return REAL(posix_spawnp)(pid, file, actions, attributes, argv, env);
}

}  // extern "C"
