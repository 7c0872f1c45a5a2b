#include "system/meminfo.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

std::uint64_t parse_meminfo(std::string_view meminfo, std::string_view key) {
  for (const std::string_view line : lines(meminfo)) {
    if (line.substr(0, key.size()) != key) continue;
    return leading_number<std::uint64_t>(trim(line.substr(key.size()))).value_or(0) << 10;
  }
  return 0;
}

std::uint64_t read_meminfo(std::string_view key, const fs::path& root) {
  const auto text = read_file(root / "proc/meminfo", 1u << 20);
  return text ? parse_meminfo(*text, key) : 0;
}

}  // namespace muster
