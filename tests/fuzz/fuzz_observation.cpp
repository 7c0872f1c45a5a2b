// Any bytes: refused, or an observation that is written and read back to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "model/record.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = muster::decode_observation(std::as_bytes(std::span(data, size)));
  if (!read) return 0;
  // Compared as bytes: a number that is none differs from itself.
  const auto bytes = muster::encode(*read);
  const auto again = muster::decode_observation(bytes);
  if (!again || muster::encode(*again) != bytes) std::abort();
  return 0;
}
