#include "device/collectives.hpp"

#include <cstring>
#include <fmt/format.h>
#include <sched.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "device/collective_capture.hpp"
#include "device/collective_table.hpp"

namespace muster {

namespace {

constexpr int in_progress = 7;  // no error: a call that does not block goes on
constexpr int type_byte = 0;    // ncclInt8
constexpr int sum = 0;          // ncclSum

int type_code(SumType type) {
  if (type == SumType::int32) return 2;
  if (type == SumType::int64) return 4;
  if (type == SumType::float16) return 6;
  if (type == SumType::float32) return 7;
  if (type == SumType::bfloat16) return 9;
  return 8;
}

/// One rank's end of a communicator, and the stream on which all of it happens.
class Vendor {
 public:
  Vendor(const Gpus& gpus, int device, std::shared_ptr<const CollectiveTable> table, CallWatch watch, Seconds deadline)
      : gpus_(gpus), device_(device), table_(std::move(table)), watch_(std::move(watch)), deadline_(deadline) {}
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  ~Vendor() {
    // Who gave up must not wait for the others, as ncclCommDestroy does.
    if (comm_ != nullptr && !is_aborted_) static_cast<void>(call(table_->destroy, comm_));
  }

  [[nodiscard]] const CollectiveTable& table() const { return *table_; }
  [[nodiscard]] void* comm() const { return comm_; }
  [[nodiscard]] void* stream() const { return stream_.get(); }
  /// One byte for each direction, for messages that only say that something is done.
  [[nodiscard]] std::byte* token(int which) const { return static_cast<std::byte*>(tokens_.get()) + which * 256; }
  void note(std::string_view step) const {
    if (watch_) watch_(step);
  }

  [[nodiscard]] Result<void> prepare() {
    auto stream = gpus_.stream(device_);
    if (!stream) return tl::unexpected(stream.error());
    auto tokens = gpus_.allocate(device_, 512);
    if (!tokens) return tl::unexpected(tokens.error());
    stream_ = std::move(*stream);
    tokens_ = std::move(*tokens);
    return {};
  }

  [[nodiscard]] Result<void> init(int ranks, const CollectiveId& id, int rank) {
    if (auto current = gpus_.make_current(device_); !current) return current;
    const int code = call(table_->init, &comm_, ranks, id, rank);
    if (code == 0) return {};
    comm_ = nullptr;
    return tl::unexpected(error_of(table_->init.name, code));
  }

  /// Past the watch; an error aborts.
  template <class Call, class... Args>
  [[nodiscard]] Result<void> ask(const Call& what, Args... args) {
    if (is_aborted_) return tl::unexpected(aborted_by_);
    if (auto current = gpus_.make_current(device_); !current) return current;
    if (const int code = call(what, args...); code != 0 && code != in_progress)
      return give_up(error_of(what.name, code));
    return {};
  }

  /// True when all that is on the stream is done.
  [[nodiscard]] Result<bool> look() {
    if (is_aborted_) return tl::unexpected(aborted_by_);
    auto done = gpus_.is_done(device_, stream_.get());
    if (!done) return give_up(done.error());
    return done;
  }

  void abandon() {
    static_cast<void>(give_up({ErrorKind::device, label(), "a rank will not come, and its sums were given up"}));
  }

  /// Waits for all that is on the stream; `name` is what is waited for.
  [[nodiscard]] Result<void> finish(std::string_view name) {
    constexpr int turns_between_looks = 64;
    const double begun = monotonic_seconds();
    // Who has not come back from the call itself is behind those who wait for it.
    note(fmt::format("wait for {}", name));
    for (int turn = 1;; ++turn) {
      auto done = look();
      if (!done) return tl::unexpected(done.error());
      if (*done) return {};
      if (turn % turns_between_looks != 0) continue;
      ::sched_yield();
      if (auto fine = look_for_errors(name); !fine) return fine;
      if (monotonic_seconds() - begun > deadline_.value) return give_up(late(name));
    }
  }

 private:
  template <class Call, class... Args>
  int call(const Call& what, Args... args) const {
    note(what.name);
    return what.function(args...);
  }

  [[nodiscard]] Error error_of(std::string_view name, int code) const {
    const char* words = table_->words == nullptr ? nullptr : table_->words(code);
    std::string text = fmt::format("{} returned {}: {}", name, code, words == nullptr ? "a code without words" : words);
    const char* last = table_->last_error == nullptr ? nullptr : table_->last_error(comm_);
    if (last != nullptr && *last != '\0') text += fmt::format(" ({})", printable_line(last, 200));
    return {ErrorKind::device, label(), text};
  }

  [[nodiscard]] std::string label() const { return gpus_.devices()[static_cast<std::size_t>(device_)].label(); }

