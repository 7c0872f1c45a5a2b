/// Enumerators by name, for enums that count from 0 without a gap.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace muster {

/// `unknown` for a value behind the last name, as damaged data may have.
template <class Enum, std::size_t count>
[[nodiscard]] constexpr std::string_view enum_name(const std::string_view (&names)[count], Enum value) {
  const auto at = static_cast<std::size_t>(value);
  return at < count ? names[at] : "unknown";
}

template <class Enum, std::size_t count>
[[nodiscard]] constexpr std::optional<Enum> enum_named(const std::string_view (&names)[count], std::string_view name) {
  for (std::size_t at = 0; at < count; ++at)
    if (names[at] == name) return static_cast<Enum>(at);
  return std::nullopt;
}

}  // namespace muster
