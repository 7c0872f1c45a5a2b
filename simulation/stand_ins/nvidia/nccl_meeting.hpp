/// Where ranks of the stand-in of NCCL meet: a file that all have mapped. Included by nccl.cpp alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "sheet.hpp"

namespace {

constexpr int unhandled_cuda = 1;
constexpr int system_error = 2;
constexpr int invalid_argument = 4;
constexpr int invalid_usage = 5;
constexpr int remote_error = 6;
constexpr int in_progress = 7;

constexpr std::size_t most_ranks = 32;
constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr std::size_t ring = std::size_t{128} << 10;
using Counter = std::atomic<std::uint64_t>;

struct Channel {
  Counter written, read;
  std::byte data[ring];
};

struct Meeting {
  std::atomic<int> arrived, joined, failed, aborted;
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
  bool is_blocking = true;
  bool is_made = false;
  int asked = 0;                   ///< remaining answers of `in progress`
  std::function<int()> under_way;  ///< what a call that does not block has left to do
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