  [[nodiscard]] Error late(std::string_view name) const {
    return {ErrorKind::device, label(),
            fmt::format("{} was not done after {} and was given up (ncclCommAbort)", name,
                        to_string(ParamScalar(deadline_)))};
  }

  [[nodiscard]] Result<void> look_for_errors(std::string_view name) {
    int state = 0;
    const int code = table_->async_error.function(comm_, &state);
    if (code != 0) return give_up(error_of(table_->async_error.name, code));
    if (state != 0 && state != in_progress) return give_up(error_of(name, state));
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> give_up(Error error) {
    if (!is_aborted_) {
      is_aborted_ = true;
      aborted_by_ = error;
      if (comm_ != nullptr) static_cast<void>(call(table_->abort, comm_));
    }
    return tl::unexpected<Error>(std::move(error));
  }

  const Gpus& gpus_;
  int device_;
  std::shared_ptr<const CollectiveTable> table_;
  CallWatch watch_;
  Seconds deadline_;
  void* comm_ = nullptr;
  bool is_aborted_ = false;
  Error aborted_by_;
  GpuHandle stream_;
  GpuHandle tokens_;
};

class DevicePendingSum final : public PendingSum {
 public:
  explicit DevicePendingSum(std::shared_ptr<Vendor> vendor) : vendor_(std::move(vendor)) {}
  DevicePendingSum(const DevicePendingSum&) = delete;
  DevicePendingSum& operator=(const DevicePendingSum&) = delete;
  ~DevicePendingSum() override { static_cast<void>(wait()); }
  // Of sums that were started later, too, which is late but not wrong.
  Result<bool> test() override { return vendor_->look(); }
  Result<void> wait() override { return vendor_->finish(vendor_->table().all_reduce.name); }

 private:
  std::shared_ptr<Vendor> vendor_;
};

class VendorComm final : public DeviceComm {
 public:
  VendorComm(Comm& base, std::shared_ptr<Vendor> vendor, CollectiveCapture capture)
      : base_(base), vendor_(std::move(vendor)), capture_(capture) {}

  int rank() const override { return base_.rank(); }
  int size() const override { return base_.size(); }
  std::string library() const override { return vendor_->table().label; }
  Connections connections() const override { return read_connections(capture_.text()); }
  void abandon() override { vendor_->abandon(); }

  Result<void> barrier() override {
    vendor_->note("barrier");
    return base_.barrier();
  }
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
    return vendor_->finish(table().all_reduce.name);
  }
  Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                std::span<std::byte> out) override {
    if (auto started = reduce(type, in, out); !started) return tl::unexpected(started.error());
    return std::make_unique<DevicePendingSum>(vendor_);
  }

  Result<void> send(std::span<const std::byte> bytes, int to, int) override {
    if (auto started = put(bytes.data(), bytes.size(), to); !started) return started;
    return vendor_->finish(table().send.name);
  }
  Result<void> receive(std::span<std::byte> bytes, int from, int) override {
    if (auto started = get(bytes.data(), bytes.size(), from); !started) return started;
    return vendor_->finish(table().receive.name);
  }

  /// The stream keeps the order, so several go on it before anybody waits: as many as its queue surely takes.
  Result<void> ping_pong(int peer, PairRole role, const Slots& out, const Slots& in, std::uint64_t start,
                         int count) override {
    constexpr int most_queued = 32;
    const char* name = role == PairRole::first ? table().receive.name : table().send.name;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t slot = start + static_cast<std::uint64_t>(i);
      if (role == PairRole::first)
        if (auto sent = put(out.at(slot).data(), out.size, peer); !sent) return sent;
      if (auto got = get(in.at(slot).data(), in.size, peer); !got) return got;
      if (role == PairRole::second)
        if (auto sent = put(out.at(slot).data(), out.size, peer); !sent) return sent;
      if (i % most_queued == most_queued - 1)
        if (auto done = vendor_->finish(name); !done) return done;
    }
    return vendor_->finish(name);
  }

  Result<void> stream(int peer, PairRole role, const Slots& out, const Slots& in, const Stream& stream) override {
    const bool is_first = role == PairRole::first;
    for (int w = 0; w < stream.count; ++w) {
      const std::uint64_t slot =
          stream.start + static_cast<std::uint64_t>(w) * static_cast<std::uint64_t>(stream.window);
      if (auto done = window(peer, is_first || stream.both_ways, !is_first || stream.both_ways, out, in,
                             {stream.window, 1, slot, stream.both_ways});
          !done)
        return done;
      // A message of no bytes may be left out by the library: it would answer nothing.
      auto answered = is_first ? get(vendor_->token(1), 1, peer) : put(vendor_->token(0), 1, peer);
      if (!answered) return answered;
      if (auto done = vendor_->finish(is_first ? table().receive.name : table().send.name); !done) return done;
    }
    return {};
  }

