/// Numbers with their units, as text and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/params.hpp"

namespace muster {

/// `8B`, `8`, `64KiB`, `1MiB`, `2GB`, `1.5GiB`; K, M, G, T with iB = powers of 1024, with B = powers of 1000.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);
/// The shortest exact form: `16MiB`, `1500B`.
[[nodiscard]] std::string format_bytes(Bytes bytes);
/// `500ms`, `60s`, `5m`, `2h`, `1m30s`, `90` (seconds).
[[nodiscard]] Result<Seconds> parse_duration(std::string_view text);
[[nodiscard]] std::string format_duration(Seconds seconds);

/// Units that muster knows, with their dimension: s ms us ns · B KiB.. KB.. · B/s .. GB/s GiB/s · Gbit/s · 1 ·
/// cores · % · FLOP/s .. TFLOP/s · W · Hz .. GHz · degC · samples/s.
[[nodiscard]] bool is_known_unit(std::string_view unit);
/// The factor that turns a number in `from` into one in `to`; nullopt when they don't measure the same thing.
[[nodiscard]] std::optional<double> unit_factor(std::string_view from, std::string_view to);
/// All known unit names, for suggestions.
[[nodiscard]] std::vector<std::string> known_units();

/// `71.2 GB/s`, `12 us`: 4 significant digits, no exponent between 1e-3 and 1e7.
[[nodiscard]] std::string format_value(double value, std::string_view unit);

}  // namespace muster
