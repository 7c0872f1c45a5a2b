#include "system/child.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <set>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/files.hpp"
#include "base/owned_descriptor.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

struct Pipe {
  OwnedDescriptor read;
  OwnedDescriptor write;
  [[nodiscard]] bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read.reset(ends[0]);
    write.reset(ends[1]);
    return true;
  }
};

/// All that the forked child needs, made before the fork: afterwards nothing may allocate.
struct Start {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> env;
  int output = -1;
  int error = -1;
  pid_t parent = 0;
};

[[noreturn]] void become(const Start& start) {
  ::setsid();
  // The rank may be killed at any time, also between fork and here.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.parent) ::_exit(127);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < 32; ++number) ::signal(number, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(start.output, STDOUT_FILENO);
  ::dup2(start.output, STDERR_FILENO);
#ifdef SYS_close_range
  // Sockets and device files of the MPI library are none of its business. 4: close on exec.
  ::syscall(SYS_close_range, 3u, ~0u, 4u);
#endif
  ::execve(start.program.c_str(), start.argv.data(), start.env.data());
  const int error = errno;
  (void)!::write(start.error, &error, sizeof error);
  ::_exit(127);
}

/// Children of our first thread, which is the one that gets orphans. Empty where the kernel does not report them
/// (CONFIG_PROC_CHILDREN).
std::set<pid_t> children_of_ours() {
  std::set<pid_t> found;
  const auto text = read_file("/proc/self/task/" + std::to_string(::getpid()) + "/children", 1u << 20);
  if (!text) return found;
  for (const std::string& word : split(trim(*text), ' '))
    if (const pid_t pid = std::atoi(word.c_str()); pid > 1) found.insert(pid);
  return found;
}

