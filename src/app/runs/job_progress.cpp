#include "app/runs/job_progress.hpp"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t plain_width = 80;

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : plain_width;
}

bool can_redraw() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

JobProgress::JobProgress(bool is_quiet) : is_quiet_(is_quiet), is_terminal_(can_redraw()) {}

void JobProgress::show(const SchedulerSpec& scheduler, const JobNews& news) {
  if (is_quiet_) return;
  const auto line = announce(scheduler, news, is_terminal_);
  if (line == last_) return;
  last_ = line;
  if (!is_terminal_) {
    fmt::print(stderr, "{}\n", printable_line(line, 1000));
    return;
  }
  fmt::print(stderr, "\r\x1b[K{}", printable_line(line, columns() - 4));
  std::fflush(stderr);
}

void JobProgress::say(const std::string& line) {
  if (is_quiet_) return;
  end();
  fmt::print(stderr, "{}\n", printable_line(line, 1000));
}

void JobProgress::end() {
  if (!is_quiet_ && is_terminal_) fmt::print(stderr, "\r\x1b[K");
  last_.clear();
}

}  // namespace muster
