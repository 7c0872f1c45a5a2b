#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// Seconds of CLOCK_MONOTONIC: for durations and deadlines; the same clock for all processes of a node.
[[nodiscard]] double monotonic_seconds();
/// Nanoseconds of CLOCK_REALTIME since 1970.
[[nodiscard]] std::int64_t realtime_nanoseconds();
/// RFC 3339 in UTC with milliseconds: `2026-11-21T08:00:00.123Z`.
[[nodiscard]] std::string rfc3339(std::int64_t realtime_nanoseconds);
/// For folder names, UTC: `20261121-080000`.
[[nodiscard]] std::string compact_timestamp(std::int64_t realtime_nanoseconds);
/// `bytes` random bytes as lower-case hex, from the kernel.
[[nodiscard]] std::string random_hex(int bytes);

}  // namespace muster
