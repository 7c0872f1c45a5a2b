/// A working Comm whose ranks are threads of this process.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "muster/comm.hpp"

namespace muster {

/// What the ranks of one world share: everybody puts bytes down, waits for all, and takes what it needs.
class ThreadWorld {
 public:
  explicit ThreadWorld(int size) : slots_(static_cast<std::size_t>(size)) {}

  std::vector<ByteVector> exchange(int rank, std::span<const std::byte> bytes) {
    std::unique_lock lock(mutex_);
    // The former round must have been taken by all before a slot may be used again.
    changed_.wait(lock, [&] { return !is_leaving_; });
    slots_[static_cast<std::size_t>(rank)].assign(bytes.begin(), bytes.end());
    if (++inside_ == slots_.size()) {
      is_leaving_ = true;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return is_leaving_; });
    std::vector<ByteVector> all = slots_;
    if (--inside_ == 0) {
      is_leaving_ = false;
      changed_.notify_all();
    }
    return all;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ByteVector> slots_;
  std::size_t inside_ = 0;
  bool is_leaving_ = false;
};

class ThreadComm final : public Comm {
 public:
  ThreadComm(ThreadWorld& world, int rank, int size) : world_(world), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string library() const override { return "threads v1, of this process"; }

  /// After that many collective calls every further one fails.
  int calls_left = 1 << 30;

  Result<void> barrier() override {
    if (auto all = exchange({}); !all) return tl::unexpected(all.error());
    return {};
  }
  Result<ByteVector> broadcast(std::span<const std::byte> bytes, int root) override {
    auto all = exchange(bytes);
    if (!all) return tl::unexpected(all.error());
    return (*all)[static_cast<std::size_t>(root)];
  }
  Result<std::vector<ByteVector>> gather(std::span<const std::byte> bytes, int root) override {
    auto all = exchange(bytes);
    if (all && rank_ != root) all->clear();
    return all;
  }
  Result<std::vector<ByteVector>> all_gather(std::span<const std::byte> bytes) override { return exchange(bytes); }
  Result<bool> all_true(bool mine) override {
    const std::byte flag{mine ? std::uint8_t{1} : std::uint8_t{0}};
    const auto all = exchange(std::span(&flag, 1));
    if (!all) return tl::unexpected(all.error());
    for (const ByteVector& one : *all)
      if (one.at(0) == std::byte{0}) return false;
    return true;
  }

 private:
  Result<std::vector<ByteVector>> exchange(std::span<const std::byte> bytes) {
    if (calls_left-- <= 0) return fail(ErrorKind::system, "threads", "the call was made to fail");
    return world_.exchange(rank_, bytes);
  }

  ThreadWorld& world_;
  int rank_;
  int size_;
};

/// Runs `act` once per rank, each in a thread of its own, and waits for all.
inline void run_ranks(int size, const std::function<void(ThreadComm&)>& act) {
  ThreadWorld world(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadComm comm(world, rank, size);
      act(comm);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace muster
