// Host lists as a scheduler or a person writes them. A few characters ask for very many names, which differ in their
// numbers alone: most inputs are refused above 24 names, every 8th length above 128, every 32nd above 1,024, every 1,024th
// at the usual 262,144.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/hostlist.hpp"
#include "base/text.hpp"

namespace {

void require(bool claim) {
  if (!claim) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t most = size % 1024 == 1023 ? 262144 : size % 32 == 31 ? 1024 : size % 8 == 7 ? 128 : 24;
  const auto hosts = expand_hostlist(text, most);
  if (!hosts) {
    require(hosts.error().kind == ErrorKind::usage);
    require(!hosts.error().what.empty() && printable(hosts.error().what) == hosts.error().what);
    return 0;
  }
  require(hosts->size() <= most);
  for (const auto& host : *hosts) require(!host.empty() && host.find_first_of(", []\t\n") == std::string::npos);
  require(expand_hostlist(compress_hostlist(*hosts)) == hosts);
  return 0;
}
