#include "measure/pair_measure.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/clock.hpp"
#include "base/names.hpp"
#include "measure/pair_verify.hpp"

namespace muster::p2p {

namespace {

constexpr int control_tag = 100;  // first -> second: an Order
constexpr int reply_tag = 101;    // second -> first: were its CPUs its own?
constexpr std::size_t page = 4096;

/// What the second shall take part in next.
struct Order {
  std::int64_t samples = 0;  ///< 0: enough
  std::int64_t window = 1;   ///< of each
};

enum class Reply : std::uint8_t { clean, contaminated, unknown };

std::optional<bool> ask(Equipment& with, bool is_last = false) {
  if (with.watch == nullptr) return std::nullopt;
  const auto own = with.own_s();
  if (!own) return std::nullopt;
  return is_last ? with.watch->ask_last(*own) : with.watch->ask(*own);
}

Reply to_reply(std::optional<bool> contaminated) {
  if (!contaminated) return Reply::unknown;
  return *contaminated ? Reply::contaminated : Reply::clean;
}

/// Of both ends: one bad end invalidates the sample for both.
std::optional<bool> both(std::optional<bool> mine, Reply other) {
  if (other == Reply::contaminated || mine == std::optional(true)) return true;
  if (other == Reply::unknown || !mine) return std::nullopt;
  return false;
}

class PairRun {
 public:
  PairRun(Equipment& with, int peer, PairRole role, const Task& task)
      : with_(with),
        task_(task),
        end_{peer,
             role,
             {with.out.bytes(), task.size, task.stride(), task.slots},
             {with.in.bytes(), task.size, task.stride(), task.slots}} {}

  [[nodiscard]] Result<Sampled> lead(const SamplingGoal& goal) {
    window_ = task_.window;
    if (goal.most > 1)
      if (auto tried = choose_window(goal.cap.value); !tried) return tl::unexpected(tried.error());
    Sampler sampler(goal);
    for (int count = sampler.next(); count > 0; count = sampler.next()) {
      const double begun = monotonic_seconds();
      auto values = lead_batch(count);
      if (!values) return tl::unexpected(values.error());
      const auto reply = reply_of_peer();
      if (!reply) return tl::unexpected(reply.error());
      const auto contaminated = both(ask(with_), *reply);
      sampler.feed(*values, Seconds{monotonic_seconds() - begun}, contaminated);
    }
    if (auto reported = announce({}); !reported) return tl::unexpected(reported.error());
    const auto reply = reply_of_peer();
    if (!reply) return tl::unexpected(reply.error());
    sampler.settle(both(ask(with_, true), *reply));
    return sampler.result();
  }

  [[nodiscard]] Result<void> follow() {
    for (;;) {
      Order order;
      if (auto got = with_.comm.receive(std::as_writable_bytes(std::span(&order, 1)), end_.peer, control_tag); !got)
        return got;
      const bool is_last = order.samples <= 0;
      for (std::int64_t i = 0; i < order.samples; ++i)
        if (auto done = one_sample(static_cast<int>(order.window)); !done) return done;
      const Reply reply = to_reply(ask(with_, is_last));
      if (auto sent = with_.comm.send(std::as_bytes(std::span(&reply, 1)), end_.peer, reply_tag); !sent) return sent;
      if (is_last) return {};
    }
  }

  [[nodiscard]] bool is_first() const { return end_.role == PairRole::first; }
  [[nodiscard]] std::uint64_t received() const {
    return end_.role == PairRole::second || task_.kind != Kind::bandwidth ? messages_ : 0;
  }

  [[nodiscard]] std::uint64_t sent() const {
    return end_.role == PairRole::first || task_.kind != Kind::bandwidth ? messages_ : 0;
  }

  [[nodiscard]] int window() const { return window_; }
  /// Some were overwritten by others.
  [[nodiscard]] bool has_reused_slots() const { return messages_ > static_cast<std::uint64_t>(task_.slots); }

 private:
  [[nodiscard]] Result<void> announce(const Order& order) {
    return with_.comm.send(std::as_bytes(std::span(&order, 1)), end_.peer, control_tag);
  }

  [[nodiscard]] Result<Reply> reply_of_peer() {
    Reply reply{};
    if (auto got = with_.comm.receive(std::as_writable_bytes(std::span(&reply, 1)), end_.peer, reply_tag); !got)
      return tl::unexpected(got.error());
    return reply;
  }

  /// The first message waits for the peer, and may have to open a connection; of the others the fastest counts.
  [[nodiscard]] Result<void> choose_window(double cap_s) {
    constexpr int tries = 4;
    double fastest = cap_s;
    double spent = 0;
    for (int i = 0; i < tries && (i < 2 || spent < cap_s / 8); ++i) {
      const double begun = monotonic_seconds();
      if (auto done = lead_batch(1); !done) return tl::unexpected(done.error());
      if (const auto reply = reply_of_peer(); !reply) return tl::unexpected(reply.error());
      if (i == 0) continue;
      spent += monotonic_seconds() - begun;
      fastest = std::min(fastest, last_s_);
    }
    window_ = fitting_window(task_.window, fastest, cap_s);
    return {};
  }

