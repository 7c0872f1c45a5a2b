#include "probes/memory_bandwidth/stream.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <system_error>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace muster::memory_bandwidth {

namespace {

constexpr std::size_t page_doubles = 4096 / sizeof(double);

/// Four doubles at once, also where the optimiser is off; a block of them is what a loop does between two looks at its
/// counter.
using Four [[gnu::vector_size(32), gnu::may_alias]] = double;
constexpr std::size_t block = 16;

// The empty asm keeps the compiler from turning the loop into memcpy, which may store past the caches: such stores
// would be counted as two transfers where plain ones make three (docs/methods/memory_bandwidth.md).
void copy(const double* from, double* to, std::size_t count) {
  for (std::size_t i = 0; i < count; i += block) {
    const auto* source = reinterpret_cast<const Four*>(from + i);
    auto* target = reinterpret_cast<Four*>(to + i);
    target[0] = source[0];
    target[1] = source[1];
    target[2] = source[2];
    target[3] = source[3];
    asm volatile("" ::: "memory");
  }
}

void triad(double* a, const double* b, const double* c, double scalar, std::size_t count) {
  for (std::size_t i = 0; i < count; i += block) {
    auto* sum = reinterpret_cast<Four*>(a + i);
    const auto* left = reinterpret_cast<const Four*>(b + i);
    const auto* right = reinterpret_cast<const Four*>(c + i);
    sum[0] = left[0] + scalar * right[0];
    sum[1] = left[1] + scalar * right[1];
    sum[2] = left[2] + scalar * right[2];
    sum[3] = left[3] + scalar * right[3];
    asm volatile("" ::: "memory");
  }
}

/// Small integers that differ from element to element, so that data that went astray is seen.
double p_of(std::size_t i) {
  return static_cast<double>(1 + ((i * 2654435761u) >> 13) % 251);
}
double q_of(std::size_t i) {
  return static_cast<double>(1 + ((i * 40503u) >> 7) % 241);
}

bool pin_this_thread(int cpu) {
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
  if (set == nullptr) return false;
  const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(size, set);
  CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  const bool is_pinned = ::pthread_setaffinity_np(::pthread_self(), size, set) == 0;
  CPU_FREE(set);
  return is_pinned;
}

}  // namespace

std::string_view to_string(Kernel kernel) {
  return kernel == Kernel::copy ? "copy" : "triad";
}

Result<Pages> Pages::map(std::size_t doubles) {
  const std::size_t bytes = doubles * sizeof(double);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(ErrorKind::system, "mapping " + format_bytes({bytes}), std::strerror(errno));
  Pages pages;
  pages.values_ = {static_cast<double*>(memory), doubles};
  return pages;
}

Pages::Pages(Pages&& other) noexcept : values_(std::exchange(other.values_, {})) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(values_, other.values_);
  return *this;
}

Pages::~Pages() {
  if (!values_.empty()) ::munmap(values_.data(), values_.size_bytes());
}

Result<std::unique_ptr<Stream>> Stream::start(const std::vector<Place>& places) {
  std::unique_ptr<Stream> stream(new Stream);
  if (auto mapped = stream->map(places); !mapped) return tl::unexpected(mapped.error());
  if (auto started = stream->start_threads(); !started) return tl::unexpected(started.error());
  return stream;
}

Result<void> Stream::map(const std::vector<Place>& places) {
  for (const Place& place : places) {
    const int domain = static_cast<int>(memory_.size());
    const std::vector<int> cpus = place.cpus.cpus();
    const std::size_t pages = std::max(place.bytes / sizeof(double) / page_doubles, cpus.size());
    Memory& memory = memory_.emplace_back();
    for (Pages& array : memory.arrays) {
      auto mapped = Pages::map(pages * page_doubles);
      if (!mapped) return tl::unexpected(mapped.error());
      array = std::move(*mapped);
    }
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
      worker.domain = domain;
      worker.cpu = cpus[i];
      worker.begin = pages * i / cpus.size() * page_doubles;
      worker.end = pages * (i + 1) / cpus.size() * page_doubles;
    }
  }
  return {};
}

Result<void> Stream::start_threads() {
  try {
    for (auto& worker : workers_) worker->thread = std::thread([this, &one = *worker] { serve(one); });
  } catch (const std::system_error& error) {
    return fail(ErrorKind::system, fmt::format("starting {} threads", workers_.size()), error.code().message());
  }
  order(Task::fill, everywhere);
  for (const auto& worker : workers_)
    if (!worker->is_pinned)
      return fail(ErrorKind::system, fmt::format("CPU {}", worker->cpu), "a thread can't be pinned to it");
  return {};
}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    task_ = Task::stop;
    ++orders_;
  }
  changed_.notify_all();
  for (auto& worker : workers_)
    if (worker->thread.joinable()) worker->thread.join();
}

