// Stands in for libnccl.so.2 and librccl.so.1: ranks are processes of one machine (also where it plays several hosts)
// that meet in a file which all have mapped; memory of a device is memory of its process. What is enqueued is done
// while somebody waits for the stream, as with the runtime's stand-in below, which has to be loaded.
//
// Lines of the sheet beside those of sheet.hpp:
//   corrupt_allreduce RANK          a bit in the middle of each of its sums is wrong
//   set all nccl_version CODE       22105 without it
//   set all nccl_network NAME       between hosts: IB (without it), Socket, AWS Libfabric
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <sched.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "nccl_sums.hpp"
#include "sheet.hpp"

#define CALL(name, ...) extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__)

namespace {

constexpr int unhandled_cuda = 1;
constexpr int system_error = 2;
constexpr int invalid_argument = 4;
constexpr int invalid_usage = 5;
constexpr int remote_error = 6;

constexpr std::size_t most_ranks = 32;
constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr std::size_t ring = std::size_t{128} << 10;
using Counter = std::atomic<std::uint64_t>;

struct Channel {
  Counter written, read;
  std::byte data[ring];
};

struct Meeting {
  std::atomic<int> arrived, joined, failed;
  char hosts[most_ranks][64];
  int devices[most_ranks];
  Counter posted[most_ranks], summed[most_ranks], done[most_ranks];
  std::byte areas[most_ranks][chunk];
  std::byte result[chunk];
  Channel channels[most_ranks][most_ranks];  ///< from, to
};

/// One communicator of this process.
struct Rank {
  Meeting* meeting = nullptr;
  int rank = 0;
  int ranks = 1;
  std::uint64_t chunks = 0;  ///< summed so far
  bool is_aborted = false;
};

std::string last_error;

int failed(int code, const std::string& words) {
  last_error = words;
  return code;
}

const char* runtime_name() {
#ifdef FAKE_RCCL
  return "libamdhip64.so.6";
#else
  return "libcuda.so.1";
#endif
}

void* runtime_symbol(const char* name) {
  const char* folder = std::getenv("MUSTER_DRIVERS");
  const std::string path = std::string(folder == nullptr ? "." : folder) + "/" + runtime_name();
  static void* const runtime = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : ::dlsym(runtime, name);
}

/// Number in the sheet of the calling thread's device.
int current() {
  static auto* const ask = reinterpret_cast<int (*)()>(runtime_symbol("stand_in_current"));
  return ask == nullptr ? -1 : ask();
}

using Work = bool (*)(void*);
bool enqueue(void* stream, Work work, void* state) {
  static auto* const hold = reinterpret_cast<void (*)(void*, Work, void*)>(runtime_symbol("stand_in_hold"));
  if (hold == nullptr) return false;
  hold(stream, work, state);
  return true;
}

bool all_reached(const Counter (&counters)[most_ranks], int ranks, std::uint64_t goal) {
  return std::all_of(counters, counters + ranks, [&](const Counter& one) { return one.load() >= goal; });
}

struct Sum {
  Rank* rank;
  const std::byte* in;
  std::byte* out;
  std::size_t bytes;
  int type;
  std::size_t at = 0;
  int stage = 0;

  /// Each rank adds up its share of a chunk. False: others are not that far.
  bool one_chunk() {
    Meeting& meeting = *rank->meeting;
    const std::size_t length = std::min(chunk, bytes - at);
    const std::size_t elements = length / fake::size_of(type);
    const auto me = static_cast<std::size_t>(rank->rank);
    const auto all = static_cast<std::size_t>(rank->ranks);
    if (stage == 0) {
      if (!all_reached(meeting.done, rank->ranks, rank->chunks)) return false;
      std::memcpy(meeting.areas[me], in + at, length);
      meeting.posted[me] = rank->chunks + 1;
      stage = 1;
    }
    if (stage == 1) {
      if (!all_reached(meeting.posted, rank->ranks, rank->chunks + 1)) return false;
      const std::size_t first = elements * me / all;
      const std::size_t last = elements * (me + 1) / all;
      const std::byte* areas[most_ranks];
      for (int i = 0; i < rank->ranks; ++i) areas[i] = meeting.areas[i];
      fake::add_up(type, std::span(areas).first(all), meeting.result, first, last);
      meeting.summed[me] = rank->chunks + 1;
      stage = 2;
    }
    if (!all_reached(meeting.summed, rank->ranks, rank->chunks + 1)) return false;
    std::memcpy(out + at, meeting.result, length);
    meeting.done[me] = ++rank->chunks;
    stage = 0;
    at += length;
    return true;
  }

