#include "run/watchdog.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <map>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "model/launcher_words.hpp"
#include "run/autopsy.hpp"
#include "run/process_status.hpp"
#include "system/inherited_descriptors.hpp"

namespace muster {

namespace {

constexpr double kill_grace_s = 3;
constexpr double look_without_pidfd_s = 0.5;
/// The driver that examines ranks which died removes their recorders in the end.
constexpr double look_at_ruins_s = 0.2;

/// Held by one process of the node at a time: an abstract name, which the kernel forgets with its holder. -1: taken.
int take_name(const std::string& tag) {
  const std::string name = "muster-watchdog-" + tag;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0) return socket;
  ::close(socket);
  return -1;
}

bool is_live(const FlightRecord& record) {
  const ProcessState state = state_of(record);
  return state != ProcessState::gone && state != ProcessState::zombie;
}

bool is_orphan(const FlightRecord& record) {
  if (record.parent == 0) return false;
  const auto status = process_status(record.parent);
  return !status || status->start_ticks != record.parent_start_ticks || status->state == 'Z' || status->state == 'X';
}

/// Until all of them have ended, or it is time to look again.
void wait_for(const std::vector<FlightRecord>& live, double look_s) {
  std::vector<pollfd> open;
#ifdef SYS_pidfd_open
  for (const FlightRecord& record : live)
    if (const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, record.pid, 0)); descriptor >= 0)
      open.push_back({descriptor, POLLIN, 0});
#endif
  const bool has_all = open.size() == live.size();
  const double until = monotonic_seconds() + (has_all ? look_s : std::min(look_s, look_without_pidfd_s));
  for (std::size_t ended = 0; !has_all || live.empty() || ended < open.size();) {
    const auto left_ms = static_cast<int>((until - monotonic_seconds()) * 1e3);
    if (left_ms <= 0) break;
    ::poll(open.data(), open.size(), left_ms);
    for (pollfd& one : open)
      if (one.fd >= 0 && one.revents != 0) {
        ::close(one.fd);
        one.fd = -1;
        ++ended;
      }
  }
  for (const pollfd& one : open)
    if (one.fd >= 0) ::close(one.fd);
}

bool is_late(const FlightRecord& record, double grace_s) {
  return record.deadline_s > 0 && monotonic_seconds() > record.deadline_s + grace_s;
}

/// For how long something has held.
class HoldsSince {
 public:
  /// Seconds; -1: it does not hold.
  double look(bool holds) {
    const double now = monotonic_seconds();
    if (!holds) from_ = -1;
    if (holds && from_ < 0) from_ = now;
    return holds ? now - from_ : -1;
  }

 private:
  double from_ = -1;
};

/// Daemons of the launch that started ranks of this node.
class Daemons {
 public:
  void note(int parent, std::uint64_t start_ticks) {
    if (parent > 1 && daemons_.count(parent) == 0 && is_daemon_of_one_launch(parent)) daemons_[parent] = start_ticks;
  }
  void note(const std::vector<FlightRecord>& records) {
    for (const FlightRecord& record : records) note(record.parent, record.parent_start_ticks);
  }
  /// They end with the launch, unless the network is lost.
  void await_end(double grace_s) {
    const double began = monotonic_seconds();
    while (!daemons_.empty() && monotonic_seconds() - began < grace_s) {
      std::erase_if(daemons_, [](const auto& daemon) { return has_ended(daemon.first, daemon.second); });
      if (!daemons_.empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(monotonic_seconds() - began < 1 ? 10 : 200));
    }
    for (const auto& [pid, start_ticks] : daemons_) signal_process(pid, start_ticks, SIGKILL);
  }

 private:
  static bool has_ended(int pid, std::uint64_t start_ticks) {
    const auto status = process_status(pid);
    return !status || status->start_ticks != start_ticks || to_state(status->state) == ProcessState::zombie;
  }
  std::map<int, std::uint64_t> daemons_;  ///< when each was started, by process
};

/// Returns when ranks, their recorders and their daemons are gone, or after it has ended them.
void watch(const std::string& tag, const WatchdogTimes& times, Daemons daemons) {
  HoldsSince orphaned;
  HoldsSince ended;
  bool has_ended_them = false;
  for (;;) {
    auto live = read_recorders(recorder_folder(), tag);
    if (live.empty()) return daemons.await_end(times.grace_s);
    daemons.note(live);
    std::erase_if(live, [](const FlightRecord& record) { return !is_live(record); });
    const double orphaned_s = orphaned.look(std::any_of(live.begin(), live.end(), is_orphan));
    const double ended_s = ended.look(live.empty());
    const auto is_past = [&](const FlightRecord& record) { return is_late(record, times.grace_s); };
    const bool is_to_end = orphaned_s > times.orphan_s;
    if (std::any_of(live.begin(), live.end(), is_past) || (is_to_end && has_ended_them) || ended_s > times.grace_s) {
      (void)clean_this_node(tag, kill_grace_s, {.launcher_has_ended = true, .ends_daemons = true});
      return;
    }
    // A driver that lives is about to examine what they recorded.
    if (is_to_end) {
      has_ended_them = true;
      end_ranks_on_this_node(tag, kill_grace_s);
      continue;
    }
    wait_for(live, live.empty() ? std::min(times.look_s, look_at_ruins_s) : times.look_s);
  }
}

/// Removes name and variables of a rank, by which others find ranks in /proc.
void shed_rank() {
  ::prctl(PR_SET_NAME, watchdog_name);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (is_of_launcher(*variable)) std::memset(*variable, 'x', std::strlen(*variable));
}

[[noreturn]] void live(const std::string& tag, const WatchdogTimes& times, int name, int parent) {
  // Of the rank that starts it, which may have ended before the first look.
  Daemons daemons;
  if (const auto status = process_status(parent)) daemons.note(parent, status->start_ticks);

  // The rank stamps signals into its recorder.
  for (int signal = 1; signal < SIGRTMIN; ++signal) ::signal(signal, SIG_DFL);
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  shed_rank();
  // Out of reach of a terminal and of signals to the group.
  ::setsid();
  close_inherited_descriptors(name);
  watch(tag, times, std::move(daemons));
  ::_exit(0);
}

}  // namespace

void start_watchdog(const std::string& tag, const WatchdogTimes& times) {
  const int name = take_name(tag);
  if (name < 0) return;
  const pid_t parent = ::getppid();
  const pid_t between = ::fork();
  // A child of its own would be taken for a program that a probe started.
  if (between == 0) {
    if (::fork() == 0) live(tag, times, name, parent);
    ::_exit(0);
  }
  while (between > 0 && ::waitpid(between, nullptr, 0) < 0 && errno == EINTR) continue;
  ::close(name);
}

void await_end_of_watchdog(const std::string& tag, double most_s) {
  const double end = monotonic_seconds() + most_s;
  int name = take_name(tag);
  for (; name < 0 && monotonic_seconds() < end; name = take_name(tag))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (name >= 0) ::close(name);
}

}  // namespace muster
