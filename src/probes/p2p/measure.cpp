#include "probes/p2p/measure.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/clock.hpp"

namespace muster::p2p {

namespace {

constexpr int control_tag = 100;  // first -> second: samples to take next; 0: enough
constexpr int reply_tag = 101;    // second -> first: were its CPUs its own?
constexpr std::size_t page = 4096;
/// No fill() makes a whole message of it.
constexpr int poison = 0xa5;

enum class Reply : std::uint8_t { clean, contaminated, unknown };

std::optional<bool> ask(Equipment& with) {
  if (with.watch == nullptr) return std::nullopt;
  const auto own = with.own_s();
  return own ? with.watch->ask(*own) : std::nullopt;
}

Reply to_reply(std::optional<bool> contaminated) {
  if (!contaminated) return Reply::unknown;
  return *contaminated ? Reply::contaminated : Reply::clean;
}

/// Of both ends: one bad end spoils the sample, and nobody vouches for the other alone.
std::optional<bool> both(std::optional<bool> mine, Reply other) {
  if (other == Reply::contaminated || mine == std::optional(true)) return true;
  if (other == Reply::unknown || !mine) return std::nullopt;
  return false;
}

class PairRun {
 public:
  PairRun(Equipment& with, int peer, PairRole role, const Task& task)
      : with_(with),
        peer_(peer),
        role_(role),
        task_(task),
        out_{with.out.bytes(), task.size, stride(task.size), task.slots},
        in_{with.in.bytes(), task.size, stride(task.size), task.slots} {}

  /// Slots begin on 8 bytes, where the pattern's words do.
  static std::size_t stride(std::size_t size) { return (size + 7) / 8 * 8; }

  [[nodiscard]] Result<Sampled> lead(const SamplingGoal& goal) {
    Sampler sampler(goal);
    for (int count = sampler.next(); count > 0; count = sampler.next()) {
      const double begun = monotonic_seconds();
      auto values = lead_batch(count);
      if (!values) return tl::unexpected(values.error());
      Reply reply{};
      if (auto got = with_.comm.receive(std::as_writable_bytes(std::span(&reply, 1)), peer_, reply_tag); !got)
        return tl::unexpected(got.error());
      const auto contaminated = both(ask(with_), reply);
      sampler.feed(*values, Seconds{monotonic_seconds() - begun}, contaminated);
    }
    if (auto told = tell(0); !told) return tl::unexpected(told.error());
    return sampler.result();
  }

  [[nodiscard]] Result<void> follow() {
    for (;;) {
      std::int64_t count = 0;
      if (auto got = with_.comm.receive(std::as_writable_bytes(std::span(&count, 1)), peer_, control_tag); !got)
        return got;
      if (count <= 0) return {};
      for (std::int64_t i = 0; i < count; ++i)
        if (auto done = one_sample(); !done) return done;
      const Reply reply = to_reply(ask(with_));
      if (auto sent = with_.comm.send(std::as_bytes(std::span(&reply, 1)), peer_, reply_tag); !sent) return sent;
    }
  }

  [[nodiscard]] bool receives() const { return role_ == PairRole::second || task_.kind != Kind::bandwidth; }

  /// What arrives must be told from what was there before.
  void poison_slots() const {
    if (receives())
      std::memset(with_.in.bytes().data(), poison, stride(task_.size) * static_cast<std::size_t>(task_.slots));
  }

  [[nodiscard]] std::uint64_t received() const { return receives() ? messages_ : 0; }

  [[nodiscard]] std::uint64_t sent() const {
    return role_ == PairRole::first || task_.kind != Kind::bandwidth ? messages_ : 0;
  }

  /// The last message of every slot that was used.
  [[nodiscard]] std::optional<Corruption> look() const {
    const std::uint64_t seed = seed_of(with_.seed, peer_);
    const auto used = std::min<std::uint64_t>(received(), static_cast<std::uint64_t>(task_.slots));
    std::optional<Corruption> found;
    for (std::uint64_t slot = 0; slot < used; ++slot) {
      const std::size_t offset = slot * stride(task_.size);
      auto bad = find_corruption(with_.in.bytes().subspan(offset, task_.size), seed + offset / 8);
      if (!bad) continue;
      if (found)
        found->bytes += bad->bytes;
      else
        found = *bad;
    }
    return found;
  }

 private:
  [[nodiscard]] Result<void> tell(std::int64_t count) {
    return with_.comm.send(std::as_bytes(std::span(&count, 1)), peer_, control_tag);
  }

  [[nodiscard]] Result<void> one_sample() {
    with_.recorder.iteration(messages_);
    const std::uint64_t start = messages_;
    messages_ += static_cast<std::uint64_t>(task_.window);
    if (task_.kind == Kind::latency) return with_.comm.ping_pong(peer_, role_, out_, in_, start, task_.window);
    Comm::Stream stream;
    stream.window = task_.window;
    stream.start = start;
    stream.both_ways = task_.kind == Kind::bidirectional;
    return with_.comm.stream(peer_, role_, out_, in_, stream);
  }

  [[nodiscard]] Result<std::vector<double>> lead_batch(int count) {
    if (auto told = tell(count); !told) return tl::unexpected(told.error());
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const double begun = monotonic_seconds();
      if (auto done = one_sample(); !done) return tl::unexpected(done.error());
      values.push_back(to_value(monotonic_seconds() - begun));
    }
    return values;
  }

  [[nodiscard]] double to_value(double seconds) const {
    if (task_.kind == Kind::latency) return seconds / task_.window / 2 * 1e6;
    const double bytes = static_cast<double>(task_.size) * task_.window * (task_.kind == Kind::bidirectional ? 2 : 1);
    return bytes / seconds * 1e-9;
  }

  Equipment& with_;
  int peer_;
  PairRole role_;
  const Task& task_;
  Slots out_;
  Slots in_;
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

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::latency:
      return "latency";
    case Kind::bandwidth:
      return "bandwidth";
    case Kind::bidirectional:
      return "bidirectional";
  }
  return "bidirectional";
}

Result<Measured> measure(Equipment& with, int peer, PairRole role, const Task& task, const SamplingGoal& goal) {
  with.recorder.step(to_string(task.kind));
  with.recorder.peer(peer);
  PairRun run(with, peer, role, task);
  run.poison_slots();
  Measured measured;
  if (role == PairRole::first) {
    auto sampled = run.lead(goal);
    if (!sampled) return tl::unexpected(sampled.error());
    measured.sampled = std::move(*sampled);
  } else if (auto done = run.follow(); !done) {
    return tl::unexpected(done.error());
  }
  with.recorder.step("verify");
  measured.messages = run.received();
  measured.sent = run.sent();
  measured.corruption = run.look();
  return measured;
}

}  // namespace muster::p2p
