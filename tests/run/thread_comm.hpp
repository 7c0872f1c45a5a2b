/// A working Comm whose ranks are threads of this process.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
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

  void post(int from, int to, int tag, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    letters_[{from, to, tag}].emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  ByteVector take(int from, int to, int tag) {
    std::unique_lock lock(mutex_);
    auto& letters = letters_[{from, to, tag}];
    changed_.wait(lock, [&] { return !letters.empty(); });
    ByteVector first = std::move(letters.front());
    letters.pop_front();
    return first;
  }

  /// The world of the ranks of one group; whoever comes first makes it.
  std::shared_ptr<ThreadWorld> group_world(int group, int size) {
    const std::lock_guard lock(mutex_);
    auto& world = groups_[group];
    if (!world) world = std::make_shared<ThreadWorld>(size);
    return world;
  }

 private:
  std::mutex mutex_;
  std::map<int, std::shared_ptr<ThreadWorld>> groups_;
  std::map<std::tuple<int, int, int>, std::deque<ByteVector>> letters_;
  std::condition_variable changed_;
  std::vector<ByteVector> slots_;
  std::size_t inside_ = 0;
  bool is_leaving_ = false;
};

class ThreadComm final : public Comm {
 public:
  ThreadComm(ThreadWorld& world, int rank, int size) : world_(world), rank_(rank), size_(size) {}
  ThreadComm(std::shared_ptr<ThreadWorld> world, int rank, int size)
      : owned_(std::move(world)), world_(*owned_), rank_(rank), size_(size) {}

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

  Result<void> all_reduce_sum(SumType type, std::span<const std::byte> in, std::span<std::byte> out) override {
    if (size_of(type) == 2) return fail(ErrorKind::usage, "threads", "no such type");  // as MPI
    const auto all = exchange(in);
    if (!all) return tl::unexpected(all.error());
    std::fill(out.begin(), out.end(), std::byte{0});
    for (const ByteVector& one : *all) {
      if (type == SumType::int32) add<std::int32_t>(one, out);
      if (type == SumType::int64) add<std::int64_t>(one, out);
      if (type == SumType::float32) add<float>(one, out);
      if (type == SumType::float64) add<double>(one, out);
    }
    return {};
  }
  /// All of it happens at the start.
  Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                std::span<std::byte> out) override {
    struct Done final : PendingSum {
      Result<bool> test() override { return true; }
      Result<void> wait() override { return {}; }
    };
    if (auto summed = all_reduce_sum(type, in, out); !summed) return tl::unexpected(summed.error());
    return std::make_unique<Done>();
  }
  Result<void> send(std::span<const std::byte> bytes, int to, int tag) override {
    world_.post(rank_, to, tag, bytes);
    return {};
  }
  Result<void> receive(std::span<std::byte> bytes, int from, int tag) override {
    const ByteVector arrived = world_.take(from, rank_, tag);
    if (arrived.size() != bytes.size()) return fail(ErrorKind::system, "threads", "another length");
    std::copy(arrived.begin(), arrived.end(), bytes.begin());
    return {};
  }
  Result<void> ping_pong(const PairEnd& end, std::uint64_t start, int count) override {
    for (std::uint64_t i = start; i < start + static_cast<std::uint64_t>(count); ++i) {
      if (end.role == PairRole::first) world_.post(rank_, end.peer, -1, end.out.at(i));
      if (auto got = receive(end.in.at(i), end.peer, -1); !got) return got;
      if (end.role == PairRole::second) world_.post(rank_, end.peer, -1, end.out.at(i));
    }
    return {};
  }
  Result<void> stream(const PairEnd& end, const Stream& stream) override {
    const bool is_first = end.role == PairRole::first;
    const std::uint64_t messages = static_cast<std::uint64_t>(stream.window) * static_cast<std::uint64_t>(stream.count);
    for (std::uint64_t i = stream.start; i < stream.start + messages; ++i) {
      if (is_first || stream.both_ways) world_.post(rank_, end.peer, -1, end.out.at(i));
      if (is_first && !stream.both_ways) continue;
      if (auto got = receive(end.in.at(i), end.peer, -1); !got) return got;
    }
    return is_first ? receive({}, end.peer, -2) : send({}, end.peer, -2);
  }
  /// Once per group.
  Result<std::unique_ptr<Comm>> split(int group) override {
    const auto byte = static_cast<std::byte>(group);
    const auto all = exchange(std::span(&byte, 1));
    if (!all) return tl::unexpected(all.error());
    int rank = 0;
    int size = 0;
    for (int other = 0; other < size_; ++other) {
      if ((*all)[static_cast<std::size_t>(other)].at(0) != byte) continue;
      if (other == rank_) rank = size;
      ++size;
    }
    return std::make_unique<ThreadComm>(world_.group_world(group, size), rank, size);
  }

 private:
  template <class T>
  static void add(const ByteVector& bytes, std::span<std::byte> out) {
    for (std::size_t at = 0; at + sizeof(T) <= out.size(); at += sizeof(T)) {
      T mine{};
      T sum{};
      std::memcpy(&mine, bytes.data() + at, sizeof(T));
      std::memcpy(&sum, out.data() + at, sizeof(T));
      sum += mine;
      std::memcpy(out.data() + at, &sum, sizeof(T));
    }
  }

  Result<std::vector<ByteVector>> exchange(std::span<const std::byte> bytes) {
    if (calls_left-- <= 0) return fail(ErrorKind::system, "threads", "the call was made to fail");
    return world_.exchange(rank_, bytes);
  }

  std::shared_ptr<ThreadWorld> owned_;
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
