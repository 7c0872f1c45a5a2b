// Stands in for libnccl.so.2 and librccl.so.1: ranks are processes of one machine (also where it plays several hosts)
// that meet in a file which all have mapped; memory of a device is memory of its process. What is enqueued is done
// while a thread waits for the stream, as with the runtime's stand-in below, which has to be loaded.
//
// Lines of the sheet beside those of sheet.hpp:
//   corrupt_allreduce RANK          a bit in the middle of each of its sums is wrong
//   set all nccl_version CODE       22105 without it
//   set all nccl_network NAME       between hosts: IB (without it), Socket, AWS Libfabric
//   set all nccl_notices yes        who is left behind by a rank that gave up gets ncclRemoteError; else it waits
//   stall CALL RANK                 ncclCommInitRankConfig of that rank never gets further
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "nccl_work.hpp"

#define CALL(name, ...) extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__)

namespace {

#ifdef OLD_NCCL
constexpr const char* own_version = "2804";
#else
constexpr const char* own_version = "22105";
#endif

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

void report_connections(const Rank& rank) {
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

}  // namespace

struct Id {
  char bytes[128];
};

CALL(ncclGetVersion, int* version) {
  if (const int code = fake::entered("ncclGetVersion"); code != 0) return code;
  *version = std::atoi(fake::Sheet::here().text("nccl_version", own_version).c_str());
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
#ifndef OLD_NCCL
extern "C" __attribute__((visibility("default"))) const char* ncclGetLastError(void*) {
  return last_error.c_str();
}
#endif
CALL(ncclGetUniqueId, Id* id) {
  if (const int code = fake::entered("ncclGetUniqueId"); code != 0) return failed(code, "fails by order");
  const std::string path = new_path();
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return failed(system_error, "can't make " + path);
  const bool is_whole = ::ftruncate(file, sizeof(Meeting)) == 0;
  ::close(file);
  if (!is_whole) return failed(system_error, "can't write " + path);
  std::snprintf(id->bytes, sizeof id->bytes, "%s", path.c_str());
  return 0;
}
namespace {

bool is_asked_to_stall(std::string_view call, int rank) {
  const auto& lines = fake::Sheet::here().lines;
  return std::any_of(lines.begin(), lines.end(), [&](const fake::Line& line) {
    return line.words.size() >= 3 && line.words[0] == "stall" && line.words[1] == call &&
           std::atoi(line.words[2].c_str()) == rank;
  });
}

/// Comes to the meeting, or fails to. `comm` is there from now on.
int come(const char* call, void** comm, int ranks, const Id& id, int number, bool is_blocking) {
  if (ranks < 1 || ranks > static_cast<int>(most_ranks) || number >= ranks)
    return failed(invalid_argument, "so many ranks are too many");
  auto* rank = new Rank;
  rank->meeting = map_file(id.bytes);
  rank->rank = number;
  rank->ranks = ranks;
  if (rank->meeting == nullptr) return failed(system_error, "the other ranks can't be reached");
  Meeting& meeting = *rank->meeting;
  rank->is_blocking = is_blocking;
  *comm = rank;
  // The last one no longer needs the name; one that failed before must leave it.
  if (++meeting.arrived == ranks) ::unlink(id.bytes);
  if (const int code = fake::entered(call, current()); code != 0) {
    meeting.failed = 1;
    return failed(code, "fails by order");
  }
  std::snprintf(meeting.hosts[number], sizeof meeting.hosts[number], "%s", fake::Sheet::here().host.c_str());
  meeting.devices[number] = current();
  if (!is_asked_to_stall(call, number)) ++meeting.joined;
  return 0;
}

/// 0 when all have come.
int look_for_all(Rank& rank) {
  Meeting& meeting = *rank.meeting;
  if (meeting.joined.load() < rank.ranks)
    return meeting.failed.load() != 0 ? failed(remote_error, "a peer did not come") : in_progress;
  if (has_twins(meeting, rank.ranks)) return failed(invalid_usage, "Duplicate GPU detected");
  if (!rank.is_made) report_connections(rank);
  rank.is_made = true;
  return 0;
}

bool may_block() {
  const char* blocking = std::getenv("NCCL_COMM_BLOCKING");
  return blocking == nullptr || std::string(blocking) != "0";
}

}  // namespace

CALL(ncclCommInitRank, void** comm, int ranks, Id id, int number) {
  if (const int code = come("ncclCommInitRank", comm, ranks, id, number, may_block()); code != 0) return code;
  auto& rank = *static_cast<Rank*>(*comm);
  if (!rank.is_blocking) return in_progress;
  const std::time_t begun = std::time(nullptr);
  for (;;) {
    const int code = look_for_all(rank);
    if (code != in_progress) return code;
    if (std::time(nullptr) - begun > 120) return failed(remote_error, "a peer did not come");
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}
#ifndef OLD_NCCL
struct Config {
  std::size_t size;
  unsigned magic, version;
  int blocking;
};
CALL(ncclCommInitRankConfig, void** comm, int ranks, Id id, int number, Config* config) {
  if (config->size < sizeof(Config) || config->magic != 0xcafebeef || config->version < 21400)
    return failed(invalid_argument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  const int code = come("ncclCommInitRankConfig", comm, ranks, id, number, config->blocking != 0);
  return code != 0 ? code : in_progress;
}
CALL(ncclCommFinalize, void* comm) {
  if (const int code = fake::entered("ncclCommFinalize", current()); code != 0) return failed(code, "fails by order");
  auto& rank = *static_cast<Rank*>(comm);
  if (rank.is_blocking) return 0;
  rank.asked = 3;
  rank.under_way = [] { return 0; };
  return in_progress;
}
#endif
CALL(ncclCommGetAsyncError, void* comm, int* code) {
  auto& rank = *static_cast<Rank*>(comm);
  *code = fake::entered("ncclCommGetAsyncError", current());
  if (*code == 0 && !rank.is_made) *code = look_for_all(rank);
  const bool has_notice = fake::Sheet::here().text("nccl_notices") == "yes" && rank.meeting->aborted.load() != 0;
  if (*code == 0 && has_notice) *code = failed(remote_error, "a peer closed its connection");
  if (*code != 0 || !rank.under_way) return 0;
  *code = in_progress;
  if (--rank.asked > 0) return 0;
  *code = rank.under_way();
  rank.under_way = nullptr;
  return 0;
}
CALL(ncclCommAbort, void* comm) {
  auto& rank = *static_cast<Rank*>(comm);
  rank.is_aborted = true;
  ++rank.meeting->aborted;
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
  if (const int code = fake::entered("ncclAllReduce", current()); code != 0) return failed(code, "fails by order");
  if (fake::size_of(type) == 0) return failed(invalid_argument, "no such type");
  auto* rank = static_cast<Rank*>(comm);
  return start_for(*rank, stream,
                   new Sum{rank, static_cast<const std::byte*>(in), static_cast<std::byte*>(out),
                           count * fake::size_of(type), type});
}
CALL(ncclSend, const void* memory, std::size_t count, int type, int peer, void* comm, void* stream) {
  if (const int code = fake::entered("ncclSend", current()); code != 0) return failed(code, "fails by order");
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(memory));
  return add_message({static_cast<Rank*>(comm), peer, true, bytes, count * fake::size_of(type), stream});
}
CALL(ncclRecv, void* memory, std::size_t count, int type, int peer, void* comm, void* stream) {
  if (const int code = fake::entered("ncclRecv", current()); code != 0) return failed(code, "fails by order");
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