  [[nodiscard]] Result<void> one_sample(int window) {
    with_.recorder.iteration(messages_);
    const std::uint64_t start = messages_;
    messages_ += static_cast<std::uint64_t>(window);
    if (task_.kind == Kind::latency) return with_.carrier().ping_pong(end_, start, window);
    Comm::Stream stream;
    stream.window = window;
    stream.start = start;
    stream.both_ways = task_.kind == Kind::bidirectional;
    return with_.carrier().stream(end_, stream);
  }

  [[nodiscard]] Result<std::vector<double>> lead_batch(int count) {
    if (auto reported = announce({count, window_}); !reported) return tl::unexpected(reported.error());
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const double begun = monotonic_seconds();
      if (auto done = one_sample(window_); !done) return tl::unexpected(done.error());
      last_s_ = monotonic_seconds() - begun;
      values.push_back(to_value(last_s_));
    }
    return values;
  }

  [[nodiscard]] double to_value(double seconds) const {
    if (task_.kind == Kind::latency) return seconds / window_ / 2 * 1e6;
    const double bytes = static_cast<double>(task_.size) * window_ * (task_.kind == Kind::bidirectional ? 2 : 1);
    return bytes / seconds * 1e-9;
  }

  Equipment& with_;
  const Task& task_;
  PairEnd end_;
  int window_ = 1;
  double last_s_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace

void Buffer::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

Result<Buffer> Buffer::make(std::size_t bytes) {
  Buffer buffer;
  buffer.size_ = (bytes + page - 1) / page * page;
  buffer.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, std::max(buffer.size_, page))));
  if (!buffer.memory_) return fail(ErrorKind::system, "memory", "can't have " + std::to_string(bytes) + " bytes");
  std::memset(buffer.memory_.get(), poison, buffer.size_);
  return buffer;
}

Result<void> Buffer::move_to(const Gpus& gpus, int device) {
  auto stream = gpus.stream(device);
  if (!stream) return tl::unexpected(stream.error());
  auto memory = gpus.allocate(device, size_);
  if (!memory) return tl::unexpected(memory.error());
  gpus_ = &gpus;
  device_ = device;
  stream_ = std::move(*stream);
  on_device_ = std::move(*memory);
  return push(size_);
}

Result<void> Buffer::copy(void* to, const void* from, std::size_t size) const {
  if (auto copied = gpus_->copy(device_, to, from, std::min(size, size_), stream_.get()); !copied) return copied;
  return gpus_->synchronize(device_, stream_.get());
}

Result<void> Buffer::push(std::size_t size) const {
  return on_device_ ? copy(on_device_.get(), memory_.get(), size) : Result<void>();
}

Result<void> Buffer::pull(std::size_t size) const {
  return on_device_ ? copy(memory_.get(), on_device_.get(), size) : Result<void>();
}

constexpr std::string_view kind_names[] = {"latency", "bandwidth", "bidirectional"};

std::string_view to_string(Kind kind) {
  return enum_name(kind_names, kind);
}

int fitting_window(int most, double message_s, double cap_s) {
  if (most * message_s <= cap_s / 8) return most;
  return std::clamp(static_cast<int>(cap_s / 16 / message_s), 1, most);
}

namespace {

/// What the timed messages left, and more messages. `limit_s`: of the first rank.
Result<void> verify(const PairRun& run, PairVerifier verifier, double limit_s, Measured& measured) {
  if (auto compared = verifier.compare_rest(run.received()); !compared) return compared;
  auto done = run.is_first() ? verifier.lead(run.window(), limit_s, run.has_reused_slots()) : verifier.follow();
  if (!done) return done;
  measured.received = run.received() + verifier.received();
  measured.sent = run.sent() + verifier.sent();
  measured.compared = verifier.compared();
  measured.wrong = verifier.wrong();
  return {};
}

}  // namespace

Result<Measured> measure(Equipment& with, int peer, PairRole role, const Task& task, const SamplingGoal& goal) {
  with.recorder.step(std::string(to_string(task.kind)) + (with.data == nullptr ? "" : " by ncclSend/Recv"));
  with.recorder.peer(peer);
  PairRun run(with, peer, role, task);
  Measured measured;
  if (role == PairRole::first) {
    auto sampled = run.lead(goal);
    if (!sampled) return tl::unexpected(sampled.error());
    measured.sampled = std::move(*sampled);
  } else if (auto done = run.follow(); !done) {
    return tl::unexpected(done.error());
  }
  if (with.timed)
    if (auto done = with.timed(); !done) return tl::unexpected(done.error());
  with.recorder.step("verify");
  with.recorder.peer(peer);
  const double limit_s = goal.most > 1 ? with.verify * measured.sampled.taken.value : 0;
  if (auto verified = verify(run, PairVerifier(with, peer, role, task), limit_s, measured); !verified)
    return tl::unexpected(verified.error());
  return measured;
}

}  // namespace muster::p2p
