#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

#include "base/file_owner.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "run/recorder_layout.hpp"

namespace muster {

namespace {

using Layout = FlightRecorder::Layout;
constexpr auto relaxed = std::memory_order_relaxed;

template <std::size_t words>
std::string load_text(const std::atomic<std::uint64_t> (&from)[words]) {
  char bytes[words * 8];
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = from[i].load(relaxed);
    std::memcpy(bytes + i * 8, &word, 8);
  }
  return {bytes, ::strnlen(bytes, sizeof(bytes))};
}

double seconds(const std::atomic<std::uint64_t>& nanoseconds) {
  return static_cast<double>(nanoseconds.load(relaxed)) * 1e-9;
}

// A name in /dev/shm itself; anything else is damage, or not ours to touch.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

FlightRecord load(const Layout& layout) {
  FlightRecord record;
  record.pid = layout.pid.load(relaxed);
  record.start_ticks = layout.start_ticks.load(relaxed);
  record.parent = layout.parent.load(relaxed);
  record.parent_start_ticks = layout.parent_start_ticks.load(relaxed);
  record.orphaned_s = seconds(layout.orphaned_ns);
  record.deadline_s = seconds(layout.deadline_ns);
  record.rank = layout.rank.load(relaxed);
  record.world_size = layout.world_size.load(relaxed);
  record.phase = static_cast<Phase>(layout.phase.load(relaxed));
  record.item = layout.item.load(relaxed);
  record.step = printable_line(load_text(layout.step));
  record.error = printable_line(load_text(layout.error));
  record.call = printable_line(load_text(layout.call));
  record.call_s = seconds(layout.call_ns);
  record.device = printable_line(load_text(layout.device));
  record.steps = layout.steps.load(relaxed);
  record.iteration = layout.iteration.load(relaxed);
  record.peer = layout.peer.load(relaxed);
  record.changed_s = seconds(layout.changed_ns);
  record.signal = layout.signal.load(relaxed);
  record.signal_s = seconds(layout.signal_ns);
  record.is_signal_in_mpi = layout.is_signal_in_mpi.load(relaxed) != 0;
  record.is_exit_in_mpi = layout.is_exit_in_mpi.load(relaxed) != 0;
  record.child_group = layout.child_group.load(relaxed);
  const std::uint32_t shared = layout.shared_count.load(relaxed);
  for (std::size_t i = 0; i < std::min<std::size_t>(shared, Layout::most_shared); ++i)
    if (std::string name = load_text(layout.shared[i]); is_plain_name(name))
      record.shared_memory.push_back("/dev/shm/" + name);
  return record;
}

bool is_sound(const FlightRecord& record) {
  return record.pid > 1 && record.rank >= -1 && record.world_size >= 0 && record.phase <= Phase::finished &&
         record.item >= -1 && record.peer >= -1 && record.signal >= 0 && record.signal <= 64 &&
         record.child_group >= 0 && record.parent >= 0;
}

std::optional<FlightRecord> load_steady(const Layout& layout) {
  if (layout.magic.load(std::memory_order_acquire) != Layout::right_magic) return std::nullopt;
  if (layout.version.load(relaxed) != Layout::right_version) return std::nullopt;
  // A rank that was stopped or killed within an entry leaves it half written for good: what it has is good enough.
  constexpr int most_tries = 1000;
  FlightRecord record;
  for (int i = 0; i < most_tries; ++i) {
    const std::uint32_t before = layout.sequence.load(std::memory_order_acquire);
    record = load(layout);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && layout.sequence.load(relaxed) == before) break;
  }
  return is_sound(record) ? std::optional(record) : std::nullopt;
}

std::optional<FlightRecord> read_recorder(const fs::path& file) {
  struct stat status {};
  // A file of another user could name any process as its rank, and any file as its memory; to open it for reading may
  // take for ever.
  const bool is_ours = see_entry(file.string(), status) && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
                       status.st_size == static_cast<off_t>(recorder_file_size);
  if (!is_ours) return std::nullopt;
  // What is ours there, others can't replace.
  const OwnedDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (opened.number() < 0) return std::nullopt;
  void* memory = ::mmap(nullptr, recorder_file_size, PROT_READ, MAP_SHARED, opened.number(), 0);
  if (memory == MAP_FAILED) return std::nullopt;
  auto record = load_steady(*static_cast<const Layout*>(memory));
  ::munmap(memory, recorder_file_size);
  if (record) record->file = file.string();
  return record;
}

}  // namespace

int recorder_pid(std::string_view name_end) {
  const auto pid = name_end.substr(0, name_end.find('.'));
  const auto rest = name_end.substr(pid.size());
  const bool is_name = pid.find_first_not_of("0123456789") == pid.npos &&
                       (rest.empty() || rest.substr(1).find_first_not_of("0123456789abcdef") == rest.npos);
  return is_name ? leading_number<int>(pid).value_or(0) : 0;
}

std::vector<FlightRecord> read_recorders(const fs::path& folder, const std::string& tag) {
  std::vector<FlightRecord> records;
  const std::string prefix = tag.empty() ? "muster-" : "muster-" + tag + "-";
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const int pid = recorder_pid(std::string_view(name).substr(tag.empty() ? name.rfind('-') + 1 : prefix.size()));
    if (pid == 0) continue;
    auto record = read_recorder(entry->path());
    if (record && record->pid == pid) records.push_back(std::move(*record));
  }
  std::sort(records.begin(), records.end(), [](const FlightRecord& a, const FlightRecord& b) {
    return std::tie(a.rank, a.pid) < std::tie(b.rank, b.pid);
  });
  return records;
}

}  // namespace muster
