/// Times that a user types, or that a file has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/result.hpp"

namespace muster {

/// A moment, UTC: `2026-01-31` (its first second), `2026-01-31 02:00`, `2026-01-31T02:00:00Z`; or how long before `now`
/// (realtime_nanoseconds): `7d`, `12h`, `1h30m`. Returns what sorts as RFC 3339 does. Fails with kind `usage` and an
/// empty place.
[[nodiscard]] Result<std::string> parse_moment(std::string_view text, std::int64_t now);

/// Whether it is what rfc3339() writes, `2026-01-31T02:00:00.000Z`, of a day that there was; the fraction may have any
/// number of digits, or be left out.
[[nodiscard]] bool is_moment(std::string_view text);

}  // namespace muster
