#include "run/flight_recorder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "run/process_status.hpp"
#include "run/recorder_layout.hpp"
#include "run/signal_stamp.hpp"

namespace muster {

static_assert(sizeof(FlightRecorder::Layout) <= recorder_file_size);

constexpr std::string_view phase_names[] = {"starting", "connecting", "gap",       "prepare", "agreeing",
                                            "running",  "gathering",  "finishing", "finished"};

std::string_view to_string(Phase phase) {
  return enum_name(phase_names, phase);
}

fs::path recorder_folder() {
  const char* chosen = std::getenv("MUSTER_RECORDER_FOLDER");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  return ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::size_t step_length = FlightRecorder::Layout::step_words * 8 - 1;

// How many forks lie between the first process and this one: a recorder of another number is our parent's.
std::atomic<std::uint64_t> forks{0};

void count_forks() {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, relaxed); });
}

template <std::size_t words>
void store_text(std::atomic<std::uint64_t> (&to)[words], std::string_view text) {
  char bytes[words * 8] = {};
  text.copy(bytes, sizeof(bytes) - 1);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i * 8, 8);
    to[i].store(word, relaxed);
  }
}

// Cut to `most` bytes, but not within a UTF-8 character.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

Error system_error(const fs::path& file, const char* doing) {
  return {ErrorKind::system, file.string(), std::string(doing) + ": " + std::strerror(errno)};
}

// A file of that name is of an earlier process with our pid, and obsolete; or another user, who read the tag from the
// name of another rank's recorder, was faster: then a name that cannot be guessed is taken.
int open_new(fs::path& file) {
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int descriptor = ::open(file.c_str(), flags, 0600);
  if (descriptor >= 0 || errno != EEXIST) return descriptor;
  if (::unlink(file.c_str()) == 0) descriptor = ::open(file.c_str(), flags, 0600);
  if (descriptor >= 0) return descriptor;
  file += "." + random_hex(8);
  return ::open(file.c_str(), flags, 0600);
}

Result<void*> map_new(fs::path& file) {
  const int descriptor = open_new(file);
  if (descriptor < 0) return tl::unexpected(system_error(file, "can't create it"));
  // Set aside now: a store into a mapped file on a full disk would be a SIGBUS.
  const int full = ::posix_fallocate(descriptor, 0, recorder_file_size);
  void* memory = MAP_FAILED;
  if (full == 0)
    memory = ::mmap(nullptr, recorder_file_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  else
    errno = full;
  Result<void*> result = memory;
  if (memory == MAP_FAILED) {
    result = tl::unexpected(system_error(file, "no space for it"));
    ::unlink(file.c_str());
  }
  ::close(descriptor);
  return result;
}

}  // namespace

FlightRecorder::FlightRecorder(Layout* layout, fs::path file)
    : layout_(layout), file_(std::move(file)), forks_(forks.load(relaxed)) {}

Result<std::unique_ptr<FlightRecorder>> FlightRecorder::create(const fs::path& folder, const std::string& tag) {
  if (tag.empty() || tag.find('/') != std::string::npos)
    return fail(ErrorKind::usage, tag, "is not a tag for a recorder file");
  count_forks();
  fs::path file = folder / ("muster-" + tag + "-" + std::to_string(::getpid()));
  const auto memory = map_new(file);
  if (!memory) return tl::unexpected(memory.error());
  auto* layout = new (*memory) Layout;
  std::unique_ptr<FlightRecorder> recorder(new FlightRecorder(layout, file));
  const auto self = process_status(::getpid());
  layout->version.store(Layout::right_version, relaxed);
  layout->pid.store(::getpid(), relaxed);
  layout->start_ticks.store(self ? self->start_ticks : 0, relaxed);
  // Process 1 takes in those whose parent has ended; 0 is outside of a container.
  if (const int parent = ::getppid(); parent > 1)
    if (const auto status = process_status(parent)) {
      layout->parent.store(parent, relaxed);
      layout->parent_start_ticks.store(status->start_ticks, relaxed);
    }
  recorder->place(-1, 0);
  recorder->item(-1);
  layout->magic.store(Layout::right_magic, std::memory_order_release);
  return recorder;
}

FlightRecorder::~FlightRecorder() {
  stop_stamping(layout_);
  const bool is_finished = static_cast<Phase>(layout_->phase.load(relaxed)) == Phase::finished;
  if (is_ours() && is_finished) ::unlink(file_.c_str());
  ::munmap(layout_, recorder_file_size);
}