/// While it lives, processes that lose their parent become our children instead of init's: a program's helper in a
/// session of its own would otherwise outlive the case. At the end those that came are killed.
class ChildReaper {
 public:
  ChildReaper() : before_(children_of_ours()) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~ChildReaper() {
    // Killing one hands its children on to us.
    for (int rounds = 0; rounds < 100 && end_those_here(); ++rounds) {
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  ChildReaper(const ChildReaper&) = delete;
  ChildReaper& operator=(const ChildReaper&) = delete;

 private:
  [[nodiscard]] bool end_those_here() const {
    bool found = false;
    for (const pid_t pid : children_of_ours()) {
      // The MPI library may have children, too.
      if (before_.count(pid) != 0) continue;
      found = true;
      ::kill(pid, SIGKILL);
      wait_for(pid);
    }
    return found;
  }

  /// At most 2 s: one that sits in the kernel may not end at all.
  static void wait_for(pid_t pid) {
    for (int i = 0; i < 400; ++i) {
      if (::waitpid(pid, nullptr, WNOHANG) != 0) return;
      ::poll(nullptr, 0, 5);
    }
  }

  std::set<pid_t> before_;
};

/// `T` in `4711 (python3) T 4710 ...`; 0: there is no such process.
char state_of(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return 0;
  const std::size_t name_end = text->rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text->size() ? '\0' : (*text)[name_end + 2];
}

/// Whether a signal has stopped the program: its process, or the only one that this waits for, as a wrapper does.
bool is_stopped(pid_t pid) {
  constexpr int most_wrappers = 8;
  for (int depth = 0; depth < most_wrappers; ++depth) {
    if (state_of(pid) == 'T') return true;
    const auto children = read_file(fmt::format("/proc/{0}/task/{0}/children", pid));
    const std::string_view one = children ? trim(*children) : std::string_view();
    if (one.empty() || one.find(' ') != one.npos) return false;
    pid = std::atoi(std::string(one).c_str());
  }
  return false;
}

class Child {
 public:
  Child(const ChildOptions& options, pid_t pid, int output)
      : options_(options), pid_(pid), output_(output), begun_(monotonic_seconds()) {}

  ChildEnd wait() {
    bool is_open = true;
    double drain_until = 0;
    for (;;) {
      if (is_open) is_open = read_some();
      const bool ended = has_ended(is_open ? 0 : 0.005);
      const double now = monotonic_seconds();
      if (ended && drain_until == 0) drain_until = now + 1;
      // A grandchild may hold the stream open for longer than anyone wants to wait.
      if (ended && (!is_open || now > drain_until)) break;
      if (!ended) keep_deadline(now);
      if (!ended) keep_from_standing(now);
    }
    return reap();
  }

 private:
  /// At most 20 ms. False when nothing more can come.
  bool read_some() {
    pollfd waiting{output_, POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) return true;
    char chunk[1 << 14];
    const ssize_t count = ::read(output_, chunk, sizeof chunk);
    if (count > 0 && options_.on_output) options_.on_output({chunk, static_cast<std::size_t>(count)});
    return count > 0 || (count < 0 && errno == EINTR);
  }

  [[nodiscard]] bool has_ended(double pause_s) const {
    if (pause_s > 0) ::poll(nullptr, 0, static_cast<int>(pause_s * 1000));
    siginfo_t info{};
    // Not reaped yet: until then its number cannot be reused, and the group may still be signalled.
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  void keep_deadline(double now) {
    const double late = now - begun_ - options_.deadline_s;
    if (late < 0) return;
    if (!end_.timed_out) {
      end_.timed_out = true;
      ::kill(-pid_, SIGTERM);
      ::kill(-pid_, SIGCONT);
    }
    if (late >= options_.grace_s) ::kill(-pid_, SIGKILL);
  }

  /// Once a second, as often as fits into stopped_s: while we are stopped ourselves (a job that is suspended), no time
  /// passes here.
  void keep_from_standing(double now) {
    constexpr double interval_s = 1;
    if (end_.was_stopped || now < next_look_) return;
    next_look_ = now + interval_s;
    stopped_looks_ = is_stopped(pid_) ? stopped_looks_ + 1 : 0;
    // The first look may be right after the stop.
    if ((stopped_looks_ - 1) * interval_s < options_.stopped_s) return;
    end_.was_stopped = true;
    ::kill(-pid_, SIGKILL);
  }

  ChildEnd reap() {
    end_.seconds = monotonic_seconds() - begun_;
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status))
      end_.signal = WTERMSIG(status);
    else
      end_.status = WEXITSTATUS(status);
    return end_;
  }

  const ChildOptions& options_;
  pid_t pid_;
  int output_;
  double begun_;
  double next_look_ = 0;
  int stopped_looks_ = 0;
  ChildEnd end_;
};

/// The program in the first line of a script that is there but can't be started; empty: that line names none.
std::string named_interpreter(const std::string& script) {
  std::ifstream file(script);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  line.erase(0, line.find_first_not_of(" \t", 2));
  return line.substr(0, line.find_first_of(" \t\r"));
}

Error not_started(const std::string& program, int error) {
  if (error == ENOENT && ::access(program.c_str(), F_OK) == 0)
    if (const std::string interpreter = named_interpreter(program); !interpreter.empty())
      return {ErrorKind::launch, program, fmt::format("names {} in its first line, which does not exist", interpreter)};
  return {ErrorKind::launch, program, std::string("can't be started: ") + std::strerror(error)};
}

}  // namespace

Result<ChildEnd> run_child(const ChildOptions& options) {
  if (options.argv.empty()) return fail(ErrorKind::launch, "", "no program is named");
  Start start;
  start.program = find_program(options.argv[0]).string();
  if (start.program.empty()) return fail(ErrorKind::launch, options.argv[0], "no such program on PATH");
  Argv argv = options.argv;
  std::vector<std::string> variables = child_environment(options.env, options.without);
  variables.emplace_back(program_mark);
  start.argv = exec_list(argv);
  start.env = exec_list(variables);

  Pipe output;
  Pipe error;
  if (!output.open() || !error.open()) return tl::unexpected(not_started(start.program, errno));
  start.output = output.write.number();
  start.error = error.write.number();
  start.parent = ::getpid();
  const ChildReaper orphanage;
  const pid_t pid = ::fork();
  if (pid < 0) return tl::unexpected(not_started(start.program, errno));
  if (pid == 0) become(start);
  output.write.reset();
  error.write.reset();

  int cause = 0;
  // Ends without a byte when exec closed the other end.
  ssize_t count = 0;
  while ((count = ::read(error.read.number(), &cause, sizeof cause)) < 0 && errno == EINTR) {
  }
  if (count == static_cast<ssize_t>(sizeof cause)) {
    ::waitpid(pid, nullptr, 0);
    return tl::unexpected(not_started(start.program, cause));
  }
  if (options.on_start) options.on_start(pid);
  return Child(options, pid, output.read.number()).wait();
}

}  // namespace muster
