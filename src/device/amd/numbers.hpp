/// Numbers as AMD's drivers and libraries write them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/number.hpp"

namespace muster {

/// 0: none.
[[nodiscard]] inline std::uint64_t to_number(std::string_view text, int base = 10) {
  return parse_number<std::uint64_t>(text, base).value_or(0);
}

/// Empty: none.
template <class Table>
[[nodiscard]] std::string text_at(const Table& table, std::string_view key) {
  const auto found = table.find(key);
  return found == table.end() ? std::string() : found->second;
}

template <class Table>
[[nodiscard]] std::uint64_t number_at(const Table& table, std::string_view key) {
  return to_number(text_at(table, key));
}

}  // namespace muster
