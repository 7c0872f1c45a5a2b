#include "probes/clock_skew/exchange.hpp"

#include <array>
#include <span>

namespace muster::clock_skew {

namespace {

constexpr int tag = 1;

/// When a request arrived and when it was answered.
struct Stamps {
  std::int64_t arrived = 0;
  std::int64_t answered = 0;
};

/// What rank 0 found out about the other clock.
struct Answer {
  Offset offset;
  std::int64_t is_known = 0;
};

template <class T>
Result<void> send(Comm& comm, const T& value, int to) {
  return comm.send(std::as_bytes(std::span(&value, 1)), to, tag);
}

template <class T>
Result<T> receive(Comm& comm, int from) {
  T value;
  if (auto got = comm.receive(std::as_writable_bytes(std::span(&value, 1)), from, tag); !got)
    return tl::unexpected(got.error());
  return value;
}

}  // namespace

std::optional<Offset> offset_of(const RoundTrip& trip) {
  const std::int64_t there = trip.t1 - trip.t0;
  const std::int64_t back = trip.t2 - trip.t3;
  const std::int64_t delay = (trip.t3 - trip.t0) - (trip.t2 - trip.t1);
  if (delay < 0 || trip.t3 < trip.t0 || trip.t2 < trip.t1) return std::nullopt;
  return Offset{(static_cast<double>(there) + static_cast<double>(back)) / 2, static_cast<double>(delay) / 2};
}

Result<std::optional<Offset>> ask_clock(const ClockEnd& end) {
  end.recorder.step("ask");
  end.recorder.peer(end.other);
  std::optional<Offset> best;
  for (int i = 0; i < end.round_trips; ++i) {
    end.recorder.iteration(static_cast<std::uint64_t>(i));
    RoundTrip trip;
    trip.t0 = end.now();
    if (auto sent = send(end.comm, std::byte{}, end.other); !sent) return tl::unexpected(sent.error());
    const auto stamps = receive<Stamps>(end.comm, end.other);
    trip.t3 = end.now();
    if (!stamps) return tl::unexpected(stamps.error());
    trip.t1 = stamps->arrived;
    trip.t2 = stamps->answered;
    const auto found = offset_of(trip);
    if (found && (!best || found->uncertainty_ns < best->uncertainty_ns)) best = found;
  }
  if (auto reported = send(end.comm, Answer{best.value_or(Offset()), best.has_value()}, end.other); !reported)
    return tl::unexpected(reported.error());
  return best;
}

Result<std::optional<Offset>> answer_clock(const ClockEnd& end) {
  end.recorder.step("answer");
  end.recorder.peer(end.other);
  for (int i = 0; i < end.round_trips; ++i) {
    end.recorder.iteration(static_cast<std::uint64_t>(i));
    const auto asked = receive<std::byte>(end.comm, end.other);
    Stamps stamps;
    stamps.arrived = end.now();
    if (!asked) return tl::unexpected(asked.error());
    stamps.answered = end.now();
    if (auto sent = send(end.comm, stamps, end.other); !sent) return tl::unexpected(sent.error());
  }
  const auto answer = receive<Answer>(end.comm, end.other);
  if (!answer) return tl::unexpected(answer.error());
  return answer->is_known != 0 ? std::optional(answer->offset) : std::nullopt;
}

}  // namespace muster::clock_skew