void Stream::serve(Worker& worker) {
  worker.is_pinned = pin_this_thread(worker.cpu);
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return orders_ != done; });
    done = orders_;
    const Task task = task_;
    const bool is_mine = domain_ == everywhere || domain_ == worker.domain;
    if (task == Task::stop) return;
    if (!is_mine) continue;
    lock.unlock();
    act(worker, task);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

/// Waking many threads takes longer one after the other than a pass may: all wait for the last one.
void Stream::start_together() {
  ready_.fetch_add(1);
  for (int spins = 0; ready_.load() < active_; ++spins)
    if (spins > 10'000) std::this_thread::yield();
}

void Stream::act(Worker& worker, Task task) {
  Memory& memory = memory_[static_cast<std::size_t>(worker.domain)];
  double* a = memory.arrays[0].values().data() + worker.begin;
  double* b = memory.arrays[1].values().data() + worker.begin;
  double* c = memory.arrays[2].values().data() + worker.begin;
  const std::size_t count = worker.end - worker.begin;
  start_together();
  worker.began = monotonic_seconds();
  if (task == Task::copy) copy(a, c, count);
  if (task == Task::triad) triad(a, b, c, memory.scalar, count);
  if (task == Task::verify) worker.fault = find_fault(worker);
  for (std::size_t i = 0; task == Task::fill && i < count; ++i) {
    a[i] = p_of(worker.begin + i);
    b[i] = q_of(worker.begin + i);
    c[i] = 0;
  }
  worker.ended = monotonic_seconds();
}

void Stream::order(Task task, int domain) {
  std::unique_lock lock(mutex_);
  task_ = task;
  domain_ = domain;
  active_ = 0;
  for (const auto& worker : workers_) active_ += domain == everywhere || worker->domain == domain;
  busy_ = active_;
  ready_.store(0);
  ++orders_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return busy_ == 0; });
}

double Stream::pass(Kernel kernel, int domain) {
  const auto takes_part = [&](int one) { return domain == everywhere || domain == one; };
  for (int i = 0; i < static_cast<int>(memory_.size()); ++i) {
    if (!takes_part(i)) continue;
    auto& [arrays, mixes, scalar] = memory_[static_cast<std::size_t>(i)];
    // Another factor for every pass: a result that was left from an earlier one is wrong.
    scalar = scalar >= 15 ? 1 : scalar + 1;
    if (kernel == Kernel::copy) mixes[2] = mixes[0];
    if (kernel == Kernel::triad) mixes[0] = {mixes[1].p + scalar * mixes[2].p, mixes[1].q + scalar * mixes[2].q};
  }
  order(kernel == Kernel::copy ? Task::copy : Task::triad, domain);
  double began = 0;
  double ended = 0;
  bool is_first = true;
  for (const auto& worker : workers_) {
    if (!takes_part(worker->domain)) continue;
    began = is_first ? worker->began : std::min(began, worker->began);
    ended = is_first ? worker->ended : std::max(ended, worker->ended);
    is_first = false;
  }
  return ended - began;
}

std::size_t Stream::elements(int domain) const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < memory_.size(); ++i)
    if (domain == everywhere || static_cast<std::size_t>(domain) == i) sum += memory_[i].arrays[0].values().size();
  return sum;
}

std::optional<std::string> Stream::find_fault(const Worker& worker) const {
  const Memory& memory = memory_[static_cast<std::size_t>(worker.domain)];
  for (std::size_t which = 0; which < memory.arrays.size(); ++which) {
    const std::span<const double> values = memory.arrays[which].values();
    const Mix mix = memory.mixes[which];
    for (std::size_t i = worker.begin; i < worker.end; ++i) {
      const auto found = std::bit_cast<std::uint64_t>(values[i]);
      const auto right = std::bit_cast<std::uint64_t>(mix.p * p_of(i) + mix.q * q_of(i));
      if (found == right) continue;
      return fmt::format("element {} of array {} is {} instead of {} (bits {:#x} differ, CPU {})", i, "abc"[which],
                         values[i], std::bit_cast<double>(right), found ^ right, worker.cpu);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Stream::verify() {
  order(Task::verify, everywhere);
  for (const auto& worker : workers_)
    if (worker->fault) return worker->fault;
  return std::nullopt;
}

std::span<double> Stream::array(int domain, int which) const {
  return memory_[static_cast<std::size_t>(domain)].arrays[static_cast<std::size_t>(which)].values();
}

}  // namespace muster::memory_bandwidth
