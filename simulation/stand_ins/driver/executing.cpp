#include "executing.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <sched.h>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <thread>

#include "corruption.hpp"
#include "sheet.hpp"

namespace fake {

using Word = std::uint64_t;

struct Stream {
  int device = 0;
  double now = 0;
  std::deque<std::function<bool()>> waiting;  ///< each is asked until it is done
  bool is_running = false;                    ///< one of them is being asked
};

struct Event {
  std::uint64_t recorded = 0;  ///< how often it was enqueued
  std::uint64_t happened = 0;  ///< the last of these that was reached
  double at = 0;
  Stream* on = nullptr;  ///< where it was enqueued last
  [[nodiscard]] bool has_happened() const { return recorded != 0 && happened == recorded; }
};

namespace {

constexpr std::size_t arena_bytes = std::size_t{1} << 30;
constexpr double host_rate = 25e9;    // each way, with 16 lanes
constexpr double memory_rate = 2e12;  // reads and writes together
constexpr double peer_rate = 200e9;

struct Arena {
  std::byte* base = nullptr;
  std::map<std::size_t, std::size_t> used;  ///< offset -> bytes
  int copies = 0;                           ///< into it
};

/// Of all that follows. A thread that waits for another releases it.
std::recursive_mutex& everything() {
  static std::recursive_mutex mutex;
  return mutex;
}
using Lock = std::lock_guard<std::recursive_mutex>;

std::map<int, Arena>& arenas() {
  static std::map<int, Arena> all;
  return all;
}

std::set<Stream*>& streams() {
  static std::set<Stream*> all;
  return all;
}

/// As the runtimes do before they give anything back.
void finish_all() {
  const auto all = [] {
    const Lock lock(everything());
    return streams();
  }();
  for (Stream* stream : all) finish(stream);
}

thread_local int current_device = 0;

Arena& arena_of(int device) {
  Arena& arena = arenas()[device];
  if (arena.base == nullptr) {
    void* memory =
        ::mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    arena.base = static_cast<std::byte*>(memory);
  }
  return arena;
}

/// -1: host memory.
int owner_of(const void* memory) {
  const auto* at = static_cast<const std::byte*>(memory);
  for (const auto& [device, arena] : arenas())
    if (at >= arena.base && at < arena.base + arena_bytes) return device;
  return -1;
}

const SheetDevice& sheet_of(int device) {
  return Sheet::here().devices.at(static_cast<std::size_t>(device));
}

double slowness(int device) {
  return device < 0 ? 1 : sheet_of(device).number("slow", 1);
}

/// Seconds of moving so many bytes.
double cost(const void* to, const void* from, std::size_t bytes) {
  const int a = owner_of(to);
  const int b = owner_of(from);
  // With a factor below 1 it is what takes no time.
  const double fast = std::min(slowness(a), slowness(b));
  const double slow = fast < 1 ? fast : std::max(slowness(a), slowness(b));
  double rate = peer_rate;
  if (a == b) rate = memory_rate / 2;
  if ((a < 0) != (b < 0)) rate = host_rate * sheet_of(std::max(a, b)).lanes / 16;
  return static_cast<double>(bytes) * slow / rate;
}

void corrupt(void* to, std::size_t bytes) {
  const int device = owner_of(to);
  if (device < 0 || bytes == 0) return;
  const int number = ++arena_of(device).copies;
  for (const auto& [words] : Sheet::here().lines)
    if (words.size() >= 2 && words[0] == "corrupt_copy" && std::atoi(words[1].c_str()) == device &&
        is_wrong_one(words, number))
      spoil(words, to, bytes);
}

void gate(void** arguments, Stream* stream) {
  auto* flags = argument<volatile unsigned*>(arguments, 0);
  add(stream, [flags] {
    // Who is to open it waits for us.
    if (flags[0] == 0) flags[1] = 1;
  });
}

void copy_kernel(void** arguments, Stream* stream) {
  copy(argument<void*>(arguments, 1), argument<void*>(arguments, 0), argument<Word>(arguments, 2) * 16, stream);
}

void fill(void** arguments, Stream* stream) {
  auto* memory = argument<Word*>(arguments, 0);
  const Word count = argument<Word>(arguments, 1);
  const int kind = argument<int>(arguments, 2);
  const Word seed = argument<Word>(arguments, 3);
  add(stream, [=] {
    for (Word i = 0; i < count; ++i) memory[i] = value_of(kind, seed, i);
    apply_memory_faults(memory, count * 8);
    took(stream, count * 8);
  });
}

void check(void** arguments, Stream* stream) {
  auto* memory = argument<Word*>(arguments, 0);
  const Word count = argument<Word>(arguments, 1);
  const int kind = argument<int>(arguments, 2);
  const Word seed = argument<Word>(arguments, 3);
  const Word flip = argument<Word>(arguments, 4);
  const int inverts = argument<int>(arguments, 5);
  auto* report = argument<Word*>(arguments, 6);
  add(stream, [=] {
    for (Word i = 0; i < count; ++i) {
      const Word expected = value_of(kind, seed, i) ^ flip;
      const Word found = memory[i];
      if (inverts != 0) memory[i] = ~expected;
      if (found == expected) continue;
      const Word before = report[0]++;
      if (before >= 20) continue;
      report[1 + 3 * before] = i;
      report[2 + 3 * before] = expected;
      report[3 + 3 * before] = found;
    }
    report[61] += count;
    if (inverts != 0) apply_memory_faults(memory, count * 8);
    took(stream, inverts != 0 ? count * 16 : count * 8);
  });
}

std::deque<Kernel>& kernels() {
  static std::deque<Kernel> all;
  return all;
}

/// Numbers of a list such as `0,2`; what is not a number ends it, as the runtimes have it.
std::vector<Seen> chosen(std::vector<Seen> all, const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return all;
  std::vector<Seen> some;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    char* end = nullptr;
    const auto index = std::strtoul(word.c_str(), &end, 10);
    if (end == word.c_str() || index >= all.size()) break;
    some.push_back(all[index]);
  }
  return some;
}

std::vector<Seen> find_visible(const std::string& vendor) {
  std::vector<Seen> all;
  const Sheet& sheet = Sheet::here();
  if (sheet.vendor != vendor) return all;
  for (std::size_t i = 0; i < sheet.devices.size(); ++i)
    for (int part = 0; !sheet.devices[i].is_lost && part < std::max(1, sheet.devices[i].partitions); ++part)
      all.push_back({static_cast<int>(i), part});
  if (vendor == "nvidia") return chosen(all, "CUDA_VISIBLE_DEVICES");
  return chosen(chosen(all, "ROCR_VISIBLE_DEVICES"), "HIP_VISIBLE_DEVICES");
}

/// As the runtimes have it: the launch returns when the kernel has ended.
bool do_launches_wait() {
  const auto is = [](const char* variable, const char* value) {
    const char* text = std::getenv(variable);
    return text != nullptr && std::strcmp(text, value) == 0;
  };
  return is("CUDA_LAUNCH_BLOCKING", "1") || is("AMD_SERIALIZE_KERNEL", "3");
}

const AddKernels of_copies{
    {"muster_gate", gate}, {"muster_copy", copy_kernel}, {"muster_fill", fill}, {"muster_check", check}};

}  // namespace