  bool go_on() {
    if (rank->is_aborted) return true;
    while (at < bytes)
      if (!one_chunk()) return false;
    for (const auto& [words] : fake::Sheet::here().lines)
      if (bytes > 0 && words.size() >= 2 && words[0] == "corrupt_allreduce" &&
          std::atoi(words[1].c_str()) == rank->rank)
        out[bytes / 2] ^= std::byte{0x10};
    return true;
  }
};

struct Message {
  Rank* rank;
  int peer;
  bool is_send;
  std::byte* memory;
  std::size_t bytes;
  void* stream;
  std::size_t at = 0;

  bool go_on() {
    const auto me = static_cast<std::size_t>(rank->rank);
    const auto other = static_cast<std::size_t>(peer);
    Channel& channel = is_send ? rank->meeting->channels[me][other] : rank->meeting->channels[other][me];
    while (at < bytes) {
      const std::uint64_t written = channel.written.load();
      const std::uint64_t read = channel.read.load();
      const std::uint64_t from = is_send ? written : read;
      const std::uint64_t able = is_send ? ring - (written - read) : written - read;
      const std::size_t length = std::min<std::size_t>({bytes - at, able, ring - from % ring});
      if (length == 0) return false;
      if (is_send)
        std::memcpy(channel.data + from % ring, memory + at, length);
      else
        std::memcpy(memory + at, channel.data + from % ring, length);
      (is_send ? channel.written : channel.read) = from + length;
      at += length;
    }
    return true;
  }
};

/// Messages that go on side by side; those of one peer and direction in their order.
struct Group {
  std::vector<Message> messages;