bool FlightRecorder::is_ours() const {
  return forks_ == forks.load(relaxed);
}

template <class Act>
void FlightRecorder::note(Act act) {
  if (!is_ours()) return;
  layout_->sequence.fetch_add(1, relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  act(*layout_);
  layout_->sequence.fetch_add(1, std::memory_order_release);
}

template <class Act>
void FlightRecorder::enter(Act act) {
  note([&](Layout& layout) {
    act(layout);
    layout.changed_ns.store(monotonic_nanoseconds(), relaxed);
  });
}

namespace {

void begin_step(FlightRecorder::Layout& layout, std::string_view name) {
  store_text(layout.step, cut(name, step_length));
  store_text(layout.call, "");
  layout.iteration.store(0, relaxed);
  layout.peer.store(-1, relaxed);
}

}  // namespace

void FlightRecorder::place(int rank, int world_size) {
  enter([&](Layout& layout) {
    layout.rank.store(rank, relaxed);
    layout.world_size.store(world_size, relaxed);
  });
}

void FlightRecorder::phase(Phase phase) {
  enter([&](Layout& layout) {
    layout.phase.store(static_cast<std::uint32_t>(phase), relaxed);
    layout.steps.store(0, relaxed);
    begin_step(layout, "");
  });
}

void FlightRecorder::error(std::string_view what) {
  enter([&](Layout& layout) { store_text(layout.error, cut(what, Layout::error_words * 8 - 1)); });
}

void FlightRecorder::deadline(double monotonic_s) {
  note([&](Layout& layout) { layout.deadline_ns.store(static_cast<std::uint64_t>(monotonic_s * 1e9), relaxed); });
}

void FlightRecorder::item(int index) {
  enter([&](Layout& layout) {
    layout.item.store(index, relaxed);
    store_text(layout.error, "");
    store_text(layout.device, "");
    layout.steps.store(0, relaxed);
    begin_step(layout, "");
  });
}

void FlightRecorder::call(std::string_view name) {
  note([&](Layout& layout) {
    store_text(layout.call, cut(name, step_length));
    layout.call_ns.store(monotonic_nanoseconds(), relaxed);
  });
}

void FlightRecorder::device(std::string_view label) {
  note([&](Layout& layout) { store_text(layout.device, cut(label, Layout::device_words * 8 - 1)); });
}

void FlightRecorder::step(std::string_view name) {
  enter([&](Layout& layout) {
    layout.steps.fetch_add(1, relaxed);
    begin_step(layout, name);
  });
}

void FlightRecorder::iteration(std::uint64_t index) {
  enter([&](Layout& layout) { layout.iteration.store(index, relaxed); });
}

void FlightRecorder::peer(int rank) {
  enter([&](Layout& layout) { layout.peer.store(rank, relaxed); });
}

void FlightRecorder::child_group(int process_group) {
  enter([&](Layout& layout) { layout.child_group.store(process_group, relaxed); });
}

void FlightRecorder::stamp_signals() {
  if (is_ours()) start_stamping(layout_);
}

void FlightRecorder::note_shared_memory() {
  const auto maps = read_file("/proc/self/maps");
  if (!maps) return;  // nothing to remove after us, then
  std::set<std::string, std::less<>> names;
  for (const std::string_view line : lines(*maps)) {
    constexpr std::string_view folder = " /dev/shm/";
    const std::size_t at = line.find(folder);
    if (at == std::string_view::npos) continue;
    const std::string_view name = line.substr(at + folder.size());
    const bool is_removed = name.find(" (deleted)") != std::string_view::npos;
    const bool is_recorder = name.substr(0, 7) == "muster-";
    // Longer paths lie in folders that something else looks after.
    if (!is_removed && !is_recorder && name.size() < Layout::shared_words * 8) names.emplace(name);
  }
  expect_shared_memory({names.begin(), names.end()});
}

void FlightRecorder::own_shared_folder(const std::string& name) {
  shared_folder_ = name;
  expect_shared_memory({});
}

void FlightRecorder::expect_shared_memory(const std::vector<std::string>& names) {
  enter([&](Layout& layout) {
    std::uint32_t count = 0;
    if (!shared_folder_.empty()) store_text(layout.shared[count++], shared_folder_);
    for (const std::string& name : names)
      if (count < Layout::most_shared) store_text(layout.shared[count++], name);
    layout.shared_count.store(count, relaxed);
  });
}

}  // namespace muster
