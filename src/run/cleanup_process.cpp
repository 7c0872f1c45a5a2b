#include "run/cleanup_process.hpp"

#include <cerrno>
#include <csignal>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.hpp"
#include "run/autopsy.hpp"
#include "system/inherited_descriptors.hpp"

namespace muster {

namespace {

constexpr double grace_s = 3;
/// A launcher that the driver had just started may not have the launch's tag in its environment yet.
constexpr useconds_t pauses_us[] = {0, 200'000, 500'000, 1'000'000};

/// Tags that are in flight when the driver has gone; none where it ended in order. `+TAG`, `-TAG` and `.` are its
/// lines.
std::set<std::string> left_in_flight(int socket) {
  std::string text;
  char part[512];
  for (;;) {
    const ssize_t count = ::read(socket, part, sizeof part);
    if (count > 0) text.append(part, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  std::set<std::string> tags;
  for (const std::string_view line : lines(text)) {
    if (line == ".") return {};
    if (line.starts_with('+')) tags.emplace(line.substr(1));
    if (line.starts_with('-')) tags.erase(std::string(line.substr(1)));
  }
  return tags;
}

[[noreturn]] void keep(int socket) {
  // The driver is asked to end, not we; a session of its own is out of reach of a terminal.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  ::setsid();
  close_inherited_descriptors(socket);
  const auto tags = left_in_flight(socket);
  for (const auto pause : pauses_us) {
    if (tags.empty()) break;
    ::usleep(pause);
    for (const std::string& tag : tags) (void)clean_this_node(tag, grace_s, {.launcher_has_ended = true});
  }
  ::_exit(0);
}

}  // namespace

CleanupProcess::CleanupProcess() {
  int ends[2] = {-1, -1};
  // No pipe: one that has no reader any more would end the driver by a signal.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) keep(ends[0]);
  ::close(ends[0]);
  if (pid_ > 0)
    socket_ = ends[1];
  else
    ::close(ends[1]);
}

CleanupProcess::~CleanupProcess() {
  if (socket_ < 0) return;
  announce('.', "");
  ::close(socket_);
  // It has nothing left to do, and may be stopped.
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void CleanupProcess::announce(char what, const std::string& tag) const {
  if (socket_ < 0) return;
  const std::string line = what + tag + "\n";
  while (::send(socket_, line.data(), line.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
}

CleanupProcess::InFlight::InFlight(CleanupProcess& cleanup, std::string tag) : cleanup_(cleanup), tag_(std::move(tag)) {
  cleanup_.announce('+', tag_);
}

CleanupProcess::InFlight::~InFlight() {
  cleanup_.announce('-', tag_);
}

}  // namespace muster