 private:
  [[nodiscard]] const CollectiveTable& table() const { return vendor_->table(); }

  [[nodiscard]] Result<void> reduce(SumType type, std::span<const std::byte> in, std::span<std::byte> out) {
    return vendor_->ask(table().all_reduce, static_cast<const void*>(in.data()), static_cast<void*>(out.data()),
                        in.size() / size_of(type), type_code(type), sum, vendor_->comm(), vendor_->stream());
  }
  [[nodiscard]] Result<void> put(const std::byte* from, std::size_t bytes, int to) {
    return vendor_->ask(table().send, static_cast<const void*>(from), bytes, type_byte, to, vendor_->comm(),
                        vendor_->stream());
  }
  [[nodiscard]] Result<void> get(std::byte* into, std::size_t bytes, int from) {
    return vendor_->ask(table().receive, static_cast<void*>(into), bytes, type_byte, from, vendor_->comm(),
                        vendor_->stream());
  }

  /// In one group, which the library carries out together.
  [[nodiscard]] Result<void> window(int peer, bool sends, bool receives, const Slots& out, const Slots& in,
                                    const Stream& stream) {
    if (auto begun = vendor_->ask(table().group_start); !begun) return begun;
    for (int i = 0; i < stream.window; ++i) {
      const std::uint64_t slot = stream.start + static_cast<std::uint64_t>(i);
      if (receives)
        if (auto got = get(in.at(slot).data(), in.size, peer); !got) return got;
      if (sends)
        if (auto sent = put(out.at(slot).data(), out.size, peer); !sent) return sent;
    }
    return vendor_->ask(table().group_end);
  }

  Comm& base_;
  std::shared_ptr<Vendor> vendor_;
  CollectiveCapture capture_;
};

/// Of rank 0: its id, or why there is none.
Result<CollectiveId> share_id(Comm& base, const CollectiveTable& table, const CallWatch& watch) {
  CollectiveId id;
  std::string told;
  if (base.rank() == 0) {
    if (watch) watch(table.new_id.name);
    const int code = table.new_id.function(&id);
    if (code == 0) {
      told.assign(id.bytes, sizeof id.bytes);
    } else {
      const char* words = table.words == nullptr ? nullptr : table.words(code);
      const char* last = table.last_error == nullptr ? nullptr : table.last_error(nullptr);
      told = fmt::format("{} on rank 0 returned {}: {}{}", table.new_id.name, code, words == nullptr ? "" : words,
                         last == nullptr || *last == '\0' ? "" : fmt::format(" ({})", printable_line(last, 200)));
      told = told.substr(0, sizeof id.bytes - 1);
    }
  }
  auto got = base.broadcast(std::as_bytes(std::span(told)), 0);
  if (!got) return tl::unexpected(got.error());
  if (got->size() != sizeof id.bytes)
    return fail(ErrorKind::device, "", std::string(reinterpret_cast<const char*>(got->data()), got->size()));
  std::memcpy(id.bytes, got->data(), sizeof id.bytes);
  return id;
}

/// Fails on all ranks when it fails on one.
Result<void> together(Comm& base, Result<void> mine, std::string_view what) {
  auto all = base.all_true(mine.has_value());
  if (!mine) return mine;
  if (!all) return tl::unexpected(all.error());
  if (!*all) return fail(ErrorKind::protocol, "", fmt::format("{} failed on another rank", what));
  return {};
}

}  // namespace

Result<std::unique_ptr<DeviceComm>> make_device_comm(Comm& base, const Gpus& gpus, int device,
                                                     const CollectiveLibrary& library, CallWatch watch,
                                                     Seconds deadline) {
  const CollectiveAsked asked;  // what it is told to write from its first call on
  Result<void> mine;
  if (library.table == nullptr) mine = fail(ErrorKind::device, library.report.name, "it is not there");
  std::shared_ptr<Vendor> vendor;
  if (mine) {
    vendor = std::make_shared<Vendor>(gpus, device, library.table, watch, deadline);
    mine = vendor->prepare();
  }
  if (auto all = together(base, std::move(mine), "making a stream"); !all) return tl::unexpected(all.error());
  auto id = share_id(base, *library.table, watch);
  if (!id) return tl::unexpected(id.error());
  const CollectiveCapture capture = CollectiveCapture::from_here();
  auto made = together(base, vendor->init(base.size(), *id, base.rank()), library.table->init.name);
  if (!made) return tl::unexpected(made.error());
  return std::make_unique<VendorComm>(base, std::move(vendor), capture);
}

}  // namespace muster
