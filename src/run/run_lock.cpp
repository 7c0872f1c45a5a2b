#include "run/run_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/file_owner.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"

namespace muster {

namespace {

using nlohmann::json;

/// Bytes that stand for runs, far behind any line.
constexpr off_t first_slot = off_t{1} << 40;
constexpr int most_runs = 4096;
constexpr std::size_t most_bytes = 64u << 20;
constexpr std::string_view heading = "muster lock 1\n";

/// A file of runs, open. Locks of it end with it.
struct LockFile {
  fs::path path;
  OwnedDescriptor descriptor;
};

struct Entry {
  int slot = 0;
  LockedRun run;
};

tl::unexpected<Error> trouble(const fs::path& path, std::string_view what, int error) {
  return fail(ErrorKind::system, path.string(), fmt::format("{}: {}", what, std::strerror(error)));
}

struct flock byte(off_t at, short type) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = at;
  range.l_len = 1;
  return range;
}

/// False: another process has it.
Result<bool> try_lock(const LockFile& file, off_t at) {
  auto range = byte(at, F_WRLCK);
  if (::fcntl(file.descriptor.number(), F_OFD_SETLK, &range) == 0) return true;
  if (errno == EAGAIN || errno == EACCES || errno == EINTR) return false;
  return trouble(file.path, "its file system keeps no locks; choose a file elsewhere with --lock-file", errno);
}

void unlock(const LockFile& file, off_t at) {
  auto range = byte(at, F_UNLCK);
  (void)::fcntl(file.descriptor.number(), F_OFD_SETLK, &range);
}

/// Bytes of runs that go on, in order.
Result<std::vector<int>> living_slots(const LockFile& file) {
  std::vector<int> slots;
  for (int slot = 0; slot < most_runs; ++slot) {
    // Queried as a reader: read locks, possible without write permission, are not runs.
    auto range = byte(first_slot + slot, F_RDLCK);
    range.l_len = most_runs - slot;
    if (::fcntl(file.descriptor.number(), F_OFD_GETLK, &range) != 0)
      return trouble(file.path, "can't be queried for locks", errno);
    if (range.l_type == F_UNLCK) return slots;
    // Over NFS only the beginning of a range may be reported.
    slot = std::max(slot, static_cast<int>(range.l_start - first_slot));
    slots.push_back(slot);
  }
  return slots;
}

/// The file at `path` is the open one: it was not replaced by another.
bool is_in_place(const LockFile& file) {
  struct stat open = {}, there = {};
  return ::fstat(file.descriptor.number(), &open) == 0 && ::stat(file.path.c_str(), &there) == 0 &&
         open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

Result<std::string> read_all(const LockFile& file) {
  std::string text;
  char chunk[65536];
  for (;;) {
    const auto got = ::pread(file.descriptor.number(), chunk, sizeof chunk, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return trouble(file.path, "can't be read", errno);
    if (got == 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
    if (text.size() > most_bytes) return fail(ErrorKind::system, file.path.string(), "is not a lock file of muster");
  }
}

/// Also one that a run that died has just begun to write.
bool is_ours(std::string_view text) {
  const auto start = text.substr(0, heading.size());
  return start == heading.substr(0, start.size());
}

tl::unexpected<Error> not_ours(const fs::path& path) {
  return fail(ErrorKind::system, path.string(), "is not a lock file of muster; choose another with --lock-file");
}

/// Ours, and open to users who may read and not write it: their read locks would keep us from writing.
Result<bool> is_exposed(const LockFile& file) {
  struct stat about = {};
  if (!see_file(file.descriptor.number(), about)) return trouble(file.path, "can't be read", errno);
  if (!S_ISREG(about.st_mode)) return fail(ErrorKind::system, file.path.string(), "is not a lock file of muster");
  const bool is_for_group = (about.st_mode & (S_IRGRP | S_IWGRP)) == S_IRGRP;
  const bool is_for_others = (about.st_mode & (S_IROTH | S_IWOTH)) == S_IROTH;
  // One that a group shares has a mode that was chosen for it.
  const bool is_chosen = (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return about.st_uid == ::geteuid() && !is_chosen && (is_for_group || is_for_others);
}

Result<void> open_file(LockFile& file, int more_flags) {
  auto opened = open_own_file(file.path, O_RDWR | more_flags);
  if (!opened) return tl::unexpected(opened.error());
  file.descriptor = std::move(*opened);
  return {};
}

/// A file that an earlier muster made readable for all gives way to a new one, unless a run is in it.
Result<void> make_private(LockFile& file) {
  const auto exposed = is_exposed(file);
  if (!exposed) return tl::unexpected(exposed.error());
  if (!*exposed) return {};
  const auto text = read_all(file);
  if (!text) return tl::unexpected(text.error());
  if (!is_ours(*text)) return not_ours(file.path);
  const auto slots = living_slots(file);
  if (!slots) return tl::unexpected(slots.error());
  if (!slots->empty()) return {};
  if (auto written = write_file(file.path, heading, 0600); !written) return written;
  file.descriptor.reset();
  return open_file(file, 0);
}

/// Opens it and locks byte 0.
Result<void> enter(LockFile& file, double patience_s) {
  const auto end = monotonic_seconds() + patience_s;
  for (;;) {
    const bool is_new = !file.descriptor.is_open();
    if (is_new) {
      if (auto opened = open_file(file, O_CREAT); !opened) return opened;
      if (auto made = make_private(file); !made) return made;
    }
    auto locked = try_lock(file, 0);
    if (!locked) return tl::unexpected(locked.error());
    if (*locked && is_in_place(file)) return {};
    if (*locked) file.descriptor.reset();
    if (monotonic_seconds() > end)
      return fail(
          ErrorKind::system, file.path.string(),
          fmt::format(
              "another process has kept it locked for {:.0f} s; find it with lslocks, end it or remove the file",
              patience_s));
    const timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

json to_line(const Entry& entry) {
  const auto& run = entry.run;
  return {{"slot", entry.slot}, {"run", run.run}, {"system", run.system}, {"nodes", run.nodes},
          {"host", run.host},   {"pid", run.pid}, {"since", run.since},   {"turned_away", run.turned_away}};
}

/// nullopt: no line of ours, whole.
std::optional<Entry> from_line(std::string_view line) {
  const auto value = json::parse(line, nullptr, false);
  if (!value.is_object()) return {};
  try {
    Entry entry;
    entry.slot = value.at("slot").get<int>();
    entry.run = {value.at("run").get<std::string>(),
                 value.at("system").get<std::string>(),
                 value.at("nodes").get<std::vector<std::string>>(),
                 value.at("host").get<std::string>(),
                 value.at("pid").get<int>(),
                 value.at("since").get<std::string>(),
                 value.at("turned_away").get<int>()};
    if (entry.slot < 0 || entry.slot >= most_runs) return {};
    return entry;
  } catch (const json::exception&) {
    return {};
  }
}

/// The active ones. A run without a line, lost by a run that died while writing, conflicts with all others.
Result<std::vector<Entry>> read_living(const LockFile& file) {
  const auto text = read_all(file);
  if (!text) return tl::unexpected(text.error());
  if (!is_ours(*text)) return not_ours(file.path);
  const auto slots = living_slots(file);
  if (!slots) return tl::unexpected(slots.error());
  std::vector<Entry> reported;
  for (const auto line : lines(*text))
    if (auto entry = from_line(line)) reported.push_back(std::move(*entry));
  std::vector<Entry> living;
  for (const int slot : *slots) {
    const auto found =
        std::find_if(reported.begin(), reported.end(), [&](const Entry& entry) { return entry.slot == slot; });
    living.push_back(found == reported.end() ? Entry{slot, {}} : *found);
  }
  return living;
}

Result<void> write_all(const LockFile& file, const std::vector<Entry>& entries) {
  std::string text(heading);
  for (const auto& entry : entries) text += to_line(entry).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  std::size_t done = 0;
  while (done < text.size()) {
    const auto put =
        ::pwrite(file.descriptor.number(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return trouble(file.path, "can't be written", put < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(put);
  }
  if (::ftruncate(file.descriptor.number(), static_cast<off_t>(text.size())) != 0)
    return trouble(file.path, "can't be written", errno);
  (void)::fsync(file.descriptor.number());
  return {};
}

/// Locks the byte of a run; its slot.
Result<int> take_slot(const LockFile& file) {
  for (int slot = 0; slot < most_runs; ++slot) {
    const auto locked = try_lock(file, first_slot + slot);
    if (!locked) return tl::unexpected(locked.error());
    if (*locked) return slot;
  }
  return fail(ErrorKind::system, file.path.string(), fmt::format("{} runs go on at once", most_runs));
}

}  // namespace

bool overlap(const LockedRun& one, const LockedRun& other) {
  if (one.run.empty() || other.run.empty()) return true;
  if (one.system != other.system) return false;
  if (one.nodes.empty() || other.nodes.empty()) return true;
  auto mine = one.nodes, theirs = other.nodes;
  std::sort(mine.begin(), mine.end());
  std::sort(theirs.begin(), theirs.end());
  std::vector<std::string> both;
  std::set_intersection(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(both));
  return !both.empty();
}

bool has_lasted(const LockedRun& run, double seconds) {
  // RFC 3339 in UTC: in order of time as text.
  const auto then = rfc3339(realtime_nanoseconds() - static_cast<std::int64_t>(seconds * 1e9));
  return !run.since.empty() && run.since < then;
}

Result<std::optional<LockedRun>> RunLock::take(RunLock& lock, const fs::path& path, const LockedRun& run,
                                               double patience_s) {
  LockFile file;
  file.path = path;
  std::error_code ignored;
  const bool is_new = path.has_parent_path() && !fs::exists(path.parent_path(), ignored);
  if (is_new)
    if (auto own = check_own_folder(path.parent_path()); !own) return tl::unexpected(own.error());
  if (is_new)
    if (auto made = make_folder(path.parent_path()); !made) return tl::unexpected(made.error());
  if (auto entered = enter(file, patience_s); !entered) return tl::unexpected(entered.error());
  auto living = read_living(file);
  if (!living) return tl::unexpected(living.error());
  for (auto& entry : *living) {
    if (!overlap(entry.run, run)) continue;
    ++entry.run.turned_away;
    if (auto written = write_all(file, *living); !written) return tl::unexpected(written.error());
    return std::optional(entry.run);
  }
  const auto slot = take_slot(file);
  if (!slot) return tl::unexpected(slot.error());
  living->push_back({*slot, run});
  if (auto written = write_all(file, *living); !written) return tl::unexpected(written.error());
  unlock(file, 0);
  lock.descriptor_ = std::move(file.descriptor);
  return std::optional<LockedRun>();
}

}  // namespace muster
