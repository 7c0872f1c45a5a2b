// Bytes as they may come over the wire or lie in a spool. The first byte is the size of the pieces they come in.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/frame.hpp"

namespace {

using namespace muster;

void require(bool claim) {
  if (!claim) std::abort();
}

struct Decoded {
  std::vector<Frame> frames;
  std::string noise;
};

Decoded decode(std::span<const std::byte> bytes, std::size_t step) {
  FrameDecoder decoder;
  Decoded all;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    decoder.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
    while (auto frame = decoder.next()) all.frames.push_back(std::move(*frame));
  }
  decoder.finish();
  all.noise = decoder.take_noise();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const auto all = decode(bytes, data[0] + std::size_t{1});
  // Every byte belongs to a frame or is noise.
  auto accounted = all.noise.size();
  for (const auto& frame : all.frames) accounted += frame_head_size + frame.payload.size();
  require(accounted == bytes.size());
  // How the bytes come makes no difference.
  const auto whole = decode(bytes, bytes.size() + 1);
  require(whole.frames == all.frames && whole.noise == all.noise);
  // What was read can be written, and read again beside what was noise to the one before.
  std::vector<std::byte> again;
  for (const auto& frame : all.frames) {
    const auto encoded = encode_frame(frame.type, frame.payload);
    again.insert(again.end(), encoded.begin(), encoded.end());
  }
  require(decode(again, 7).frames == all.frames);
  // Any bytes survive as a payload.
  const auto framed = encode_frame(data[0], bytes);
  const auto back = decode(framed, 64);
  require(back.frames.size() == 1 &&
          std::equal(bytes.begin(), bytes.end(), back.frames[0].payload.begin(), back.frames[0].payload.end()));
  return 0;
}
