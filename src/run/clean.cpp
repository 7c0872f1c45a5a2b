#include <algorithm>
#include <csignal>
#include <dirent.h>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/file_owner.hpp"
#include "base/lists.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "run/autopsy.hpp"
#include "run/launch_tag.hpp"
#include "run/listening_ports.hpp"
#include "run/messages.hpp"
#include "run/process_status.hpp"
#include "run/recorder_layout.hpp"
#include "run/watchdog.hpp"
#include "system/child.hpp"
#include "system/process_owner.hpp"

namespace muster {

namespace {

using Records = std::vector<FlightRecord>;

constexpr double unkillable_s = 2;

bool is_alive(const FlightRecord& record) {
  const ProcessState state = state_of(record);
  return state != ProcessState::gone && state != ProcessState::zombie;
}

/// A process of this node; a number alone may be another's by now.
struct Named {
  int pid = 0;
  std::uint64_t start_ticks = 0;
  friend bool operator==(const Named&, const Named&) = default;
};

// Members of the groups that ranks noted. A number that a group had may be another group's after the rank has been
// gone for long: only processes that are no older than the rank can be its children.
std::vector<Named> group_members(const Records& records) {
  std::vector<Named> members;
  if (std::none_of(records.begin(), records.end(), [](const auto& record) { return record.child_group > 1; }))
    return {};
  each_process([&](int pid, const ProcessStatus& status) {
    for (const FlightRecord& record : records)
      if (record.child_group > 1 && status.group == record.child_group && status.group != ::getpgrp() &&
          status.start_ticks >= record.start_ticks && is_own_process(pid)) {
        members.push_back({pid, status.start_ticks});
        return;
      }
  });
  return members;
}

// Values of all variables of that name: a program may have been given one twice.
bool has_variable(std::string_view environment, std::string_view name,
                  const std::function<bool(std::string_view)>& is_wanted) {
  for (std::size_t at = 0; at < environment.size();) {
    const std::string_view one = environment.substr(at, environment.find('\0', at) - at);
    at += one.size() + 1;
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=') && is_wanted(one.substr(name.size() + 1)))
      return true;
  }
  return false;
}

bool is_of_launch(std::string_view environment, const std::string& tag) {
  return has_variable(environment, env_tag, [&](std::string_view value) { return value == tag; }) &&
         has_variable(environment, env_tag_secret, [&](std::string_view value) { return is_secret_of(value, tag); });
}

bool is_program(std::string_view environment) {
  const auto equals = program_mark.find('=');
  return has_variable(environment, program_mark.substr(0, equals),
                      [&](std::string_view value) { return value == program_mark.substr(equals + 1); });
}

/// In a container of its own, where its ranks left their recorders: it removes them before it ends.
bool is_watchdog_of_another_folder(int pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const auto name = read_file(process + "/comm");
  struct stat own {};
  struct stat its {};
  return name && trim(*name) == watchdog_name && ::stat("/dev/shm", &own) == 0 &&
         ::stat((process + "/root/dev/shm").c_str(), &its) == 0 && own.st_dev != its.st_dev;
}

// Programs that ranks of this launch ran, and what those started, also in sessions of their own. Once the launcher has
// ended: also ranks that it started while it was being ended, which have no recorder yet. Another user may put the
// tag into the environment of any process of theirs, and of set-uid programs that run as this user, but not its secret.
std::vector<Named> programs_of(const std::string& tag, bool launcher_has_ended) {
  std::vector<Named> programs;
  each_process([&](int pid, const ProcessStatus& status) {
    if (!is_own_process(pid)) return;
    const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ", 4u << 20);
    if (pid != ::getpid() && environment && is_of_launch(*environment, tag) &&
        (launcher_has_ended || is_program(*environment)) && !is_watchdog_of_another_folder(pid))
      programs.push_back({pid, status.start_ticks});
  });
  return programs;
}

/// Daemons that this launcher started, as of `asked_s` on the monotonic clock. Where packets are lost, they may wait
/// for minutes for its connection.
std::vector<Named> daemons_of(const EndedLauncher& launcher, double asked_s) {
  constexpr double shell_s = 8;  // most that a question takes to arrive
  std::vector<Named> daemons;
  if (launcher.ports.empty()) return daemons;
  const double oldest_s = launcher.age_s + shell_s + monotonic_seconds() - asked_s;
  each_process([&](int pid, const ProcessStatus& status) {
    if (is_daemon_of_one_launch(pid) && seconds_since_start(status) <= oldest_s && has_network_of_this_node(pid) &&
        is_called_with(pid, launcher.hosts, launcher.ports))
      daemons.push_back({pid, status.start_ticks});
  });
  return daemons;
}

/// What a launch left on this node.
struct Remains {
  std::string tag;
  Records records;
  CleanOptions options = {};
  double asked_s = 0;
};

// Ranks aside.
std::vector<Named> others_of(const Remains& remains) {
  std::vector<Named> others = group_members(remains.records);
  for (const Named& one : programs_of(remains.tag, remains.options.launcher_has_ended))
    if (!is_in(one, others)) others.push_back(one);
  for (const Named& one : daemons_of(remains.options.launcher, remains.asked_s)) others.push_back(one);
  return others;
}

void signal_all(const Remains& remains, int signal) {
  for (const FlightRecord& record : remains.records)
    if (is_alive(record)) signal_process(record.pid, record.start_ticks, signal);
  for (const Named& other : others_of(remains)) signal_process(other.pid, other.start_ticks, signal);
}

bool all_ended(const Remains& remains) {
  return std::none_of(remains.records.begin(), remains.records.end(), is_alive) && others_of(remains).empty();
}

bool wait_until_ended(const Remains& remains, double seconds) {
  const double until = monotonic_seconds() + seconds;
  Loop loop;
  const auto look = loop.every(0.01, [] {});
  bool ended = false;
  loop.run_until([&] { return (ended = all_ended(remains)) || monotonic_seconds() > until; });
  return ended;
}

// Files of this /dev/shm that processes of this user have mapped; containers that share processes may each have their
// own. Only files of this user are removed, and reading the maps of another user's process may block without end (a
// page that a FUSE file system of that user holds back).
std::set<std::string, std::less<>> mapped_shared_memory() {
  std::set<std::string, std::less<>> mapped;
  struct stat memory {};
  if (::stat("/dev/shm", &memory) != 0) return mapped;
  // As in `7f2a-7f2b rw-s 00000000 00:1b 77 /dev/shm/name`.
  const std::string device = fmt::format(" {:02x}:{:02x} ", major(memory.st_dev), minor(memory.st_dev));
  each_process([&](int pid, const ProcessStatus&) {
    if (!is_own_process(pid)) return;
    const auto maps = read_file("/proc/" + std::to_string(pid) + "/maps");
    if (!maps) return;
    for (const std::string_view line : lines(*maps))
      if (const std::size_t at = line.find("/dev/shm/");
          at != line.npos && line.substr(0, at).find(device) != line.npos)
        mapped.emplace(line.substr(at));
  });
  return mapped;
}

bool holds_any(const std::string& folder, const std::set<std::string, std::less<>>& files) {
  const auto first = files.lower_bound(folder + "/");
  return first != files.end() && first->starts_with(folder + "/");
}

void remove_shared_memory(const Records& records) {
  std::set<std::string, std::less<>> left;
  for (const FlightRecord& record : records) left.insert(record.shared_memory.begin(), record.shared_memory.end());
  if (left.empty()) return;
  const auto mapped = mapped_shared_memory();
  for (const std::string& file : left) {
    struct stat status {};
    if (mapped.count(file) != 0 || !see_entry(file, status)) continue;
    if (S_ISREG(status.st_mode) && status.st_uid == ::geteuid()) ::unlink(file.c_str());
    if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && !holds_any(file, mapped)) {
      std::error_code ignored;
      fs::remove_all(file, ignored);
    }
  }
}

// Whether a process of this user has this file open. Only files of this user are asked about.
bool is_open(const struct stat& file) {
  bool found = false;
  each_process([&](int pid, const ProcessStatus&) {
    if (found || !is_own_process(pid)) return;
    std::error_code problem;
    for (fs::directory_iterator entry("/proc/" + std::to_string(pid) + "/fd", problem), end;
         !problem && entry != end && !found; entry.increment(problem)) {
      struct stat status {};
      found =
          ::stat(entry->path().c_str(), &status) == 0 && status.st_dev == file.st_dev && status.st_ino == file.st_ino;
    }
  });
  return found;
}

// Each start of Open MPI 4 creates an empty /dev/shm/open_mpi.NNNN, the first free number, to see whether POSIX shared
// memory works, and removes it at once: a process that is killed in between leaves it. While it exists no other start
// takes that number, so a file that is not open now belongs to no process.
void remove_probes_of_open_mpi() {
  std::error_code problem;
  for (fs::directory_iterator entry("/dev/shm", problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    constexpr std::string_view prefix = "open_mpi.";
    if (!name.starts_with(prefix) || name.size() != prefix.size() + 4 ||
        name.find_first_not_of("0123456789", prefix.size()) != std::string::npos)
      continue;
    struct stat status {};
    if (!see_entry(entry->path().string(), status) || !S_ISREG(status.st_mode) || status.st_size != 0) continue;
    if (status.st_uid == ::geteuid() && !is_open(status)) ::unlink(entry->path().c_str());
  }
}

double age_of_launch_s(const Records& records) {
  double longest_s = 0;
  for (const FlightRecord& record : records) {
    ProcessStatus status;
    status.start_ticks = record.start_ticks;
    longest_s = std::max(longest_s, seconds_since_start(status));
  }
  return longest_s;
}

/// Ranks of MPICH that end in MPI_Init leave files that they have no time to remove: of this user, made since the first
/// rank of the launch was started, and in use by no process.
void remove_files_of_mpich(const Records& records) {
  if (records.empty()) return;
  const double began_s = static_cast<double>(realtime_nanoseconds()) * 1e-9 - age_of_launch_s(records) - 1;
  const auto mapped = mapped_shared_memory();
  std::error_code problem;
  for (fs::directory_iterator entry("/dev/shm", problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string file = entry->path().string();
    struct stat status {};
    if (!entry->path().filename().string().starts_with("mpich_s") || mapped.count(file) != 0) continue;
    if (!see_entry(file, status) || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) continue;
    if (static_cast<double>(status.st_ctim.tv_sec) >= began_s && !is_open(status)) ::unlink(file.c_str());
  }
}

/// KILL for the daemons that started ranks of this launch.
void end_daemons(const Records& records) {
  for (const FlightRecord& record : records) {
    if (record.parent <= 1) continue;
    const auto status = process_status(record.parent);
    if (status && status->start_ticks == record.parent_start_ticks && is_daemon_of_one_launch(record.parent))
      signal_process(record.parent, record.parent_start_ticks, SIGKILL);
  }
}

/// Of ranks that were killed before their recorder could be read.
void remove_unfinished_recorders(const std::string& tag) {
  const std::string prefix = "muster-" + tag + "-";
  std::error_code problem;
  for (fs::directory_iterator entry(recorder_folder(), problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    const int pid = name.starts_with(prefix) ? recorder_pid(std::string_view(name).substr(prefix.size())) : 0;
    struct stat status {};
    if (pid == 0 || !see_entry(entry->path().string(), status)) continue;
    const bool is_ours = S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
    const auto process = process_status(pid);
    const bool is_gone = !process || to_state(process->state) == ProcessState::zombie;
    if (is_ours && is_gone) ::unlink(entry->path().c_str());
  }
}

bool is_older(const FlightRecord& record, double age_s) {
  struct stat status {};
  if (::lstat(record.file.c_str(), &status) != 0) return false;
  const double made = static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
  return static_cast<double>(realtime_nanoseconds()) * 1e-9 - made > age_s;
}

}  // namespace

void forget_old_launches(double age_s) {
  Records old = read_recorders(recorder_folder(), "");
  old.erase(std::remove_if(old.begin(), old.end(),
                           [&](const FlightRecord& record) { return is_alive(record) || !is_older(record, age_s); }),
            old.end());
  for (const FlightRecord& record : old) ::unlink(record.file.c_str());
  remove_shared_memory(old);
}

namespace {

void end_all(const Remains& remains, double grace_s) {
  signal_all(remains, SIGTERM);
  signal_all(remains, SIGCONT);  // a stopped one sees TERM only now
  if (wait_until_ended(remains, grace_s)) return;
  signal_all(remains, SIGKILL);
  wait_until_ended(remains, unkillable_s);
}

}  // namespace

void end_ranks_on_this_node(const std::string& tag, double grace_s) {
  end_all({tag, read_recorders(recorder_folder(), tag), {.launcher_has_ended = true}}, grace_s);
}

std::vector<int> clean_this_node(const std::string& tag, double grace_s, const CleanOptions& options) {
  Remains remains{tag, read_recorders(recorder_folder(), tag), options, monotonic_seconds()};
  const Records& records = remains.records;
  if (!all_ended(remains)) {
    end_all(remains, grace_s);
    // One that had only just started may have made its recorder in the meantime.
    remains.records = read_recorders(recorder_folder(), tag);
  }
  if (options.ends_daemons) end_daemons(records);
  std::vector<int> survivors;
  for (const Named& other : others_of(remains)) survivors.push_back(other.pid);
  for (const FlightRecord& record : records)
    if (is_alive(record))
      survivors.push_back(record.pid);
    else
      ::unlink(record.file.c_str());
  remove_unfinished_recorders(tag);
  remove_shared_memory(records);
  remove_files_of_mpich(records);
  remove_probes_of_open_mpi();
  return survivors;
}

}  // namespace muster
