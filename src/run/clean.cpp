#include <algorithm>
#include <csignal>
#include <dirent.h>
#include <functional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "run/autopsy.hpp"
#include "run/process_status.hpp"

namespace muster {

namespace {

using Records = std::vector<FlightRecord>;

constexpr double unkillable_s = 2;

bool is_alive(const FlightRecord& record) {
  const ProcessState state = state_of(record);
  return state != ProcessState::gone && state != ProcessState::zombie;
}

// Every number in /proc that is a process which has not ended, with its status.
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

// Members of the groups that ranks noted. A number that a group had may be another group's after the rank has been
// gone for long: only processes that are no older than the rank can be its children.
std::vector<int> group_members(const Records& records) {
  std::vector<int> members;
  if (std::none_of(records.begin(), records.end(), [](const auto& record) { return record.child_group > 1; }))
    return {};
  each_process([&](int pid, const ProcessStatus& status) {
    for (const FlightRecord& record : records)
      if (record.child_group > 1 && status.group == record.child_group && status.group != ::getpgrp() &&
          status.start_ticks >= record.start_ticks) {
        members.push_back(pid);
        return;
      }
  });
  return members;
}

void signal_all(const Records& records, int signal) {
  for (const FlightRecord& record : records)
    if (is_alive(record)) ::kill(record.pid, signal);
  for (const int pid : group_members(records)) ::kill(pid, signal);
}

bool all_ended(const Records& records) {
  return std::none_of(records.begin(), records.end(), is_alive) && group_members(records).empty();
}

bool wait_until_ended(const Records& records, double seconds) {
  const double until = monotonic_seconds() + seconds;
  Loop loop;
  const auto look = loop.every(0.01, [] {});
  bool ended = false;
  loop.run_until([&] { return (ended = all_ended(records)) || monotonic_seconds() > until; });
  return ended;
}

// Files of /dev/shm that any process of this node has mapped.
std::set<std::string, std::less<>> mapped_shared_memory() {
  std::set<std::string, std::less<>> mapped;
  each_process([&](int pid, const ProcessStatus&) {
    const auto maps = read_file("/proc/" + std::to_string(pid) + "/maps");
    if (!maps) return;
    for (const std::string_view line : lines(*maps))
      if (const std::size_t at = line.find("/dev/shm/"); at != std::string_view::npos) mapped.emplace(line.substr(at));
  });
  return mapped;
}

void remove_shared_memory(const Records& records) {
  std::set<std::string, std::less<>> left;
  for (const FlightRecord& record : records) left.insert(record.shared_memory.begin(), record.shared_memory.end());
  if (left.empty()) return;
  const auto mapped = mapped_shared_memory();
  for (const std::string& file : left) {
    struct stat status {};
    if (mapped.count(file) != 0 || ::lstat(file.c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && status.st_uid == ::geteuid()) ::unlink(file.c_str());
  }
}

}  // namespace

std::vector<int> clean_this_node(const std::string& tag, double grace_s) {
  const Records records = read_recorders(recorder_folder(), tag);
  if (!all_ended(records)) {
    signal_all(records, SIGTERM);
    signal_all(records, SIGCONT);  // a stopped one sees TERM only now
    if (!wait_until_ended(records, grace_s)) {
      signal_all(records, SIGKILL);
      wait_until_ended(records, unkillable_s);
    }
  }
  std::vector<int> survivors = group_members(records);
  for (const FlightRecord& record : records)
    if (is_alive(record))
      survivors.push_back(record.pid);
    else
      ::unlink(record.file.c_str());
  remove_shared_memory(records);
  return survivors;
}

}  // namespace muster
