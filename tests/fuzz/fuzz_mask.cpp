// CPU sets as /proc, a launcher or a person writes them.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/cpu_mask.hpp"
#include "base/text.hpp"

namespace {

using namespace muster;

void require(bool claim) {
  if (!claim) std::abort();
}

void check(const Result<CpuMask>& parsed) {
  if (!parsed) {
    require(!parsed.error().what.empty() && printable(parsed.error().what) == parsed.error().what);
    return;
  }
  const auto& mask = *parsed;
  require(CpuMask::parse_list(mask.list()) == mask);
  require(CpuMask::parse_hex(mask.hex()) == mask);
  require(static_cast<int>(mask.cpus().size()) == mask.count());
  require(mask.highest() < 65536 && mask.empty() == (mask.lowest() < 0));
  require((mask - mask).empty() && (mask | mask) == mask && (mask & mask) == mask && mask.is_subset_of(mask));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto list = CpuMask::parse_list(text);
  const auto hex = CpuMask::parse_hex(text);
  check(list);
  check(hex);
  if (list && hex) {
    const auto both = *list & *hex;
    require(both.is_subset_of(*list) && both.is_subset_of(*hex));
    require((*list | *hex).count() == list->count() + hex->count() - both.count());
    require(list->intersects(*hex) == !both.empty());
  }
  return 0;
}