  bool go_on() {
    std::map<std::pair<int, bool>, bool> is_blocked;
    bool is_done = true;
    for (Message& message : messages) {
      if (message.rank->is_aborted) continue;
      bool& blocked = is_blocked[{message.peer, message.is_send}];
      blocked = blocked || !message.go_on();
      is_done = is_done && !blocked;
    }
    return is_done;
  }
};

template <class T>
bool go_on_and_free(void* state) {
  auto* work = static_cast<T*>(state);
  if (!work->go_on()) return false;
  delete work;
  return true;
}

template <class T>
int start(void* stream, T* work) {
  if (enqueue(stream, go_on_and_free<T>, work)) return 0;
  delete work;
  return failed(unhandled_cuda, std::string("no ") + runtime_name() + " in this process");
}

int group_depth = 0;
Group group;

int end_group() {
  if (--group_depth > 0 || group.messages.empty()) return 0;
  void* stream = group.messages[0].stream;
  auto* whole = new Group(std::move(group));
  group.messages.clear();
  return start(stream, whole);
}

int add_message(const Message& message) {
  if (message.peer < 0 || message.peer >= message.rank->ranks) return failed(invalid_argument, "no such peer");
  ++group_depth;
  group.messages.push_back(message);
  return end_group();
}

/// Lines as the real library writes them.
std::FILE* log() {
  static std::FILE* const file = [] {
    const char* level = std::getenv("NCCL_DEBUG");
    const char* path = std::getenv("NCCL_DEBUG_FILE");
    return level == nullptr || path == nullptr || std::string(level) != "INFO" ? nullptr : std::fopen(path, "w");
  }();
  return file;
}

template <class... Args>
void say(int device, const char* format, Args... args) {
  if (log() == nullptr) return;
  std::fprintf(log(), "%s:%d:%d [%d] NCCL INFO ", fake::Sheet::here().host.c_str(), ::getpid(), ::getpid(), device);
  std::fprintf(log(), format, args...);
  std::fprintf(log(), "\n");
  std::fflush(log());
}

std::string way_between(const Meeting& meeting, int from, int to) {
  if (std::strcmp(meeting.hosts[from], meeting.hosts[to]) == 0) {
    const auto& devices = fake::Sheet::here().devices;
    const auto device = static_cast<std::size_t>(std::max(meeting.devices[from], 0));
    const bool can = device >= devices.size() || devices[device].text("peers") != "no";
    return can ? "P2P/CUMEM" : "SHM/direct/direct";
  }
  const std::string network = fake::Sheet::here().text("nccl_network", "IB");
  return "NET/" + network + "/0" + (network == "Socket" ? "" : "/GDRDMA");
}

void tell_connections(const Rank& rank) {
  const Meeting& meeting = *rank.meeting;
  const int device = meeting.devices[rank.rank];
  say(device, "Using network %s", fake::Sheet::here().text("nccl_network", "IB").c_str());
  const int next = (rank.rank + 1) % rank.ranks;
  const int before = (rank.rank + rank.ranks - 1) % rank.ranks;
  if (rank.ranks == 1) return;
  if (const std::string way = way_between(meeting, before, rank.rank); way.rfind("NET", 0) == 0)
    say(device, "Channel 00/0 : %d[%d] -> %d[%d] [receive] via %s", before, meeting.devices[before], rank.rank, device,
        way.c_str());
  const std::string way = way_between(meeting, rank.rank, next);
  say(device, "Channel 00/0 : %d[%d] -> %d[%d]%s via %s", rank.rank, device, next, meeting.devices[next],
      way.rfind("NET", 0) == 0 ? " [send]" : "", way.c_str());
  say(device, "Connected all rings");
}

/// A file that all hosts see: in the machine's folder.
std::string new_path() {
  static int number = 0;
  const char* machine = std::getenv("MUSTER_MACHINE");
  char resolved[4096];
  std::string folder = machine == nullptr || ::realpath(machine, resolved) == nullptr ? "/tmp" : resolved;
  std::string name = "/nccl-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
  if (folder.size() + name.size() > 120) folder = "/tmp";
  return folder + name;
}

Meeting* map_file(const char* path) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Meeting*>(memory);
}

/// Two ranks of a host on one device are what the library refuses.
bool has_twins(const Meeting& meeting, int ranks) {
  for (int i = 0; i < ranks; ++i)
    for (int k = 0; k < i; ++k)
      if (meeting.devices[i] == meeting.devices[k] && std::strcmp(meeting.hosts[i], meeting.hosts[k]) == 0) return true;
  return false;
}

}  // namespace

struct Id {
  char bytes[128];
};

