#include "system/meminfo.hpp"

#include <charconv>

#include "base/text.hpp"

namespace muster {

std::uint64_t parse_meminfo(std::string_view meminfo, std::string_view key) {
  for (std::string_view line : lines(meminfo)) {
    if (line.substr(0, key.size()) != key) continue;
    line = trim(line.substr(key.size()));
    std::uint64_t kibibytes = 0;
    std::from_chars(line.data(), line.data() + line.size(), kibibytes);
    return kibibytes << 10;
  }
  return 0;
}

std::uint64_t read_meminfo(std::string_view key, const fs::path& root) {
  const auto text = read_file(root / "proc/meminfo", 1u << 20);
  return text ? parse_meminfo(*text, key) : 0;
}

}  // namespace muster
