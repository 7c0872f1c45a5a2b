#include "run/process_status.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "base/files.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "system/process_owner.hpp"

namespace muster {

std::optional<ProcessStatus> parse_process_status(std::string_view text) {
  // The name ends at the last parenthesis: no field after it has one.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string> fields = split(trim(text.substr(name_end + 1)), ' ');
  constexpr std::size_t first = 3;  // number of the field after the name
  if (fields.size() <= 22 - first || fields[0].size() != 1) return std::nullopt;
  ProcessStatus status;
  status.state = fields[0][0];
  if (!read_number(fields[5 - first], status.group)) return std::nullopt;
  if (!read_number(fields[22 - first], status.start_ticks)) return std::nullopt;
  return status;
}

std::optional<ProcessStatus> process_status(int pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  return text ? parse_process_status(*text) : std::nullopt;
}

double seconds_since_start(const ProcessStatus& status) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const double ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         static_cast<double>(status.start_ticks) / ticks_per_second;
}

void each_process(const std::function<void(int, const ProcessStatus&)>& act) {
  std::error_code problem;
  for (fs::directory_iterator entry("/proc", problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const int pid = std::atoi(name.c_str());
    const auto status = process_status(pid);
    if (status && status->state != 'Z' && status->state != 'X') act(pid, *status);
  }
}

bool is_daemon_of_one_launch(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto name = read_file(folder + "/comm");
  if (!name || !is_own_process(pid)) return false;
  if (trim(*name) == "orted" || trim(*name) == "hydra_pmi_proxy") return true;
  const auto line = read_file(folder + "/cmdline");
  return trim(*name) == "prted" && line && line->find("prterun-") != line->npos;
}

namespace {

/// Real, effective, saved and of the file system: programs that are set-uid root keep the user's as the real one.
bool is_started_by_root(int pid) {
  const auto status = read_file(fmt::format("/proc/{}/status", pid));
  return status && status->find("\nUid:\t0\t0\t0\t0\n") != status->npos;
}

}  // namespace

bool is_step_of_slurm(int pid, std::string_view job) {
  const auto name = read_file(fmt::format("/proc/{}/comm", pid));
  // The arguments of another user's process may block the reader without end (FUSE).
  if (job.empty() || !name || trim(*name) != "slurmstepd" || !is_started_by_root(pid)) return false;
  const auto line = read_file(fmt::format("/proc/{}/cmdline", pid));
  return line && line->find(fmt::format("[{}.", job)) != line->npos;
}

bool signal_process(int pid, std::uint64_t start_ticks, int signal) {
  const auto is_same = [&] {
    const auto status = process_status(pid);
    return status && status->start_ticks == start_ticks;
  };
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor >= 0) {
    const bool is_sent = is_same() && ::syscall(SYS_pidfd_send_signal, descriptor, signal, nullptr, 0) == 0;
    ::close(descriptor);
    return is_sent;
  }
  if (errno == ESRCH) return false;
#endif
  return is_same() && ::kill(pid, signal) == 0;
}

}  // namespace muster