CALL(ncclGetVersion, int* version) {
  if (const int code = fake::entered("ncclGetVersion"); code != 0) return code;
  *version = std::atoi(fake::Sheet::here().text("nccl_version", "22105").c_str());
  return 0;
}
extern "C" __attribute__((visibility("default"))) const char* ncclGetErrorString(int code) {
  constexpr const char* words[] = {"no error",
                                   "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                   "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                   "internal error - please report this issue to the NCCL developers",
                                   "invalid argument (run with NCCL_DEBUG=WARN for details)",
                                   "invalid usage (run with NCCL_DEBUG=WARN for details)",
                                   "remote process exited or there was a network error",
                                   "NCCL operation in progress"};
  return code >= 0 && code < 8 ? words[code] : "unknown result code";
}
extern "C" __attribute__((visibility("default"))) const char* ncclGetLastError(void*) {
  return last_error.c_str();
}
CALL(ncclGetUniqueId, Id* id) {
  if (const int code = fake::entered("ncclGetUniqueId"); code != 0) return failed(code, "told to fail");
  const std::string path = new_path();
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return failed(system_error, "can't make " + path);
  const bool is_whole = ::ftruncate(file, sizeof(Meeting)) == 0;
  ::close(file);
  if (!is_whole) return failed(system_error, "can't write " + path);
  std::snprintf(id->bytes, sizeof id->bytes, "%s", path.c_str());
  return 0;
}
CALL(ncclCommInitRank, void** comm, int ranks, Id id, int number) {
  if (ranks < 1 || ranks > static_cast<int>(most_ranks) || number >= ranks)
    return failed(invalid_argument, "so many ranks are too many");
  auto* rank = new Rank{map_file(id.bytes), number, ranks};
  if (rank->meeting == nullptr) return failed(system_error, "the other ranks can't be reached");
  Meeting& meeting = *rank->meeting;
  // Whoever comes last needs the name no more; one that failed before must leave it to him.
  if (++meeting.arrived == ranks) ::unlink(id.bytes);
  if (const int code = fake::entered("ncclCommInitRank", current()); code != 0) {
    meeting.failed = 1;
    return failed(code, "told to fail");
  }
  std::snprintf(meeting.hosts[number], sizeof meeting.hosts[number], "%s", fake::Sheet::here().host.c_str());
  meeting.devices[number] = current();
  ++meeting.joined;
  const std::time_t begun = std::time(nullptr);
  while (meeting.joined.load() < ranks) {
    if (meeting.failed.load() != 0 || std::time(nullptr) - begun > 120)
      return failed(remote_error, "a peer did not come");
    ::sched_yield();
  }
  if (has_twins(meeting, ranks)) return failed(invalid_usage, "Duplicate GPU detected");
  tell_connections(*rank);
  *comm = rank;
  return 0;
}
CALL(ncclCommGetAsyncError, void*, int* code) {
  *code = fake::entered("ncclCommGetAsyncError", current());
  return 0;
}
CALL(ncclCommAbort, void* comm) {
  static_cast<Rank*>(comm)->is_aborted = true;
  return fake::entered("ncclCommAbort", current());
}
CALL(ncclCommDestroy, void* comm) {
  if (const int code = fake::entered("ncclCommDestroy", current()); code != 0) return code;
  auto* rank = static_cast<Rank*>(comm);
  ::munmap(rank->meeting, sizeof(Meeting));
  delete rank;
  return 0;
}
CALL(ncclAllReduce, const void* in, void* out, std::size_t count, int type, int, void* comm, void* stream) {
  if (const int code = fake::entered("ncclAllReduce", current()); code != 0) return failed(code, "told to fail");
  if (fake::size_of(type) == 0) return failed(invalid_argument, "no such type");
  return start(stream, new Sum{static_cast<Rank*>(comm), static_cast<const std::byte*>(in),
                               static_cast<std::byte*>(out), count * fake::size_of(type), type});
}
CALL(ncclSend, const void* memory, std::size_t count, int type, int peer, void* comm, void* stream) {
  if (const int code = fake::entered("ncclSend", current()); code != 0) return failed(code, "told to fail");
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(memory));
  return add_message({static_cast<Rank*>(comm), peer, true, bytes, count * fake::size_of(type), stream});
}
CALL(ncclRecv, void* memory, std::size_t count, int type, int peer, void* comm, void* stream) {
  if (const int code = fake::entered("ncclRecv", current()); code != 0) return failed(code, "told to fail");
  return add_message(
      {static_cast<Rank*>(comm), peer, false, static_cast<std::byte*>(memory), count * fake::size_of(type), stream});
}
CALL(ncclGroupStart) {
  ++group_depth;
  return 0;
}
CALL(ncclGroupEnd) {
  return end_group();
}
