#include "measure/pair_verify.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"

namespace muster::p2p {

namespace {

constexpr int burst_tag = 102;  // first -> second: a Burst
constexpr int ready_tag = 103;  // second -> first: compared
/// Keeps the alignment that a cache line has.
constexpr std::size_t shift_step = 64;

/// What the second shall take part in next.
struct Burst {
  std::int64_t window = 0;  ///< messages; 0: enough
  std::int64_t number = 0;  ///< from 1
};

}  // namespace

TimeShare::TimeShare(double limit_s) : limit_s_(limit_s), begun_(monotonic_seconds()), last_(begun_) {}

bool TimeShare::begins_another(bool is_needed) {
  const double now = monotonic_seconds();
  const double after = now + (now - last_);
  last_ = now;
  return limit_s_ > 0 && (is_needed || after - begun_ <= limit_s_);
}

PairVerifier::PairVerifier(Equipment& with, int peer, PairRole role, const Task& task)
    : with_(with), peer_(peer), role_(role), task_(task) {
  const std::size_t used = task.stride() * static_cast<std::size_t>(task.slots);
  const std::size_t room = with.out.bytes().size() - std::min(with.out.bytes().size(), used);
  most_shift_ = std::min(room, burst_slack) / shift_step * shift_step;
}

std::size_t PairVerifier::offset_of(std::uint64_t slot, std::uint64_t burst) const {
  return slot * task_.stride() + burst * shift_step % (most_shift_ + shift_step);
}

Result<void> PairVerifier::compare_rest(std::uint64_t received) {
  const std::uint64_t slots = std::min<std::uint64_t>(received, static_cast<std::uint64_t>(task_.slots));
  if (auto compared = compare(slots, 0); !compared) return compared;
  // The next data must be distinguishable from the present one.
  std::memset(with_.in.host().data(), poison, slots * task_.stride());
  return with_.in.push(slots * task_.stride());
}

Result<void> PairVerifier::lead(int window, double limit_s, bool is_needed) {
  TimeShare time(limit_s);
  for (std::int64_t number = 1; time.begins_another(number == 1 && is_needed); ++number) {
    const Burst next{std::min(window, task_.slots), number};
    if (auto sent = with_.comm.send(std::as_bytes(std::span(&next, 1)), peer_, burst_tag); !sent) return sent;
    if (auto done = burst(static_cast<int>(next.window), static_cast<std::uint64_t>(number)); !done) return done;
    std::byte ready{};
    if (auto got = with_.comm.receive(std::span(&ready, 1), peer_, ready_tag); !got) return got;
  }
  const Burst enough;
  return with_.comm.send(std::as_bytes(std::span(&enough, 1)), peer_, burst_tag);
}

Result<void> PairVerifier::follow() {
  for (;;) {
    Burst next;
    if (auto got = with_.comm.receive(std::as_writable_bytes(std::span(&next, 1)), peer_, burst_tag); !got) return got;
    if (next.window <= 0) return {};
    if (auto done = burst(static_cast<int>(next.window), static_cast<std::uint64_t>(next.number)); !done) return done;
    const std::byte ready{1};
    if (auto sent = with_.comm.send(std::span(&ready, 1), peer_, ready_tag); !sent) return sent;
  }
}

Result<void> PairVerifier::burst(int window, std::uint64_t number) {
  with_.recorder.iteration(number);
  const std::size_t stride = task_.stride();
  const PairEnd end{peer_,
                    role_,
                    {with_.out.bytes().subspan(offset_of(0, number)), task_.size, stride, task_.slots},
                    {with_.in.bytes(), task_.size, stride, task_.slots}};
  Comm::Stream stream;
  stream.window = window;
  stream.both_ways = task_.kind == Kind::bidirectional;
  auto done =
      task_.kind == Kind::latency ? with_.carrier().ping_pong(end, 0, window) : with_.carrier().stream(end, stream);
  if (!done) return done;
  in_bursts_ += static_cast<std::uint64_t>(window);
  return receives() ? compare(static_cast<std::uint64_t>(window), number) : Result<void>();
}

Result<void> PairVerifier::compare(std::uint64_t slots, std::uint64_t burst) {
  if (auto pulled = with_.in.pull(slots * task_.stride()); !pulled) return pulled;
  const std::uint64_t seed = seed_of(with_.seed, peer_);
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const auto message = with_.in.host().subspan(slot * task_.stride(), task_.size);
    if (const auto bad = find_corruption(message, seed + offset_of(slot, burst) / 8))
      count_wrong(*bad, message, burst < 2 ? 0 : seed + offset_of(slot, burst - 1) / 8);
  }
  compared_ += slots;
  if (wrong_) wrong_->compared = compared_;
  return {};
}

/// `before`: seed of the message that was in this place; 0: another pattern was.
void PairVerifier::count_wrong(const Corruption& one, std::span<const std::byte> message, std::uint64_t before) {
  if (!wrong_) {
    wrong_ = WrongMessages{one, 0, 0, before != 0 && !find_corruption(message, before)};
    wrong_->first.bytes = 0;
  }
  wrong_->first.bytes += one.bytes;
  ++wrong_->messages;
}

}  // namespace muster::p2p