AddKernels::AddKernels(std::initializer_list<Kernel> some) {
  kernels().insert(kernels().end(), some);
}

void add(Stream* stream, std::function<void()> what) {
  const Lock lock(everything());
  stream->waiting.emplace_back([what = std::move(what)] {
    what();
    return true;
  });
}

void apply_memory_faults(const void* memory, std::size_t bytes) {
  const int device = owner_of(memory);
  if (device < 0) return;
  Arena& arena = arena_of(device);
  const std::size_t begin = static_cast<std::size_t>(static_cast<const std::byte*>(memory) - arena.base);
  for (const auto& [words] : Sheet::here().lines) {
    if (words.size() < 4 || words[0] != "stuck_bit" || std::atoi(words[1].c_str()) != device) continue;
    const std::size_t offset = std::strtoull(words[2].c_str(), nullptr, 0);
    if (offset >= begin && offset < begin + bytes) arena.base[offset] |= std::byte(1U << std::atoi(words[3].c_str()));
  }
}

Word value_of(int kind, Word seed, Word i) {
  if (kind == 0) return seed;
  if (kind == 1) return seed + i * 8;
  Word x = seed + i + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

void took(Stream* stream, double seconds) {
  stream->now += seconds * slowness(stream->device);
}

void took(Stream* stream, Word bytes) {
  took(stream, static_cast<double>(bytes) / memory_rate);
}

int device_of(const Stream* stream) {
  return stream->device;
}

const std::vector<Seen>& visible(const char* vendor) {
  static const std::vector<Seen> devices = find_visible(vendor);
  return devices;
}

int current() {
  return current_device;
}

void set_current(int device) {
  current_device = device;
}

void* pin(std::size_t bytes) {
  void* memory = nullptr;
  return ::posix_memalign(&memory, 4096, bytes) == 0 ? memory : nullptr;
}

void unpin(void* memory) {
  finish_all();
  std::free(memory);
}

void* allocate(int device, std::size_t bytes) {
  const Lock lock(everything());
  Arena& arena = arena_of(device);
  const std::size_t size = (std::max<std::size_t>(bytes, 1) + 511) / 512 * 512;
  std::size_t at = 0;
  for (const auto& [offset, length] : arena.used) {
    if (offset - at >= size) break;
    at = offset + length;
  }
  if (at + size > arena_bytes) return nullptr;
  arena.used[at] = size;
  return arena.base + at;
}

bool release(void* memory) {
  finish_all();
  const Lock lock(everything());
  const int device = owner_of(memory);
  if (device < 0) return false;
  Arena& arena = arena_of(device);
  return arena.used.erase(static_cast<std::size_t>(static_cast<std::byte*>(memory) - arena.base)) == 1;
}

std::uint64_t free_memory(int device) {
  const Lock lock(everything());
  std::uint64_t used = 0;
  for (const auto& [offset, length] : arena_of(device).used) used += length;
  const std::uint64_t all = std::max<std::uint64_t>(Sheet::here().memory, arena_bytes);
  return all - std::min<std::uint64_t>(used, all);
}

bool can_reach(int from, int to) {
  return sheet_of(from).text("peers") != "no" && sheet_of(to).text("peers") != "no";
}

Stream* new_stream(int device) {
  auto* stream = new Stream;
  stream->device = device;
  const Lock lock(everything());
  streams().insert(stream);
  return stream;
}

void delete_stream(Stream* stream) {
  finish_all();
  const Lock lock(everything());
  streams().erase(stream);
  delete stream;
}

void finish(Stream* stream) {
  // A rank that waits for one that never comes leaves the core to others.
  constexpr int looks_awake = 1000;
  for (int looks = 0; !is_idle(stream); ++looks) {
    if (looks < looks_awake)
      ::sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

bool is_idle(Stream* stream) {
  const Lock lock(everything());
  if (streams().count(stream) == 0) return true;
  if (stream->is_running) return false;  // asked by a stream that this one waits for
  stream->is_running = true;
  while (!stream->waiting.empty() && stream->waiting.front()()) stream->waiting.pop_front();
  stream->is_running = false;
  return stream->waiting.empty();
}

void hold(Stream* stream, bool (*go_on)(void*), void* state) {
  const Lock lock(everything());
  stream->waiting.emplace_back([=] { return go_on(state); });
}

Event* new_event() {
  return new Event;
}

void delete_event(Event* event) {
  finish_all();
  delete event;
}

void record(Event* event, Stream* stream) {
  const Lock lock(everything());
  event->on = stream;
  add(stream, [event, stream, number = ++event->recorded] {
    event->happened = number;
    event->at = stream->now;
  });
}

void wait(Stream* stream, Event* event) {
  const Lock lock(everything());
  // What is enqueued later is not waited for: so streams can't wait for each other.
  stream->waiting.emplace_back([stream, event, on = event->on, number = event->recorded] {
    if (event->happened < number && !is_idle(on)) return false;
    if (number != 0) stream->now = std::max(stream->now, event->at);
    return true;
  });
}

float between(const Event* start, const Event* stop) {
  const Lock lock(everything());
  if (!start->has_happened() || !stop->has_happened()) return -1;
  return static_cast<float>((stop->at - start->at) * 1e3);
}

void copy(void* to, const void* from, std::size_t bytes, Stream* stream) {
  add(stream, [=] {
    std::memmove(to, from, bytes);
    corrupt(to, bytes);
    apply_memory_faults(to, bytes);
    stream->now += cost(to, from, bytes);
  });
}

void set32(void* memory, unsigned value, std::size_t count, Stream* stream) {
  add(stream, [=] {
    std::fill_n(static_cast<unsigned*>(memory), count, value);
    apply_memory_faults(memory, count * 4);
  });
}

Kernel* find_kernel(const char* name) {
  for (Kernel& kernel : kernels())
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  return nullptr;
}

bool launch(const Kernel* kernel, unsigned blocks, void** arguments, Stream* stream) {
  if (blocks == 0 || arguments == nullptr) return false;
  for (const auto& [words] : Sheet::here().lines)
    if (words.size() > 1 && words[0] == "idle_kernels" && (words[1] == "all" || words[1] == kernel->name)) return true;
  kernel->enqueue(arguments, stream);
  if (do_launches_wait()) finish(stream);
  return true;
}

}  // namespace fake

// What libraries on top of a runtime (NCCL, RCCL, cuBLAS, hipBLAS) ask of it.
extern "C" __attribute__((visibility("default"))) void stand_in_hold(void* stream, bool (*go_on)(void*), void* state) {
  fake::hold(static_cast<fake::Stream*>(stream), go_on, state);
}
extern "C" __attribute__((visibility("default"))) void stand_in_took(void* stream, double seconds) {
  fake::took(static_cast<fake::Stream*>(stream), seconds);
}
extern "C" __attribute__((visibility("default"))) int stand_in_current() {
  return fake::current();
}
