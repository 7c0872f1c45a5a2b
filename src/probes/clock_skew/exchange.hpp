/// How two ranks compare their clocks with messages. docs/methods/clock_skew.md
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "muster/comm.hpp"
#include "muster/probe.hpp"

namespace muster::clock_skew {

/// Nanoseconds of a clock.
using ReadClock = std::function<std::int64_t()>;

/// How far one clock is ahead of another. The true offset lies within `offset_ns` +- `uncertainty_ns`, whatever the
/// ways of the messages took.
struct Offset {
  double offset_ns = 0;
  double uncertainty_ns = 0;
  friend bool operator==(const Offset&, const Offset&) = default;
};

/// One round trip: sent at t0 and returned at t3 on our clock, arrived at t1 and answered at t2 on the other.
struct RoundTrip {
  std::int64_t t0 = 0;
  std::int64_t t1 = 0;
  std::int64_t t2 = 0;
  std::int64_t t3 = 0;
};

/// theta = ((t1 - t0) + (t2 - t3)) / 2 and delta = (t3 - t0) - (t2 - t1), with an uncertainty of delta / 2: RFC 5905,
/// section 8. nullopt: a clock ran backwards in between.
[[nodiscard]] std::optional<Offset> offset_of(const RoundTrip& trip);

/// One end of a comparison; both have the same `round_trips`.
struct ClockEnd {
  Comm& comm;
  Recorder& recorder;
  int other;  ///< rank
  int round_trips;
  ReadClock now;
};

/// How far the clock of the other rank, which calls answer_clock at the same time, is ahead of `now`: the best of all
/// round trips. nullopt: no round trip made sense; both ranks return the same.
[[nodiscard]] Result<std::optional<Offset>> ask_clock(const ClockEnd& end);
/// The other side: how far `now` is ahead of the clock of the other rank, which calls ask_clock.
[[nodiscard]] Result<std::optional<Offset>> answer_clock(const ClockEnd& end);

}  // namespace muster::clock_skew
