/// What /proc/meminfo has about the memory of this node.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/files.hpp"

namespace muster {

/// `MemAvailable:   123 kB` of /proc/meminfo for the key `MemAvailable:`, in bytes; 0: not there.
[[nodiscard]] std::uint64_t parse_meminfo(std::string_view meminfo, std::string_view key);
/// The value of `key` in /proc/meminfo below `root`, in bytes; 0: unknown.
[[nodiscard]] std::uint64_t read_meminfo(std::string_view key, const fs::path& root = "/");

}  // namespace muster
