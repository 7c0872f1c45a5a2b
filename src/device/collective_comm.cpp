// NCCL or RCCL as a `Comm`: sums and messages on one stream.
#include "device/collective_comm.hpp"

namespace muster {

namespace {

constexpr int type_byte = 0;  // ncclInt8
constexpr int sum = 0;        // ncclSum

int type_code(SumType type) {
  if (type == SumType::int32) return 2;
  if (type == SumType::int64) return 4;
  if (type == SumType::float16) return 6;
  if (type == SumType::float32) return 7;
  if (type == SumType::bfloat16) return 9;
  return 8;
}

class DevicePendingSum final : public PendingSum {
 public:
  explicit DevicePendingSum(std::shared_ptr<CollectiveRank> rank) : rank_(std::move(rank)) {}
  DevicePendingSum(const DevicePendingSum&) = delete;
  DevicePendingSum& operator=(const DevicePendingSum&) = delete;
  ~DevicePendingSum() override { static_cast<void>(wait()); }
  // Of sums that were started later, too, which is late but not wrong.
  Result<bool> test() override { return rank_->look(); }
  Result<void> wait() override { return rank_->finish(rank_->table().all_reduce.name); }

 private:
  std::shared_ptr<CollectiveRank> rank_;
};

class CollectiveComm final : public DeviceComm {
 public:
  CollectiveComm(Comm& base, std::shared_ptr<CollectiveRank> rank, CollectiveCapture capture)
      : base_(base), rank_(std::move(rank)), capture_(capture) {}

  int rank() const override { return base_.rank(); }
  int size() const override { return base_.size(); }
  std::string library() const override { return rank_->table().label; }
  void abandon() override {
    static_cast<void>(
        rank_->give_up({ErrorKind::device, rank_->label(), "a rank will not come, and its sums were given up"}));
  }
  Connections connections() const override { return read_connections(capture_.text()); }

  Result<void> barrier() override { return base_.barrier(); }
  Result<ByteVector> broadcast(std::span<const std::byte> bytes, int root) override {
    return base_.broadcast(bytes, root);
  }
  Result<std::vector<ByteVector>> gather(std::span<const std::byte> bytes, int root) override {
    return base_.gather(bytes, root);
  }
  Result<std::vector<ByteVector>> all_gather(std::span<const std::byte> bytes) override {
    return base_.all_gather(bytes);
  }
  Result<bool> all_true(bool mine) override { return base_.all_true(mine); }
  Result<std::unique_ptr<Comm>> split(int group) override { return base_.split(group); }

  Result<void> all_reduce_sum(SumType type, std::span<const std::byte> in, std::span<std::byte> out) override {
    if (auto started = reduce(type, in, out); !started) return started;
    return rank_->finish(table().all_reduce.name);
  }
  Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                std::span<std::byte> out) override {
    if (auto started = reduce(type, in, out); !started) return tl::unexpected(started.error());
    return std::make_unique<DevicePendingSum>(rank_);
  }

  Result<void> send(std::span<const std::byte> bytes, int to, int) override {
    if (auto started = put(bytes.data(), bytes.size(), to); !started) return started;
    return rank_->finish(table().send.name);
  }
  Result<void> receive(std::span<std::byte> bytes, int from, int) override {
    if (auto started = get(bytes.data(), bytes.size(), from); !started) return started;
    return rank_->finish(table().receive.name);
  }

  /// The stream keeps the order, so several go on it before anybody waits: as many as its queue surely takes.
  Result<void> ping_pong(const PairEnd& end, std::uint64_t start, int count) override {
    constexpr int most_queued = 32;
    const bool is_first = end.role == PairRole::first;
    const char* name = is_first ? table().receive.name : table().send.name;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t slot = start + static_cast<std::uint64_t>(i);
      if (is_first)
        if (auto sent = put(end, slot); !sent) return sent;
      if (auto got = get(end, slot); !got) return got;
      if (!is_first)
        if (auto sent = put(end, slot); !sent) return sent;
      if (i % most_queued == most_queued - 1)
        if (auto done = rank_->finish(name); !done) return done;
    }
    return rank_->finish(name);
  }

  Result<void> stream(const PairEnd& end, const Stream& stream) override {
    const bool is_first = end.role == PairRole::first;
    for (int w = 0; w < stream.count; ++w) {
      const std::uint64_t slot =
          stream.start + static_cast<std::uint64_t>(w) * static_cast<std::uint64_t>(stream.window);
      if (auto done = window(end, {stream.window, 1, slot, stream.both_ways}); !done) return done;
      // A message of no bytes may be left out by the library: it would answer nothing.
      auto answered = is_first ? get(rank_->token(1), 1, end.peer) : put(rank_->token(0), 1, end.peer);
      if (!answered) return answered;
      if (auto done = rank_->finish(is_first ? table().receive.name : table().send.name); !done) return done;
    }
    return {};
  }

 private:
  [[nodiscard]] const CollectiveTable& table() const { return rank_->table(); }

  [[nodiscard]] Result<void> reduce(SumType type, std::span<const std::byte> in, std::span<std::byte> out) {
    return rank_->ask(table().all_reduce, static_cast<const void*>(in.data()), static_cast<void*>(out.data()),
                      in.size() / size_of(type), type_code(type), sum, rank_->comm(), rank_->stream());
  }
  [[nodiscard]] Result<void> put(const std::byte* from, std::size_t bytes, int to) {
    return rank_->ask(table().send, static_cast<const void*>(from), bytes, type_byte, to, rank_->comm(),
                      rank_->stream());
  }
  [[nodiscard]] Result<void> get(std::byte* into, std::size_t bytes, int from) {
    return rank_->ask(table().receive, static_cast<void*>(into), bytes, type_byte, from, rank_->comm(),
                      rank_->stream());
  }

  [[nodiscard]] Result<void> put(const PairEnd& end, std::uint64_t slot) {
    return put(end.out.at(slot).data(), end.out.size, end.peer);
  }
  [[nodiscard]] Result<void> get(const PairEnd& end, std::uint64_t slot) {
    return get(end.in.at(slot).data(), end.in.size, end.peer);
  }

  /// In one group, which the library carries out together.
  [[nodiscard]] Result<void> window(const PairEnd& end, const Stream& stream) {
    if (auto begun = rank_->open_group(); !begun) return begun;
    for (int i = 0; i < stream.window; ++i) {
      const std::uint64_t slot = stream.start + static_cast<std::uint64_t>(i);
      if (end.role == PairRole::second || stream.both_ways)
        if (auto got = get(end, slot); !got) return got;
      if (end.role == PairRole::first || stream.both_ways)
        if (auto sent = put(end, slot); !sent) return sent;
    }
    return rank_->close_group();
  }

  Comm& base_;
  std::shared_ptr<CollectiveRank> rank_;
  CollectiveCapture capture_;
};

}  // namespace

std::unique_ptr<DeviceComm> comm_over(Comm& base, std::shared_ptr<CollectiveRank> rank, CollectiveCapture capture) {
  return std::make_unique<CollectiveComm>(base, std::move(rank), capture);
}

}  // namespace muster
