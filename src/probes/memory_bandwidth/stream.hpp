/// STREAM's copy and triad with one pinned thread per core. Counting and names: McCalpin, Memory Bandwidth and Machine
/// Balance in Current High Performance Computers, 1995.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu_mask.hpp"
#include "muster/result.hpp"

namespace muster::memory_bandwidth {

enum class Kernel : std::uint8_t {
  copy,   ///< c = a: 16 bytes per element
  triad,  ///< a = b + s c: 24 bytes per element
};

[[nodiscard]] std::string_view to_string(Kernel kernel);
[[nodiscard]] constexpr double bytes_per_element(Kernel kernel) {
  return kernel == Kernel::copy ? 16 : 24;
}

/// Untouched memory for doubles: its pages come from the domain of the thread that writes first.
class Pages {
 public:
  [[nodiscard]] static Result<Pages> map(std::size_t doubles);
  Pages() = default;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();
  [[nodiscard]] std::span<double> values() const { return values_; }

 private:
  std::span<double> values_;
};

/// Three arrays for each domain and a thread for each CPU. What the arrays hold is known at any time: elements begin as
/// small integers and every pass is a linear map of them, so doubles hold them exactly (for ten turns of copy
/// and triad, and any number of passes in each).
class Stream {
 public:
  struct Place {
    CpuMask cpus;           ///< a thread on each
    std::size_t bytes = 0;  ///< of one array; rounded down to whole pages, at least one per thread
  };
  static constexpr int everywhere = -1;

  /// Maps, starts the threads and lets each touch its part. Fails when memory or threads can't be had, or a
  /// thread can't be pinned.
  [[nodiscard]] static Result<std::unique_ptr<Stream>> start(const std::vector<Place>& places);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  /// Seconds of one pass over one domain, or all at once: from the first thread's start to the last one's end.
  double pass(Kernel kernel, int domain);
  /// Elements of one array of the domain, or of all.
  [[nodiscard]] std::size_t elements(int domain) const;
  /// Compares every element of every array, bit for bit, with what it must be. nullopt: all are right; else the first
  /// wrong one, in words.
  [[nodiscard]] std::optional<std::string> verify();
  /// Array 0 (a), 1 (b) or 2 (c) of a domain.
  [[nodiscard]] std::span<double> array(int domain, int which) const;

 private:
  enum class Task : std::uint8_t { fill, copy, triad, verify, stop };
  /// An element is p P(i) + q Q(i), P and Q being fixed small integers.
  struct Mix {
    double p = 0;
    double q = 0;
  };
  struct Memory {
    std::array<Pages, 3> arrays;
    std::array<Mix, 3> mixes{Mix{1, 0}, Mix{0, 1}, Mix{0, 0}};
    double scalar = 1;
  };
  struct Worker {
    std::thread thread;
    int domain = 0;
    int cpu = 0;
    std::size_t begin = 0;  ///< its elements of each array
    std::size_t end = 0;
    double began = 0;
    double ended = 0;
    bool is_pinned = false;
    std::optional<std::string> fault;
  };

  Stream() = default;
  Result<void> map(const std::vector<Place>& places);
  Result<void> start_threads();
  void serve(Worker& worker);
  void act(Worker& worker, Task task);
  void order(Task task, int domain);
  void start_together();
  [[nodiscard]] std::optional<std::string> find_fault(const Worker& worker) const;

  std::vector<Memory> memory_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t orders_ = 0;
  Task task_ = Task::fill;
  int domain_ = everywhere;
  std::size_t busy_ = 0;
  std::size_t active_ = 0;
  std::atomic<std::size_t> ready_{0};
};

}  // namespace muster::memory_bandwidth
