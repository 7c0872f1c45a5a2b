// Any spool: refused, or a report that can be written. The first byte chooses: 0 takes the rest as the file's bytes;
// else the rest is frames, each a type, a length (u16, little endian) and the payload, so that mutations get past the
// checksum. From 250 on, the report may have 200 results, else 20: each is judged, written and read alike.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>

#include "base/frame.hpp"
#include "model/json.hpp"
#include "run/spool_reader.hpp"

namespace {

constexpr std::size_t few_results = 20;
constexpr std::size_t many_results = 200;

void feed_frames(muster::SpoolReader& reader, std::span<const std::byte> rest) {
  while (rest.size() >= 3) {
    const auto type = static_cast<std::uint8_t>(rest[0]);
    const auto reported = static_cast<std::size_t>(rest[1]) | static_cast<std::size_t>(rest[2]) << 8;
    const auto payload = rest.subspan(3, std::min(reported, rest.size() - 3));
    reader.feed(muster::encode_frame(type, payload));
    rest = rest.subspan(3 + payload.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  muster::SpoolReader reader(data[0] < 250 ? few_results : many_results);
  if (data[0] == 0)
    reader.feed(rest);
  else
    feed_frames(reader, rest);
  const auto report = reader.finish();
  if (!report) return 0;
  if (!muster::run_report_from_json(muster::to_json(*report))) std::abort();
  return 0;
}
